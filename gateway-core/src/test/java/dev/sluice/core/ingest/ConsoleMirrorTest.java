package dev.sluice.core.ingest;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.IngestService.BatchLimits;
import dev.sluice.core.ingest.IngestService.RecordPolicy;
import dev.sluice.core.port.Redactor;
import dev.sluice.core.port.Spool.AppendResult;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.ArrayValue;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.logs.v1.ResourceLogs;
import io.opentelemetry.proto.logs.v1.ScopeLogs;
import io.opentelemetry.proto.logs.v1.SeverityNumber;
import io.opentelemetry.proto.resource.v1.Resource;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ConsoleMirrorTest {
  private static final BatchLimits BATCH_LIMITS =
      new BatchLimits(1_000, 1 << 20, Duration.ofMillis(5));

  private final ByteArrayOutputStream output = new ByteArrayOutputStream();
  private final ScriptedSpool spool = new ScriptedSpool();
  private final ManualScheduler time = new ManualScheduler();

  private IngestService ingestService(BodyAllowlist list, ConsoleMirror mirror) {
    return IngestFixtures.ingestService(
        spool,
        Limits.DEFAULT,
        new RecordPolicy(() -> list, Redactor.NONE, mirror),
        BATCH_LIMITS,
        time,
        time,
        new CountingMetrics());
  }

  private ConsoleMirror mirror() {
    var mirror = new ConsoleMirror(new PrintStream(output, false, UTF_8), Limits.DEFAULT, 1 << 20);
    mirror.start();
    return mirror;
  }

  private static void send(IngestService ingest, byte[] bytes) {
    var _ =
        IngestFixtures.submit(ingest, IngestFixtures.context("otlp-http"), OtlpPayload.of(bytes));
  }

  /** Returns the printed line of a log, without the line feed. */
  private String line(LogRecord.Builder log) {
    var request =
        ExportLogsServiceRequest.newBuilder()
            .addResourceLogs(
                ResourceLogs.newBuilder()
                    .setResource(
                        Resource.newBuilder()
                            .addAttributes(
                                KeyValue.newBuilder()
                                    .setKey("service.name")
                                    .setValue(text("shop"))))
                    .addScopeLogs(ScopeLogs.newBuilder().addLogRecords(log)))
            .build();
    try (var mirror = mirror()) {
      send(ingestService(BodyAllowlist.ALLOW_ALL, mirror), request.toByteArray());
      spool.accept(0);
    }
    var lines = output.toString(UTF_8);
    if (lines.isEmpty()) {
      return lines;
    }
    assertThat(lines).endsWith("\n").containsOnlyOnce("\n");
    return lines.substring(0, lines.length() - 1);
  }

  private static AnyValue.Builder text(String text) {
    return AnyValue.newBuilder().setStringValue(text);
  }

  private static LogRecord.Builder info(String body) {
    return LogRecord.newBuilder()
        .setTimeUnixNano(1_700_000_000_123_456_789L)
        .setSeverityNumber(SeverityNumber.SEVERITY_NUMBER_INFO)
        .setBody(text(body));
  }

  @Test
  void offer_log_isPrintedAsALine() {
    assertThat(line(info("order <placed> at \"7\" & \\n")))
        .isEqualTo("2023-11-14T22:13:20.123456789Z INFO shop order <placed> at \"7\" & \\n");
  }

  @Test
  void offer_noTimestamps_hasTheReceiveTime() {
    assertThat(line(info("a").clearTimeUnixNano()))
        .isEqualTo("2026-08-24T10:00:00.000000001Z INFO shop a");
  }

  @Test
  void offer_bodyThatIsNoString_isJson() {
    var list = ArrayValue.newBuilder().addValues(text("a\u001b")).addValues(AnyValue.newBuilder());
    assertThat(line(info("").setBody(AnyValue.newBuilder().setArrayValue(list))))
        .endsWith(" INFO shop [\"a\\u001b\",null]");
  }

  @Test
  void offer_controlCharacters_areEscaped() {
    assertThat(line(info("a\n2026 FATAL b\r\u001b[2J\u009b1m\u2028\u202e\u007f\tc")))
        .endsWith(
            " shop a\\u000a2026 FATAL b\\u000d\\u001b[2J\\u009b1m\\u2028\\u202e\\u007f\\u0009c");
  }

  @Test
  void offer_controlCharactersInSeverity_areEscaped() {
    assertThat(line(info("a").clearSeverityNumber().setSeverityText("x\n")))
        .endsWith("Z x\\u000a shop a");
  }

  @Test
  void offer_longLog_isTruncated() {
    var line = line(info("é".repeat(3_000)));
    assertThat(line).hasSize(1_000).endsWith("é…");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "a"})
  void offer_longLogOfSupplementaryCharacters_isTruncatedBetweenThem(String before) {
    var line = line(info(before + "😀".repeat(2_000)));
    assertThat(line.length()).isBetween(999, 1_000);
    assertThat(line).endsWith("😀…");
  }

  @Test
  void offer_belowInfo_isNotPrinted() {
    assertThat(line(info("a").setSeverityNumber(SeverityNumber.SEVERITY_NUMBER_DEBUG4))).isEmpty();
  }

  @Test
  void offer_belowInfoByName_isNotPrinted() {
    assertThat(line(info("a").clearSeverityNumber().setSeverityText("debug"))).isEmpty();
  }

  @Test
  void offer_noSeverity_isPrinted() {
    assertThat(line(info("a").clearSeverityNumber())).endsWith("Z - shop a");
  }

  @Test
  void offer_rejectedAndFiltered_areNotPrinted() {
    try (var mirror = mirror()) {
      send(
          ingestService(BodyAllowlist.of(List.of("a", "bad b")), mirror),
          IngestFixtures.request("a", "bad b", "c", "a"));
      spool.accept(0);
    }
    assertThat(output.toString(UTF_8).lines()).hasSize(2).allMatch(line -> line.endsWith(" - a"));
  }

  @Test
  void offer_unavailable_isNotPrinted() {
    try (var mirror = mirror()) {
      send(ingestService(BodyAllowlist.ALLOW_ALL, mirror), IngestFixtures.request("a"));
      spool
          .appendFuture(0)
          .complete(new AppendResult.Unavailable(Duration.ofSeconds(1), "unreachable"));
    }
    assertThat(output.size()).isZero();
  }

  @Test
  void offer_levelAccepted_isPrintedBeforeTheAppend() {
    var bytes = IngestFixtures.request("a");
    try (var mirror = mirror()) {
      var _ =
          IngestFixtures.submit(
              ingestService(BodyAllowlist.ALLOW_ALL, mirror),
              IngestFixtures.context("otlp-http", "accepted", null),
              OtlpPayload.of(bytes));
    }
    assertThat(output.toString(UTF_8)).endsWith(" INFO - a\n");
  }

  @Test
  void offer_blockedConsole_dropsAndDoesNotBlock() throws Exception {
    var stuck = new CountDownLatch(1);
    var writing = new CountDownLatch(1);
    var console =
        new OutputStream() {
          @Override
          public void write(int b) {
            writing.countDown();
            try {
              stuck.await();
            } catch (InterruptedException _) {
              Thread.currentThread().interrupt();
            }
          }
        };
    var bytes = IngestFixtures.request("a", "b");
    // capacity for two requests
    long maxBytes = 2L * (bytes.length + 256);
    var mirror =
        new ConsoleMirror(new PrintStream(console, false, UTF_8), Limits.DEFAULT, maxBytes);
    mirror.start();
    var ingest = ingestService(BodyAllowlist.ALLOW_ALL, mirror);
    send(ingest, bytes);
    spool.accept(0);
    writing.await();

    for (int i = 1; i < 5; i++) {
      send(ingest, bytes);
      spool.accept(i);
    }

    assertThat(mirror.dropped()).isEqualTo(2 * 3);
    stuck.countDown();
    mirror.close();
    assertThat(mirror.dropped()).isEqualTo(2 * 3);
  }

  @Test
  void offer_brokenConsole_isHarmless() {
    var broken =
        new OutputStream() {
          @Override
          public void write(int b) throws IOException {
            throw new IOException("broken pipe");
          }
        };
    var mirror = new ConsoleMirror(new PrintStream(broken, true, UTF_8), Limits.DEFAULT, 1 << 20);
    mirror.start();
    var ingest = ingestService(BodyAllowlist.ALLOW_ALL, mirror);

    for (int i = 0; i < 3; i++) {
      send(ingest, IngestFixtures.request("a"));
      spool.accept(i);
    }
    mirror.close();

    assertThat(mirror.dropped()).isEqualTo(3);
  }

  @Test
  void off_anyRequest_isNeitherPrintedNorCounted() {
    ConsoleMirror.OFF.start();
    send(ingestService(BodyAllowlist.ALLOW_ALL, ConsoleMirror.OFF), IngestFixtures.request("a"));
    spool.accept(0);
    ConsoleMirror.OFF.close();

    assertThat(ConsoleMirror.OFF.dropped()).isZero();
  }
}
