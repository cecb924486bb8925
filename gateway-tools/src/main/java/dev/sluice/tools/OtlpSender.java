package dev.sluice.tools;

import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.logs.Severity;
import io.opentelemetry.exporter.otlp.http.logs.OtlpHttpLogRecordExporter;
import io.opentelemetry.sdk.logs.SdkLoggerProvider;
import io.opentelemetry.sdk.logs.export.BatchLogRecordProcessor;
import io.opentelemetry.sdk.resources.Resource;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** Sends lines like an application that logs through OpenTelemetry. */
final class OtlpSender {
  static final AttributeKey<String> RUN = AttributeKey.stringKey("demo.run");
  private static final int RECORDS_PER_FLUSH = 4096;
  private static final Duration FLUSH_TIMEOUT = Duration.ofSeconds(20);

  private OtlpSender() {}

  static void send(URI address, String run, List<Line> lines) {
    var byService = lines.stream().collect(Collectors.groupingBy(Line::service));
    byService.forEach((service, own) -> send(address, run, service, own));
  }

  private static void send(URI address, String run, String service, List<Line> lines) {
    var exporter =
        OtlpHttpLogRecordExporter.builder()
            .setEndpoint(address.resolve("/v1/logs").toString())
            .setCompression("gzip")
            .build();
    var processor =
        BatchLogRecordProcessor.builder(exporter)
            .setMaxQueueSize(2 * RECORDS_PER_FLUSH)
            .setMaxExportBatchSize(RECORDS_PER_FLUSH / 2)
            .build();
    try (var provider =
        SdkLoggerProvider.builder()
            .setResource(Resource.builder().put("service.name", service).build())
            .addLogRecordProcessor(processor)
            .build()) {
      var logger = provider.get("dev.sluice.tools");
      int queued = 0;
      for (var line : lines) {
        logger
            .logRecordBuilder()
            .setTimestamp(Instant.now())
            .setSeverity(Severity.valueOf(line.severity()))
            .setSeverityText(line.severity())
            .setBody(line.body())
            .setAttribute(RUN, run)
            .emit();
        if (++queued % RECORDS_PER_FLUSH == 0) { // the SDK drops records when its queue is full
          var _ = provider.forceFlush().join(FLUSH_TIMEOUT.toSeconds(), TimeUnit.SECONDS);
        }
      }
      var _ = provider.forceFlush().join(FLUSH_TIMEOUT.toSeconds(), TimeUnit.SECONDS);
    }
  }
}
