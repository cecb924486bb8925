package dev.sluice.api.protocol.json;

import dev.sluice.api.http.IngestRoute;
import dev.sluice.api.http.NativeResponseWriter;
import dev.sluice.api.protocol.ProtocolRegistration;
import java.util.List;

/** Native logs: a JSON object, a JSON array of objects, or NDJSON. */
public final class JsonProtocol implements ProtocolRegistration {
  private static final String PATH = "/api/v1/logs";

  @Override
  public List<IngestRoute> ingestRoutes() {
    var responses = new NativeResponseWriter();
    return List.of(
        new IngestRoute(
            PATH,
            List.of("application/json"),
            "http-json",
            (body, limits, _) -> NativeJsonDecoder.ofJson(body, limits),
            responses),
        new IngestRoute(
            PATH,
            List.of("application/x-ndjson", "application/ndjson", "application/jsonl"),
            "http-ndjson",
            (body, limits, _) -> NativeJsonDecoder.ofNdjson(body, limits),
            responses));
  }
}
