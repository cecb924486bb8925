package dev.sluice.api.http;

import dev.sluice.core.ingest.IngestOptions;
import dev.sluice.core.ingest.IngestResult;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.InvalidMediaTypeException;
import org.springframework.http.MediaType;
import org.springframework.web.reactive.function.server.ServerRequest;

/** The headers of ingest requests and their responses, for all HTTP protocols. */
final class RequestHeaders {
  private RequestHeaders() {}

  /**
   * Returns the content type as {@code type/subtype} in lower case.
   *
   * @throws HttpProblemException when the content type is missing or malformed, or its charset is
   *     not UTF-8
   */
  static String contentType(ServerRequest request) {
    var header = request.headers().firstHeader("Content-Type");
    if (header == null) {
      throw HttpProblemException.unsupported("content type is missing");
    }
    try {
      var type = MediaType.parseMediaType(header);
      var charset = type.getParameter("charset");
      if (charset != null && !charset.replace("\"", "").equalsIgnoreCase("utf-8")) {
        throw HttpProblemException.unsupported("charset is not utf-8");
      }
      return (type.getType() + "/" + type.getSubtype()).toLowerCase(Locale.ROOT);
    } catch (InvalidMediaTypeException _) {
      throw HttpProblemException.unsupported("content type is malformed");
    }
  }

  /**
   * Returns the acknowledgement level and the idempotency key of a request.
   *
   * @throws HttpProblemException when a header is invalid or occurs more than once
   */
  static IngestOptions ingestOptions(ServerRequest request) {
    try {
      return IngestOptions.parse(
          singleValue(request, IngestOptions.ACK_HEADER),
          singleValue(request, IngestOptions.IDEMPOTENCY_KEY_HEADER));
    } catch (IllegalArgumentException e) {
      throw HttpProblemException.malformed(String.valueOf(e.getMessage()));
    }
  }

  private static @Nullable String singleValue(ServerRequest request, String name) {
    var values = request.headers().header(name);
    if (values.size() > 1) {
      throw new IllegalArgumentException(name + " occurs more than once");
    }
    return values.isEmpty() ? null : values.getFirst();
  }

  /** Writes the headers of a success response. */
  static void writeAckHeaders(HttpHeaders headers, IngestResult.Accepted result) {
    headers.set(IngestOptions.ACK_HEADER, result.level().text());
    if (result.replayed()) {
      headers.set(IngestOptions.IDEMPOTENCY_REPLAYED_HEADER, "true");
    }
  }
}
