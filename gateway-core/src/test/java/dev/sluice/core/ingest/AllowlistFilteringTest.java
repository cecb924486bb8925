package dev.sluice.core.ingest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.Rejection;
import dev.sluice.core.ingest.IngestService.BatchLimits;
import dev.sluice.core.ingest.IngestService.RecordPolicy;
import dev.sluice.core.port.Redactor;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceResponse;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.ArrayValue;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.logs.v1.ResourceLogs;
import io.opentelemetry.proto.logs.v1.ScopeLogs;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The filtering by the allowlist: results, metrics and responses. */
class AllowlistFilteringTest {
  private final ScriptedSpool spool = new ScriptedSpool();
  private final ManualScheduler time = new ManualScheduler();
  private final CountingMetrics meter = new CountingMetrics();
  private BodyAllowlist list = BodyAllowlist.of(List.of("Order Placed", "Order shipped"));
  private final IngestService ingest =
      IngestFixtures.ingestService(
          spool,
          Limits.DEFAULT,
          new RecordPolicy(() -> list, Redactor.NONE, ConsoleMirror.OFF),
          new BatchLimits(100_000, 1 << 20, Duration.ofMillis(5)),
          time,
          time,
          meter);

  private CompletableFuture<IngestResult> accept(byte[] bytes) {
    return IngestFixtures.submit(ingest, IngestFixtures.context("otlp-http"), OtlpPayload.of(bytes))
        .result();
  }

  private static IngestResult accepted(int accepted, int... filtered) {
    return IngestFixtures.partial(accepted, List.of(), filtered);
  }

  @Test
  void accept_notOnTheAllowlist_isFilteredAndCounted() {
    var result = accept(IngestFixtures.request("order placed", "cache miss", "ORDER SHIPPED", ""));
    spool.accept(0);

    assertThat(result).isCompletedWithValue(accepted(2, 1, 3));
    assertThat(IngestFixtures.accepted(spool.batches().getFirst()))
        .containsExactly("order placed", "ORDER SHIPPED");
    assertThat(spool.batches().getFirst().records()).isEqualTo(2);
    assertThat(meter.filtered).hasValue(2);
    assertThat(meter.rejected).hasValue(0);
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void accept_nothingOnTheAllowlist_completesWithoutAppend() {
    assertThat(accept(IngestFixtures.request("a", "b"))).isCompletedWithValue(accepted(0, 0, 1));
    assertThat(spool.batches()).isEmpty();
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void accept_overALimit_isRejectedAndNotFiltered() {
    var result = accept(IngestFixtures.request("bad one", "order placed", "other"));
    spool.accept(0);

    assertThat(result)
        .isCompletedWithValue(
            IngestFixtures.partial(
                1, List.of(new Rejection(0, "severity_number", "is 99, must be from 0 to 24")), 2));
    assertThat(meter.balances()).isTrue();
  }

  @Test
  void accept_bodyThatIsNoString_isFiltered() {
    var text = AnyValue.newBuilder().setStringValue("order placed").build();
    var scope =
        ScopeLogs.newBuilder()
            .addLogRecords(LogRecord.newBuilder().setEventName("order placed"))
            .addLogRecords(LogRecord.newBuilder().setBody(AnyValue.newBuilder().setIntValue(1)))
            .addLogRecords(
                LogRecord.newBuilder()
                    .setBody(AnyValue.newBuilder().setBytesValue(text.getStringValueBytes())))
            .addLogRecords(
                LogRecord.newBuilder()
                    .setBody(
                        AnyValue.newBuilder()
                            .setArrayValue(ArrayValue.newBuilder().addValues(text))))
            .addLogRecords(LogRecord.newBuilder().setBody(text));
    var request =
        ExportLogsServiceRequest.newBuilder()
            .addResourceLogs(ResourceLogs.newBuilder().addScopeLogs(scope))
            .build();

    var result = accept(request.toByteArray());
    spool.accept(0);

    assertThat(result).isCompletedWithValue(accepted(1, 0, 1, 2, 3));
    assertThat(IngestFixtures.accepted(spool.batches().getFirst())).containsExactly("order placed");
  }

  @Test
  void accept_filtered_isNotInTheExpandedBytes() {
    list = BodyAllowlist.ALLOW_ALL;
    var _ = accept(IngestFixtures.request("order placed"));
    list = BodyAllowlist.of(List.of("order placed"));
    var _ = accept(IngestFixtures.request("a much longer message than that", "order placed", "x"));
    spool.accept(0);

    assertThat(spool.batches().get(1).expandedBytes())
        .isEqualTo(spool.batches().get(0).expandedBytes());
  }

  @Test
  void accept_allowlistReplaced_appliesFromTheNextRequest() {
    assertThat(accept(IngestFixtures.request("a"))).isCompletedWithValue(accepted(0, 0));

    list = BodyAllowlist.of(List.of("A"));

    var result = accept(IngestFixtures.request("a", "order placed"));
    spool.accept(0);
    assertThat(result).isCompletedWithValue(accepted(1, 1));
  }

  @Test
  void accept_sampleOfTenMessages_acceptsTheListedTenth() {
    list = BodyAllowlist.of(List.of("message 3"));
    var bodies =
        IntStream.range(0, 1_000).mapToObj(i -> "Message " + i % 10).toArray(String[]::new);

    var result = accept(IngestFixtures.request(bodies));
    spool.accept(0);

    assertThat(result)
        .isCompletedWithValue(
            accepted(100, IntStream.range(0, 1_000).filter(i -> i % 10 != 3).toArray()));
    assertThat(spool.batches().getFirst().records()).isEqualTo(100);
  }

  @Test
  void response_filtered_isAWarningWithNothingRejected() throws Exception {
    var result = (IngestResult.Accepted) accepted(1, 1, 2);

    var success = ExportLogsServiceResponse.parseFrom(OtlpResponses.exportResponse(result));

    assertThat(success.getPartialSuccess().getRejectedLogRecords()).isZero();
    assertThat(success.getPartialSuccess().getErrorMessage())
        .isEqualTo("2 log records filtered: they are not on the allowlist");
  }
}
