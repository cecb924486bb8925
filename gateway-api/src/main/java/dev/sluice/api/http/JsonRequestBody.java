package dev.sluice.api.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.time.Duration;
import java.util.concurrent.TimeoutException;
import org.springframework.core.io.buffer.DataBufferLimitException;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.web.reactive.function.server.ServerRequest;
import reactor.core.publisher.Mono;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** The JSON body of a query, limited in size and time. */
public final class JsonRequestBody {
  /** Enough for a query with its attributes. */
  private static final int MAX_BODY_BYTES = 64 * 1024;

  private static final Duration BODY_TIMEOUT = Duration.ofSeconds(10);
  private static final JsonMapper JSON = new JsonMapper();

  private JsonRequestBody() {}

  /**
   * Reads a JSON body; emits an empty array when the client sends none.
   *
   * @throws HttpProblemException when the content type is not JSON
   */
  public static Mono<byte[]> read(ServerRequest request) {
    if (!RequestHeaders.contentType(request).equals("application/json")) {
      throw HttpProblemException.unsupported("content type is not application/json");
    }
    return DataBufferUtils.join(request.exchange().getRequest().getBody(), MAX_BODY_BYTES)
        .map(
            buffer -> {
              try {
                var bytes = new byte[buffer.readableByteCount()];
                buffer.read(bytes);
                return bytes;
              } finally {
                DataBufferUtils.release(buffer);
              }
            })
        .defaultIfEmpty(new byte[0])
        .timeout(BODY_TIMEOUT)
        .onErrorMap(DataBufferLimitException.class, _ -> RequestBodyReader.tooLarge(MAX_BODY_BYTES))
        .onErrorMap(TimeoutException.class, _ -> HttpProblemException.requestTimeout(BODY_TIMEOUT));
  }

  /**
   * Parses a body.
   *
   * @throws HttpProblemException when the body is not a JSON object in UTF-8
   */
  public static ObjectNode parse(byte[] body) {
    try {
      // Jackson alone would also accept other encodings, and overlong UTF-8
      var text = UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString();
      if (JSON.readTree(text) instanceof ObjectNode object) {
        return object;
      }
    } catch (CharacterCodingException | JacksonException _) {
      // reported below
    }
    throw HttpProblemException.malformed("body is not a JSON object in UTF-8");
  }
}
