package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.sluice.proto.logs.IngestLogsRequest;
import dev.sluice.proto.logs.LogEntry;
import dev.sluice.proto.logs.LogEntryBatch;
import dev.sluice.proto.logs.LogEntryInput;
import dev.sluice.proto.logs.LogLevel;
import dev.sluice.proto.v1.IngestRequest;
import dev.sluice.proto.v1.IngestStreamRequest;
import dev.sluice.proto.v1.IngestStreamResponse;
import dev.sluice.proto.v1.ListValue;
import dev.sluice.proto.v1.LogRecord;
import dev.sluice.proto.v1.LogServiceGrpc;
import dev.sluice.proto.v1.MapValue;
import dev.sluice.proto.v1.Scope;
import dev.sluice.proto.v1.Value;
import io.grpc.Channel;
import io.grpc.ManagedChannelBuilder;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.collector.logs.v1.LogsServiceGrpc;
import io.opentelemetry.proto.common.v1.InstrumentationScope;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.logs.v1.ResourceLogs;
import io.opentelemetry.proto.logs.v1.ScopeLogs;
import io.opentelemetry.proto.resource.v1.Resource;
import java.net.URI;
import java.net.http.HttpResponse;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import tools.jackson.databind.JsonNode;

/** Checks that the same record has the same row, whichever protocol sent it. */
class ProtocolParityIT {
  private static final long TIME = 1_700_000_000_123_456_789L;
  private static final long OBSERVED = 1_700_000_001_000_000_001L;

  private final Gateway gateway = Gateway.shared();

  // ---- the record in the format of each API

  private static String nativeJson(String service) {
    return """
    {"timestamp":%d,"observed_timestamp":%d,"severity_number":18,"severity_text":"severe",
     "body":{"codes":[7,"x"],"message":"out of café \\"quoted\\" \\u0000"},
     "attributes":{"text":"t","yes":true,"int":-9223372036854775808,"double":0.5,"unset":null,
       "list":[1,"x"],"empty":""},
     "dropped_attributes_count":4000000000,"flags":769,
     "trace_id":"%s","span_id":"%s","event_name":"order.failed",
     "service":"%s","host":"web-1","resource":{"pid":42,"service.name":"not this"},
     "scope":{"name":"org.example.Orders","version":"1.2","attributes":{"scoped":"s"}}}"""
        .formatted(TIME, OBSERVED, Otlp.TRACE_ID, Otlp.SPAN_ID, service)
        .replace("\n", "");
  }

  private static LogRecord nativeProto(String service) {
    return LogRecord.newBuilder()
        .setTimeUnixNano(TIME)
        .setObservedTimeUnixNano(OBSERVED)
        .setSeverityNumber(18)
        .setSeverityText("severe")
        .setBody(
            Value.newBuilder()
                .setMapValue(
                    MapValue.newBuilder()
                        .putValues("codes", Value.newBuilder().setListValue(list(7)).build())
                        .putValues("message", text("out of café \"quoted\" \0"))))
        .putAttributes("text", text("t"))
        .putAttributes("yes", Value.newBuilder().setBoolValue(true).build())
        .putAttributes("int", Value.newBuilder().setIntValue(Long.MIN_VALUE).build())
        .putAttributes("double", Value.newBuilder().setDoubleValue(0.5).build())
        .putAttributes("unset", Value.getDefaultInstance())
        .putAttributes("list", Value.newBuilder().setListValue(list(1)).build())
        .putAttributes("empty", text(""))
        .setDroppedAttributesCount((int) 4_000_000_000L)
        .setFlags(769)
        .setTraceId(bytes(Otlp.TRACE_ID))
        .setSpanId(bytes(Otlp.SPAN_ID))
        .setEventName("order.failed")
        .setService(service)
        .setHost("web-1")
        .putResource("pid", Value.newBuilder().setIntValue(42).build())
        .putResource("service.name", text("not this"))
        .setScope(
            Scope.newBuilder()
                .setName("org.example.Orders")
                .setVersion("1.2")
                .putAttributes("scoped", text("s")))
        .build();
  }

  private static ListValue list(long first) {
    return ListValue.newBuilder()
        .addValues(Value.newBuilder().setIntValue(first))
        .addValues(text("x"))
        .build();
  }

  private static Value text(String text) {
    return Value.newBuilder().setStringValue(text).build();
  }

  private static ByteString bytes(String hex) {
    return ByteString.copyFrom(HexFormat.of().parseHex(hex));
  }

  /**
   * Converts the native record field by field; the conversion does not rely on their common wire
   * format.
   */
  private static ExportLogsServiceRequest otlp(String service) throws Exception {
    var log = nativeProto(service);
    var record =
        io.opentelemetry.proto.logs.v1.LogRecord.newBuilder()
            .setTimeUnixNano(log.getTimeUnixNano())
            .setObservedTimeUnixNano(log.getObservedTimeUnixNano())
            .setSeverityNumberValue(log.getSeverityNumber())
            .setSeverityText(log.getSeverityText())
            .setBody(any(log.getBody()))
            .addAllAttributes(pairs(log.getAttributesMap()))
            .setDroppedAttributesCount(log.getDroppedAttributesCount())
            .setFlags(log.getFlags())
            .setTraceId(log.getTraceId())
            .setSpanId(log.getSpanId())
            .setEventName(log.getEventName());
    var resource =
        Resource.newBuilder()
            .addAllAttributes(
                pairs(Map.of("pid", log.getResourceOrThrow("pid"), "host.name", text("web-1"))))
            .addAllAttributes(pairs(Map.of("service.name", text(service))));
    var scope =
        InstrumentationScope.newBuilder()
            .setName("org.example.Orders")
            .setVersion("1.2")
            .addAllAttributes(pairs(log.getScope().getAttributesMap()));
    return ExportLogsServiceRequest.newBuilder()
        .addResourceLogs(
            ResourceLogs.newBuilder()
                .setResource(resource)
                .addScopeLogs(ScopeLogs.newBuilder().setScope(scope).addLogRecords(record)))
        .build();
  }

  private static List<KeyValue> pairs(Map<String, Value> map) {
    return map.entrySet().stream()
        .map(
            entry ->
                KeyValue.newBuilder()
                    .setKey(entry.getKey())
                    .setValue(any(entry.getValue()))
                    .build())
        .toList();
  }

  private static io.opentelemetry.proto.common.v1.AnyValue any(Value value) {
    var any = io.opentelemetry.proto.common.v1.AnyValue.newBuilder();
    switch (value.getValueCase()) {
      case STRING_VALUE -> any.setStringValue(value.getStringValue());
      case BOOL_VALUE -> any.setBoolValue(value.getBoolValue());
      case INT_VALUE -> any.setIntValue(value.getIntValue());
      case DOUBLE_VALUE -> any.setDoubleValue(value.getDoubleValue());
      case BYTES_VALUE -> any.setBytesValue(value.getBytesValue());
      case LIST_VALUE ->
          value
              .getListValue()
              .getValuesList()
              .forEach(v -> any.getArrayValueBuilder().addValues(any(v)));
      case MAP_VALUE ->
          any.getKvlistValueBuilder().addAllValues(pairs(value.getMapValue().getValuesMap()));
      case VALUE_NOT_SET -> {}
    }
    return any.build();
  }

  private static String otlpJson(String service) {
    return """
    {"resourceLogs":[{"resource":{"attributes":[
       {"key":"pid","value":{"intValue":"42"}},{"key":"host.name","value":{"stringValue":"web-1"}},
       {"key":"service.name","value":{"stringValue":"%s"}}]},
     "scopeLogs":[{"scope":{"name":"org.example.Orders","version":"1.2","attributes":[
         {"key":"scoped","value":{"stringValue":"s"}}]},
       "logRecords":[{"timeUnixNano":"%d","observedTimeUnixNano":"%d","severityNumber":18,
         "severityText":"severe","body":{"kvlistValue":{"values":[
           {"key":"codes","value":{"arrayValue":{"values":[{"intValue":7},{"stringValue":"x"}]}}},
           {"key":"message","value":{"stringValue":"out of café \\"quoted\\" \\u0000"}}]}},
         "attributes":[{"key":"text","value":{"stringValue":"t"}},
           {"key":"yes","value":{"boolValue":true}},
           {"key":"int","value":{"intValue":"-9223372036854775808"}},
           {"key":"double","value":{"doubleValue":0.5}},{"key":"unset","value":{}},
           {"key":"list","value":{"arrayValue":{"values":[{"intValue":1},{"stringValue":"x"}]}}},
           {"key":"empty","value":{"stringValue":""}}],
         "droppedAttributesCount":4000000000,"flags":769,"traceId":"%s","spanId":"%s",
         "eventName":"order.failed"}]}]}]}"""
        .formatted(service, TIME, OBSERVED, Otlp.TRACE_ID, Otlp.SPAN_ID);
  }

  // ---- the protocols

  private Map<String, BiConsumer<String, Channel>> protocols() {
    var protocols = new LinkedHashMap<String, BiConsumer<String, Channel>>();
    var natively = gateway.http("/api/v1/logs");
    protocols.put(
        "http-json object",
        (service, _) -> post(natively, "application/json", utf8(nativeJson(service))));
    protocols.put(
        "http-json array",
        (service, _) -> post(natively, "application/json", utf8("[" + nativeJson(service) + "]")));
    protocols.put(
        "http-ndjson",
        (service, _) -> post(natively, "application/x-ndjson", utf8(nativeJson(service) + "\n")));
    protocols.put(
        "http-protobuf",
        (service, _) ->
            post(
                natively,
                "application/x-protobuf",
                IngestRequest.newBuilder().addLogs(nativeProto(service)).build().toByteArray()));
    for (var encoding : List.of("gzip", "zstd", "deflate", "snappy")) {
      protocols.put(
          "http-json " + encoding,
          (service, _) ->
              post(
                  natively,
                  "application/json",
                  CompressedBodies.as(encoding, utf8(nativeJson(service))),
                  "Content-Encoding",
                  encoding));
    }
    for (var port : List.of(gateway.http("/v1/logs"), gateway.otlp("/v1/logs"))) {
      boolean first = port.getPort() == gateway.httpPort();
      protocols.put(
          "otlp-http-protobuf" + (first ? "" : " on its own port"),
          (service, _) -> post(port, "application/x-protobuf", unchecked(service).toByteArray()));
      protocols.put(
          "otlp-http-json" + (first ? "" : " on its own port"),
          (service, _) -> post(port, "application/json", utf8(otlpJson(service))));
    }
    protocols.put(
        "otlp-grpc",
        (service, channel) -> {
          var _ = LogsServiceGrpc.newBlockingStub(channel).export(unchecked(service));
        });
    protocols.put(
        "grpc unary",
        (service, channel) ->
            assertThat(
                    LogServiceGrpc.newBlockingStub(channel)
                        .ingest(IngestRequest.newBuilder().addLogs(nativeProto(service)).build())
                        .getAccepted())
                .isEqualTo(1));
    protocols.put("grpc stream", ProtocolParityIT::stream);
    return protocols;
  }

  private static ExportLogsServiceRequest unchecked(String service) {
    try {
      return otlp(service);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private static void stream(String service, Channel channel) {
    var answered = new CompletableFuture<IngestStreamResponse>();
    var requests =
        LogServiceGrpc.newStub(channel)
            .ingestStream(
                new io.grpc.stub.StreamObserver<>() {
                  @Override
                  public void onNext(IngestStreamResponse response) {
                    answered.complete(response);
                  }

                  @Override
                  public void onError(Throwable failure) {
                    answered.completeExceptionally(failure);
                  }

                  @Override
                  public void onCompleted() {}
                });
    requests.onNext(
        IngestStreamRequest.newBuilder().setSequence(1).addLogs(nativeProto(service)).build());
    requests.onCompleted();
    assertThat(answered.orTimeout(20, TimeUnit.SECONDS).join().getAccepted().getAccepted())
        .isEqualTo(1);
  }

  private void post(URI uri, String type, byte[] body, String... headers) {
    HttpResponse<String> response = gateway.post(uri, type, body, headers);
    assertThat(response.statusCode()).as(response.body()).isIn(200, 202);
    assertThat(response.body()).doesNotContain("partial");
  }

  private static byte[] utf8(String text) {
    return text.getBytes(UTF_8);
  }

  /**
   * Returns the row without the columns that must differ: its id, its receive time and its service.
   */
  private static Map<String, String> row(JsonNode stored) {
    var row = new TreeMap<String, String>();
    for (var column : stored.properties()) {
      switch (column.getKey()) {
        case "Id", "ReceivedTimestamp", "ServiceName", "ResourceId" -> {}
        case "ResourceAttributes", "LogAttributes", "ScopeAttributes" -> {
          var sorted = new TreeMap<String, String>();
          column
              .getValue()
              .properties()
              .forEach(entry -> sorted.put(entry.getKey(), entry.getValue().asString()));
          sorted.remove("service.name");
          row.put(column.getKey(), sorted.toString());
        }
        default -> row.put(column.getKey(), column.getValue().toString());
      }
    }
    return row;
  }

  @TestFactory
  Stream<DynamicTest> sameRecord_everyProtocol_sameRow() {
    var channel =
        ManagedChannelBuilder.forAddress("127.0.0.1", gateway.grpcPort()).usePlaintext().build();
    var protocols = protocols();
    assertThat(Registrations.names())
        .filteredOn(name -> !name.startsWith("legacy-") && !name.equals("wal-frames"))
        .as("the protocols whose record has every field")
        .isNotEmpty()
        .allMatch(
            name ->
                protocols.keySet().stream().anyMatch(key -> (key + " ").startsWith(name + " ")));
    var reference = Gateway.service("protocol");
    protocols.get("otlp-http-protobuf").accept(reference, channel);
    var expected = row(gateway.awaitStored(reference, 1).getFirst());
    assertThat(expected)
        .containsEntry("Timestamp", Long.toString(TIME))
        .containsEntry("SeverityNumber", "18")
        .containsEntry("DroppedAttributesCount", "4000000000")
        .containsEntry(
            "LogAttributes",
            "{double=0.5, empty=, int=-9223372036854775808, list=[1,\"x\"], text=t, unset=, yes=true}");
    return protocols.entrySet().stream()
        .map(
            protocol ->
                DynamicTest.dynamicTest(
                    protocol.getKey(),
                    () -> {
                      var service = Gateway.service("protocol");
                      protocol.getValue().accept(service, channel);
                      assertThat(row(gateway.awaitStored(service, 1).getFirst()))
                          .isEqualTo(expected);
                    }))
        .onClose(channel::shutdownNow);
  }

  /** An empty field is equivalent to an absent field in every protocol. */
  @Test
  void emptyFields_jsonAndProtobuf_sameRowsAndRejections() {
    var service = Gateway.service("protocol-empty");
    var json =
        """
        [{"service":"","host":"","resource":{"service.name":"%1$s"},"body":""},
         {"service":"%1$s","event_name":"","attributes":{}}]"""
            .formatted(service);
    var proto =
        IngestRequest.newBuilder()
            .addLogs(
                LogRecord.newBuilder()
                    .setService("")
                    .setHost("")
                    .putResource("service.name", text(service))
                    .setBody(text("")))
            .addLogs(LogRecord.newBuilder().setService(service).setEventName(""))
            .build();

    var fromJson = gateway.postLogs(json);
    var fromProto =
        gateway.post(gateway.http("/api/v1/logs"), "application/x-protobuf", proto.toByteArray());

    assertThat(fromJson.statusCode()).isEqualTo(202);
    assertThat(fromProto.body()).isEqualTo(fromJson.body());
    var rows = gateway.awaitStored(service, 2);
    assertThat(withoutTimes(rows.get(1))).isEqualTo(withoutTimes(rows.get(0)));
  }

  // ---- legacy logs, which have fewer fields and no time over gRPC

  private static Map<String, String> withoutTimes(JsonNode stored) {
    var row = row(stored);
    row.remove("Timestamp");
    row.remove("ObservedTimestamp");
    return row;
  }

  @TestFactory
  Stream<DynamicTest> sameLegacyLog_everyProtocol_sameRowAsNativeLog() {
    var channel =
        ManagedChannelBuilder.forAddress("127.0.0.1", gateway.grpcPort()).usePlaintext().build();
    var logs = gateway.http("/api/logs");
    var json =
        """
        {"app_id":"%s","level":"ERROR","message":"card \\"declined\\"","source":"web-1",
         "environment":"test","metadata":{"order":"4711"},"trace_id":"%s","user_id":"u1"}""";
    var reference = Gateway.service("app-protocol");
    gateway.postLogs(
        """
        {"service":"%s","severity":"ERROR","body":"card \\"declined\\"","trace_id":"%s",
         "attributes":{"source":"web-1","environment":"test","user_id":"u1","order":"4711"}}"""
            .formatted(reference, Otlp.TRACE_ID));
    var expected = withoutTimes(gateway.awaitStored(reference, 1).getFirst());
    var protocols = new LinkedHashMap<String, BiConsumer<String, Channel>>();
    protocols.put(
        "JSON object",
        (service, _) ->
            post(logs, "application/json", utf8(json.formatted(service, Otlp.TRACE_ID))));
    protocols.put(
        "JSON array",
        (service, _) ->
            post(
                logs,
                "application/json",
                utf8("[" + json.formatted(service, Otlp.TRACE_ID) + "]")));
    protocols.put(
        "protobuf",
        (service, _) -> post(logs, "application/x-protobuf", entry(service).toByteArray()));
    protocols.put(
        "protobuf batch",
        (service, _) ->
            post(
                logs,
                "application/x-protobuf-batch",
                LogEntryBatch.newBuilder().addEntries(entry(service)).build().toByteArray()));
    protocols.put(
        "gRPC",
        (service, to) ->
            assertThat(
                    dev.sluice.proto.logs.LogServiceGrpc.newBlockingStub(to)
                        .ingestLogs(
                            IngestLogsRequest.newBuilder()
                                .addLogs(
                                    LogEntryInput.newBuilder()
                                        .setAppId(service)
                                        .setLevel("ERROR")
                                        .setMessage("card \"declined\"")
                                        .setSource("web-1")
                                        .setEnvironment("test")
                                        .putMetadata("order", "4711")
                                        .setTraceId(Otlp.TRACE_ID)
                                        .setUserId("u1"))
                                .build())
                        .getAccepted())
                .isEqualTo(1));
    return protocols.entrySet().stream()
        .map(
            protocol ->
                DynamicTest.dynamicTest(
                    protocol.getKey(),
                    () -> {
                      var service = Gateway.service("app-protocol");
                      protocol.getValue().accept(service, channel);
                      assertThat(withoutTimes(gateway.awaitStored(service, 1).getFirst()))
                          .isEqualTo(expected);
                    }))
        .onClose(channel::shutdownNow);
  }

  private static LogEntry entry(String service) {
    return LogEntry.newBuilder()
        .setAppId(service)
        .setLevel(LogLevel.ERROR)
        .setMessage("card \"declined\"")
        .setSource("web-1")
        .setEnvironment("test")
        .putMetadata("order", "4711")
        .setTraceId(Otlp.TRACE_ID)
        .setUserId("u1")
        .build();
  }
}
