package dev.sluice.api;

import static org.assertj.core.api.Assertions.assertThat;

import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.common.KeyValue;
import io.opentelemetry.api.common.Value;
import io.opentelemetry.api.logs.Severity;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.context.Context;
import io.opentelemetry.exporter.otlp.http.logs.OtlpHttpLogRecordExporter;
import io.opentelemetry.exporter.otlp.logs.OtlpGrpcLogRecordExporter;
import io.opentelemetry.sdk.logs.SdkLoggerProvider;
import io.opentelemetry.sdk.logs.export.BatchLogRecordProcessor;
import io.opentelemetry.sdk.logs.export.LogRecordExporter;
import io.opentelemetry.sdk.resources.Resource;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the gateway with the OpenTelemetry SDK for Java, configured like an application. */
class OpenTelemetrySdkIT {
  private static final Instant TIME = Instant.parse("2024-05-06T07:08:09.012345678Z");
  private static final Instant OBSERVED = Instant.parse("2024-05-06T07:08:10.000000001Z");

  private final Gateway gateway = Gateway.shared();

  private LogRecordExporter exporter(String protocol) {
    return switch (protocol) {
      case "http" ->
          OtlpHttpLogRecordExporter.builder()
              .setEndpoint(gateway.http("/v1/logs").toString())
              .build();
      case "http-otlp-port-gzip" ->
          OtlpHttpLogRecordExporter.builder()
              .setEndpoint(gateway.otlp("/v1/logs").toString())
              .setCompression("gzip")
              .build();
      case "grpc" ->
          OtlpGrpcLogRecordExporter.builder()
              .setEndpoint("http://127.0.0.1:" + gateway.grpcPort())
              .build();
      default ->
          OtlpGrpcLogRecordExporter.builder()
              .setEndpoint("http://127.0.0.1:" + gateway.grpcPort())
              .setCompression("gzip")
              .build();
    };
  }

  @ParameterizedTest
  @ValueSource(strings = {"http", "http-otlp-port-gzip", "grpc", "grpc-gzip"})
  void emit_everyField_isStored(String protocol) {
    var service = Gateway.service("sdk-" + protocol);
    var resource =
        Resource.create(
            Attributes.of(
                AttributeKey.stringKey("service.name"),
                service,
                AttributeKey.longKey("process.pid"),
                7L),
            "https://example.org/resource");

    try (var provider =
        SdkLoggerProvider.builder()
            .setResource(resource)
            .addLogRecordProcessor(BatchLogRecordProcessor.builder(exporter(protocol)).build())
            .build()) {
      emit(provider);
      assertThat(provider.forceFlush().join(20, TimeUnit.SECONDS).isSuccess()).isTrue();
    }

    var rows = gateway.awaitStored(service, 2);
    var row = rows.getLast();
    assertThat(row.get("Timestamp").asLong()).isEqualTo(nanos(TIME));
    assertThat(row.get("ObservedTimestamp").asLong()).isEqualTo(nanos(OBSERVED));
    assertThat(row.get("SeverityNumber").asInt()).isEqualTo(15);
    assertThat(row.get("SeverityText").asString()).isEqualTo("attention");
    assertThat(row.get("Body").asString()).isEqualTo("{\"disk\":\"/dev/sda\",\"full\":97}");
    assertThat(row.get("TraceId").asString()).isEqualTo(Otlp.TRACE_ID);
    assertThat(row.get("SpanId").asString()).isEqualTo(Otlp.SPAN_ID);
    assertThat(row.get("TraceFlags").asInt()).isEqualTo(1);
    assertThat(row.get("EventName").asString()).isEqualTo("disk.full");
    var attributes = row.get("LogAttributes");
    assertThat(attributes.size()).isEqualTo(4);
    assertThat(attributes.get("text").asString()).isEqualTo("t");
    assertThat(attributes.get("flag").asString()).isEqualTo("true");
    assertThat(attributes.get("number").asString()).isEqualTo("-5");
    assertThat(attributes.get("list").asString()).isEqualTo("[\"a\",\"b\"]");
    assertThat(row.get("ResourceAttributes").get("process.pid").asString()).isEqualTo("7");
    assertThat(row.get("ResourceSchemaUrl").asString()).isEqualTo("https://example.org/resource");
    assertThat(row.get("ScopeName").asString()).isEqualTo("org.example.Disk");
    assertThat(row.get("ScopeVersion").asString()).isEqualTo("3.1");
    assertThat(row.get("ScopeSchemaUrl").asString()).isEqualTo("https://example.org/scope");
    assertThat(rows.getFirst().get("Body").asString()).isEqualTo("plain");
    assertThat(rows.getFirst().get("SeverityNumber").asInt()).isZero();
  }

  private static void emit(SdkLoggerProvider provider) {
    var logger =
        provider
            .loggerBuilder("org.example.Disk")
            .setInstrumentationVersion("3.1")
            .setSchemaUrl("https://example.org/scope")
            .build();
    var span =
        SpanContext.create(
            Otlp.TRACE_ID, Otlp.SPAN_ID, TraceFlags.getSampled(), TraceState.getDefault());
    logger
        .logRecordBuilder()
        .setContext(Context.root().with(Span.wrap(span)))
        .setTimestamp(TIME)
        .setObservedTimestamp(OBSERVED)
        .setSeverity(Severity.WARN3)
        .setSeverityText("attention")
        .setEventName("disk.full")
        .setBody(
            Value.of(KeyValue.of("disk", Value.of("/dev/sda")), KeyValue.of("full", Value.of(97))))
        .setAttribute(AttributeKey.stringKey("text"), "t")
        .setAttribute(AttributeKey.booleanKey("flag"), true)
        .setAttribute(AttributeKey.longKey("number"), -5L)
        .setAttribute(AttributeKey.stringArrayKey("list"), List.of("a", "b"))
        .emit();
    logger.logRecordBuilder().setBody("plain").emit();
  }

  private static long nanos(Instant instant) {
    return instant.getEpochSecond() * 1_000_000_000L + instant.getNano();
  }
}
