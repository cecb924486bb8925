package dev.sluice.api.http;

import dev.sluice.core.ingest.IngestOptions;
import dev.sluice.core.ingest.IngestResult;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.InvalidMediaTypeException;
import org.springframework.http.MediaType;
import org.springframework.web.reactive.function.server.ServerRequest;

/** What the headers of a request with logs say, the same for every surface. */
final class RequestHeaders {
  private RequestHeaders() {}

  /**
   * The content type as {@code type/subtype} in lower case; a charset other than UTF-8 is not
   * understood.
   *
   * @throws HttpProblemException when there is none, or none that can be read
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
      throw HttpProblemException.unsupported("content type cannot be read");
    }
  }

  /**
   * What is asked for beside the logs.
   *
   * @throws HttpProblemException when it cannot be understood
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
      throw new IllegalArgumentException(name + " is there more than once");
    }
    return values.isEmpty() ? null : values.getFirst();
  }

  /** What is said of the request beside its answer. */
  static void writeAckHeaders(HttpHeaders headers, IngestResult.Accepted result) {
    headers.set(IngestOptions.ACK_HEADER, result.level().text());
    if (result.replayed()) {
      headers.set(IngestOptions.IDEMPOTENCY_REPLAYED_HEADER, "true");
    }
  }
}
