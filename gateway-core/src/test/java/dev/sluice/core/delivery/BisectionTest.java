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
import java.util.BitSet;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class BisectionTest {
  private static final StoreResult.Rejected REFUSED = new StoreResult.Rejected("no");

  private static Bisection of(int records) {
    var delivery = new Delivery("1-0", List.of(batch(records)), false);
    return new Bisection(delivery, REFUSED.reason(), 1_000, () -> Instant.EPOCH);
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
    return new LogBatch(UUID.randomUUID(), "t", 1, new LogId(1, 1), records, 1, new BitSet(), otlp);
  }

  private static StoreResult refuse(DeliverySlice deliverySlice) {
    return REFUSED;
  }

  @Test
  void go_aHundredAndNoneIsTaken_blamesTheTableUntilItTakesThem() throws Exception {
    var bisection = of(100);

    assertThat(bisection.go(BisectionTest::refuse)).isInstanceOf(StoreResult.SchemaMismatch.class);
    assertThat(bisection.go(BisectionTest::refuse)).isInstanceOf(StoreResult.SchemaMismatch.class);

    assertThat(bisection.go(_ -> new StoreResult.Stored())).isEqualTo(new StoreResult.Stored());
    assertThat(bisection.letters()).isEmpty();
  }

  @Test
  void go_fewerAndNoneIsTaken_blamesTheRecords() throws Exception {
    var bisection = of(99);

    assertThat(bisection.go(BisectionTest::refuse)).isEqualTo(new StoreResult.Stored());
    assertThat(bisection.letters()).hasSize(99);
  }

  @Test
  void go_aHundredAndOneIsTaken_blamesTheOthers() throws Exception {
    var bisection = of(100);

    var storeResult =
        bisection.go(p -> p.from() == 50 && p.records() == 1 ? new StoreResult.Stored() : REFUSED);

    assertThat(storeResult).isEqualTo(new StoreResult.Stored());
    assertThat(bisection.letters()).hasSize(99);
  }
}
