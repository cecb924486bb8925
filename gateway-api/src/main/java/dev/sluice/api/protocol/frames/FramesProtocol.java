package dev.sluice.api.protocol.frames;

import dev.sluice.api.http.HttpProblemException;
import dev.sluice.api.http.IngestRoute;
import dev.sluice.api.http.NativeResponseWriter;
import dev.sluice.api.protocol.ProtocolRegistration;
import dev.sluice.core.ingest.PayloadDecoder;
import java.util.List;
import java.util.Locale;
import java.util.SortedMap;
import java.util.TreeMap;
import org.springframework.http.MediaType;
import org.springframework.web.reactive.function.server.ServerRequest;

/** Frames of a write-ahead log with a manifest, which a log shipper sends in a multipart form. */
public final class FramesProtocol implements ProtocolRegistration {

  @Override
  public List<IngestRoute> ingestRoutes() {
    return List.of(
        new IngestRoute(
            "/v1/ingest/wal-frames",
            List.of("multipart/form-data"),
            "wal-frames",
            FramesProtocol::decoder,
            new NativeResponseWriter()));
  }

  private static PayloadDecoder decoder(ServerRequest request) {
    var boundary =
        MediaType.parseMediaType(String.valueOf(request.headers().firstHeader("Content-Type")))
            .getParameter("boundary");
    if (boundary == null) {
      throw HttpProblemException.malformed("multipart: content type has no boundary");
    }
    return new FrameUpload(unquoted(boundary), senderAttributes(request));
  }

  private static String unquoted(String value) {
    return value.length() > 1 && value.startsWith("\"") && value.endsWith("\"")
        ? value.substring(1, value.length() - 1)
        : value;
  }

  /** Returns resource attributes from headers, whose names have any prefix. */
  private static SortedMap<String, String> senderAttributes(ServerRequest request) {
    var sender = new TreeMap<String, String>();
    request
        .headers()
        .asHttpHeaders()
        .forEach(
            (name, values) -> {
              var lower = name.toLowerCase(Locale.ROOT);
              if (lower.endsWith("-chain-id")) {
                sender.put("chain.id", values.getFirst());
              } else if (lower.endsWith("-node-id")) {
                sender.put("service.instance.id", values.getFirst());
              }
            });
    var service = request.queryParam("service").orElse("");
    sender.put(FrameUpload.SERVICE_NAME, service.isEmpty() ? "memlogger" : service);
    return sender;
  }
}
