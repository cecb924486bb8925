package dev.sluice.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.testkit.LogBatches;
import dev.sluice.testkit.SharedEngines;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.logs.v1.ResourceLogs;
import io.opentelemetry.proto.logs.v1.ScopeLogs;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(120)
final class InsertPacerIT {
  private final AtomicReference<Instant> now = new AtomicReference<>(Instant.now());
  private final ClickHouseDatabase database = new ClickHouseDatabase(TestDatabase.settings());
  private final ClickHouseLogWriter store = new ClickHouseLogWriter(database, now::get);

  @BeforeEach
  void empty() {
    TestDatabase.dropAllTables();
  }

  @AfterEach
  void close() {
    database.close();
  }

  @ParameterizedTest
  @CsvSource({
    "0, 1000, 0",
    "500, 1000, 0",
    "550, 1000, 300",
    "750, 1000, 7500",
    "1000, 1000, 30000",
    "5000, 1000, 30000",
    "1, 1, 30000",
    "700, 0, 0",
  })
  void intervalFor_partsAndLimit_growsFromHalfTheLimit(long parts, long limit, long millis) {
    assertThat(InsertPacer.intervalFor(parts, limit)).isEqualTo(Duration.ofMillis(millis));
  }

  @Test
  void minInsertInterval_mergesFallBehind_growsWithThePartsOfOneDay() throws Exception {
    assertThat(store.minInsertInterval()).as("no table yet").isZero();
    database.migrate();
    TestDatabase.execute("ALTER TABLE otel_logs MODIFY SETTING parts_to_delay_insert = 10");
    TestDatabase.execute("SYSTEM STOP MERGES otel_logs");
    insert(5);
    assertThat(refreshedInterval()).isZero();

    insert(3);
    assertThat(store.minInsertInterval()).as("cached").isZero();
    assertThat(refreshedInterval()).isEqualTo(Duration.ofMillis(10_800));

    TestDatabase.execute("SYSTEM START MERGES otel_logs");
    TestDatabase.execute("OPTIMIZE TABLE otel_logs FINAL");
    assertThat(refreshedInterval()).isZero();
  }

  @Test
  void minInsertInterval_tableWithoutLimit_followsTheServersLimit() throws Exception {
    store.store("t", LogBatches.list(1, 1));

    assertThat(refreshedInterval()).isZero();
    assertThat(
            TestDatabase.query(
                "SELECT value FROM system.merge_tree_settings"
                    + " WHERE name = 'parts_to_delay_insert'"))
        .isEqualTo("1000");
  }

  @Test
  void minInsertInterval_engineStopped_isZero() throws Exception {
    database.migrate();
    TestDatabase.execute("ALTER TABLE otel_logs MODIFY SETTING parts_to_delay_insert = 1");
    insert(1);
    assertThat(refreshedInterval()).isPositive();
    SharedEngines.clickHouse().stop();
    try {
      assertThat(refreshedInterval()).isZero();
    } finally {
      SharedEngines.clickHouse().restart();
    }
  }

  @ParameterizedTest
  @CsvSource({"0, 0", "1, 0", "2, 50", "61, 3000", "187, 5000", "100000, 5000"})
  void lingerFor_growsWithTheDaysOfADelivery(int parts, long millis) {
    assertThat(InsertPacer.lingerFor(parts)).isEqualTo(Duration.ofMillis(millis));
  }

  @Test
  void preferredLinger_lastDeliveryOfManyDays_isLongerUntilOneOfFew() throws Exception {
    TestDatabase.execute(SchemaMigratorIT.COLLECTORS_TABLE); // by event day
    store.store("many", List.of(ofDays(60))); // two inserts
    assertThat(store.preferredLinger()).isEqualTo(Duration.ofMillis(2_950));
    assertThat(store.minInsertInterval()).as("a full delivery does not wait").isZero();

    store.store("one", List.of(ofDays(1)));
    assertThat(store.preferredLinger()).isZero();
  }

  @Test
  void preferredLinger_oldDeliveryOfManyDays_hasNoInfluence() throws Exception {
    TestDatabase.execute(SchemaMigratorIT.COLLECTORS_TABLE); // by event day
    store.store("many", List.of(ofDays(60)));

    now.updateAndGet(then -> then.plusSeconds(31));

    assertThat(store.preferredLinger()).isZero();
  }

  @Test
  void preferredLinger_manyDaysInATableByReceiveDay_isZero() throws Exception {
    store.store("many", List.of(ofDays(60)));

    assertThat(store.preferredLinger()).isZero();
  }

  /** Returns a batch with one log for each of so many days. */
  static LogBatch ofDays(int days) {
    var logs = ScopeLogs.newBuilder();
    for (int day = 1; day <= days; day++) {
      logs.addLogRecords(
          LogRecord.newBuilder().setTimeUnixNano(Duration.ofDays(18_000 + day).toNanos()));
    }
    return LogBatches.of(
        ExportLogsServiceRequest.newBuilder()
            .addResourceLogs(ResourceLogs.newBuilder().addScopeLogs(logs))
            .build()
            .toByteArray());
  }

  private void insert(int times) throws InterruptedException {
    for (int i = 0; i < times; i++) {
      // All logs have the same day.
      store.store("parts " + i + now.get(), LogBatches.list(1, 1));
    }
  }

  /** Returns the interval after a new query of the part count. */
  private Duration refreshedInterval() {
    now.updateAndGet(then -> then.plusSeconds(5));
    return store.minInsertInterval();
  }
}
