package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.proto.logs.IngestLogsRequest;
import dev.sluice.proto.logs.LogEntry;
import dev.sluice.proto.logs.LogEntryInput;
import dev.sluice.proto.logs.LogLevel;
import dev.sluice.proto.v1.LogServiceGrpc;
import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.Metadata;
import io.grpc.stub.MetadataUtils;
import io.opentelemetry.proto.collector.logs.v1.LogsServiceGrpc;
import java.net.URI;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;

/** Requests with one log for every protocol that accepts a complete request. */
final class ProtocolClients {
  /**
   * The protocols of {@link #grpc}, in its order. The HTTP protocol {@code wal-frames} has no
   * client here: each of its requests has an idempotency key, so it never has level accepted.
   */
  static final List<String> GRPC = List.of("grpc", "otlp-grpc", "legacy-grpc");

  private ProtocolClients() {}

  /** A request of one protocol over HTTP. */
  record HttpIngestRequest(URI uri, String type, byte[] body) {
    HttpResponse<String> post(Gateway gateway, String... headers) {
      return gateway.post(uri, type, body, headers);
    }
  }

  /** Returns one log of the service for each protocol over HTTP, by its metric tag. */
  static Map<String, HttpIngestRequest> http(Gateway gateway, String service, String body) {
    var json = "{\"service\":\"%s\",\"body\":\"%s\"}".formatted(service, body).getBytes(UTF_8);
    var app =
        "{\"app_id\":\"%s\",\"level\":\"INFO\",\"message\":\"%s\",\"source\":\"s\"}"
            .formatted(service, body)
            .getBytes(UTF_8);
    var otlpJson =
        ("{\"resourceLogs\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":"
                + "{\"stringValue\":\"%s\"}}]},\"scopeLogs\":[{\"logRecords\":[{\"body\":"
                + "{\"stringValue\":\"%s\"}}]}]}]}")
            .formatted(service, body)
            .getBytes(UTF_8);
    var otlp = Otlp.request(service, body).toByteArray();
    var flat = NativeLog.request(NativeLog.log(service, body)).toByteArray();
    var entry =
        LogEntry.newBuilder()
            .setAppId(service)
            .setLevel(LogLevel.INFO)
            .setMessage(body)
            .setSource("s")
            .build()
            .toByteArray();
    var natively = gateway.http("/api/v1/logs");
    return Map.of(
        "http-json", new HttpIngestRequest(natively, "application/json", json),
        "http-ndjson", new HttpIngestRequest(natively, "application/x-ndjson", json),
        "http-protobuf", new HttpIngestRequest(natively, "application/x-protobuf", flat),
        "legacy-http-json",
            new HttpIngestRequest(gateway.http("/api/logs"), "application/json", app),
        "legacy-http-protobuf",
            new HttpIngestRequest(gateway.http("/api/logs"), "application/x-protobuf", entry),
        "otlp-http-json",
            new HttpIngestRequest(gateway.http("/v1/logs"), "application/json", otlpJson),
        "otlp-http-protobuf",
            new HttpIngestRequest(gateway.otlp("/v1/logs"), "application/x-protobuf", otlp));
  }

  /**
   * Returns one call with a log of the service for each unary protocol over gRPC; a call throws its
   * failure.
   */
  static List<Runnable> grpc(Channel channel, String service, String body) {
    var natively = LogServiceGrpc.newBlockingStub(channel);
    var otlp = LogsServiceGrpc.newBlockingStub(channel);
    var app = dev.sluice.proto.logs.LogServiceGrpc.newBlockingStub(channel);
    var input =
        LogEntryInput.newBuilder()
            .setAppId(service)
            .setLevel("info")
            .setMessage(body)
            .setSource("s");
    return List.of(
        () -> natively.ingest(NativeLog.request(NativeLog.log(service, body))),
        () -> otlp.export(Otlp.request(service, body)),
        () -> app.ingestLogs(IngestLogsRequest.newBuilder().addLogs(input).build()));
  }

  /** Returns a channel that sends this metadata and records the response headers. */
  static Channel withMetadata(
      Channel channel, AtomicReference<Metadata> headers, String name, String value) {
    var metadata = new Metadata();
    metadata.put(key(name), value);
    return ClientInterceptors.intercept(
        channel,
        MetadataUtils.newAttachHeadersInterceptor(metadata),
        MetadataUtils.newCaptureMetadataInterceptor(headers, new AtomicReference<>()));
  }

  static Metadata.Key<String> key(String name) {
    return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
  }
}
