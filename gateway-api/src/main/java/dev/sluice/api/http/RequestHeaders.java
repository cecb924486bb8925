package dev.sluice.api.http;

import java.util.Locale;
import org.springframework.http.InvalidMediaTypeException;
import org.springframework.http.MediaType;
import org.springframework.web.reactive.function.server.ServerRequest;

/** What the headers of a request with logs say, the same for every surface. */
final class RequestHeaders {
  static final String ACK = "sluice-ack";
  static final String DURABLE = "durable";

  private RequestHeaders() {}

  /**
   * The content type as {@code type/subtype} in lower case; a charset other than UTF-8 is not
   * understood.
   *
   * @throws RequestRefused when there is none, or none that can be read
   */
  static String contentType(ServerRequest request) {
    var header = request.headers().firstHeader("Content-Type");
    if (header == null) {
      throw RequestRefused.unsupported("content type is missing");
    }
    try {
      var type = MediaType.parseMediaType(header);
      var charset = type.getParameter("charset");
      if (charset != null && !charset.replace("\"", "").equalsIgnoreCase("utf-8")) {
        throw RequestRefused.unsupported("charset is not utf-8");
      }
      return (type.getType() + "/" + type.getSubtype()).toLowerCase(Locale.ROOT);
    } catch (InvalidMediaTypeException _) {
      throw RequestRefused.unsupported("content type cannot be read");
    }
  }

  /**
   * {@code accepted} is granted by more than it asks for; {@code stored} cannot be promised yet.
   *
   * @throws RequestRefused when another level is asked for
   */
  static void requireAck(ServerRequest request) {
    var ack = request.headers().firstHeader(ACK);
    if (ack != null && !ack.equals(DURABLE) && !ack.equals("accepted")) {
      throw RequestRefused.malformed(ACK + " is not one of accepted, durable");
    }
  }
}
