package dev.sluice.core.delivery;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.LogStore.DeliverySlice;
import dev.sluice.core.port.LogStore.StoreResult;
import dev.sluice.core.port.SpoolConsumer.Delivery;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.logs.v1.ResourceLogs;
import io.opentelemetry.proto.logs.v1.ScopeLogs;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class PoisonRecordBisectorTest {
  private static final StoreResult.Rejected REJECTED = new StoreResult.Rejected("no", 469);

  private static PoisonRecordBisector bisector(int records) {
    var delivery = new Delivery("1-0", List.of(batch(records)), false);
    return new PoisonRecordBisector(delivery, REJECTED, 1_000, () -> Instant.EPOCH);
  }

  private static LogBatch batch(int records) {
    var logs = ScopeLogs.newBuilder();
    for (int i = 0; i < records; i++) {
      logs.addLogRecords(LogRecord.newBuilder().setTimeUnixNano(1 + i));
    }
    var otlp =
        ExportLogsServiceRequest.newBuilder()
            .addResourceLogs(ResourceLogs.newBuilder().addScopeLogs(logs))
            .build()
            .toByteArray();
    return new LogBatch(UUID.randomUUID(), "t", 1, new LogId(1, 1), records, 1, otlp);
  }

  private static StoreResult reject(DeliverySlice deliverySlice) {
    return REJECTED;
  }

  @Test
  void run_hundredRecordsAllRejected_isSchemaMismatchUntilAccepted() throws Exception {
    var poisonRecordBisector = bisector(100);

    assertThat(poisonRecordBisector.run(PoisonRecordBisectorTest::reject))
        .isInstanceOf(StoreResult.SchemaMismatch.class);
    assertThat(poisonRecordBisector.run(PoisonRecordBisectorTest::reject))
        .isInstanceOf(StoreResult.SchemaMismatch.class);

    assertThat(poisonRecordBisector.run(_ -> new StoreResult.Stored()))
        .isEqualTo(new StoreResult.Stored());
    assertThat(poisonRecordBisector.deadLetters()).isEmpty();
  }

  @Test
  void run_fewRecordsAllRejected_areDeadLettered() throws Exception {
    var poisonRecordBisector = bisector(99);

    assertThat(poisonRecordBisector.run(PoisonRecordBisectorTest::reject))
        .isEqualTo(new StoreResult.Stored());
    assertThat(poisonRecordBisector.deadLetters()).hasSize(99);
  }

  @Test
  void run_hundredRecordsOneAccepted_deadLettersTheOthers() throws Exception {
    var poisonRecordBisector = bisector(100);

    var storeResult =
        poisonRecordBisector.run(
            slice ->
                slice.from() == 50 && slice.records() == 1 ? new StoreResult.Stored() : REJECTED);

    assertThat(storeResult).isEqualTo(new StoreResult.Stored());
    assertThat(poisonRecordBisector.deadLetters()).hasSize(99);
  }
}
