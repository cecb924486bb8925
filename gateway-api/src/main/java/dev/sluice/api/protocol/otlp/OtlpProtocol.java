package dev.sluice.api.protocol.otlp;

import dev.sluice.api.decode.OtlpJsonDecoder;
import dev.sluice.api.grpc.GrpcIngest;
import dev.sluice.api.http.IngestRoute;
import dev.sluice.api.protocol.ProtocolRegistration;
import dev.sluice.core.ingest.PayloadDecoder;
import io.grpc.BindableService;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** OTLP over HTTP, in protobuf or JSON, and over gRPC. */
public final class OtlpProtocol implements ProtocolRegistration {
  private static final String PATH = "/v1/logs";

  private final ProtocolPort port;

  /**
   * @param port the second port, the default port of OpenTelemetry SDKs
   */
  public OtlpProtocol(ProtocolPort port) {
    this.port = port;
  }

  @Override
  public List<IngestRoute> ingestRoutes() {
    return List.of(
        new IngestRoute(
            PATH,
            List.of("application/x-protobuf"),
            "otlp-http-protobuf",
            PayloadDecoder.OTLP,
            new OtlpResponseWriter(false)),
        new IngestRoute(
            PATH,
            List.of("application/json"),
            "otlp-http-json",
            (body, limits, _) -> OtlpJsonDecoder.read(body, limits),
            new OtlpResponseWriter(true)));
  }

  @Override
  public List<BindableService> grpcServices(@Nullable GrpcIngest ingest) {
    return ingest == null ? List.of() : List.of(new OtlpLogsService(ingest));
  }

  @Override
  public Map<String, String> grpcIngestMethods() {
    return Map.of(OtlpLogsService.EXPORT.getFullMethodName(), "otlp-grpc");
  }

  @Override
  public ProtocolPort port() {
    return port;
  }
}
