package dev.sluice.api.http;

import dev.sluice.core.ingest.IngestResult;
import dev.sluice.core.ingest.RequestContext;
import java.util.Locale;
import org.springframework.http.HttpHeaders;
import org.springframework.http.InvalidMediaTypeException;
import org.springframework.http.MediaType;
import org.springframework.web.reactive.function.server.ServerRequest;

/** The headers of ingest requests and their responses, for all HTTP protocols. */
public final class RequestHeaders {
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

  /** Writes the headers of a success response. */
  public static void writeAckHeaders(HttpHeaders headers, IngestResult.Accepted result) {
    headers.set(RequestContext.ACK_HEADER, result.level().text());
    if (result.replayed()) {
      headers.set(RequestContext.IDEMPOTENCY_REPLAYED_HEADER, "true");
    }
  }
}
