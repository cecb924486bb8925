package dev.sluice.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.type;
import static org.awaitility.Awaitility.await;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.RecordIds;
import dev.sluice.core.port.LogStore.DeliverySlice;
import dev.sluice.core.port.LogStore.StoreResult;
import dev.sluice.core.port.LogStore.StoreResult.Retryable;
import dev.sluice.core.port.LogStore.StoreResult.SchemaMismatch;
import dev.sluice.core.port.LogStore.StoreResult.Stored;
import dev.sluice.core.port.SpoolConsumer.Delivery;
import dev.sluice.testkit.LogBatches;
import dev.sluice.testkit.SharedEngines;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests the results of deliveries when a real ClickHouse fails. */
@Timeout(180)
final class ClickHouseFailureIT {
  private static final StoreResult STORED = new Stored();

  private final ClickHouseDatabase database = new ClickHouseDatabase(TestDatabase.settings());
  private final ClickHouseLogWriter store = new ClickHouseLogWriter(database);
  private final List<LogBatch> batches = LogBatches.list(2, 50);

  @BeforeEach
  void empty() {
    TestDatabase.dropAllTables();
  }

  @AfterEach
  void close() {
    database.close();
  }

  @Test
  void store_noTableYet_createsItFirst() throws Exception {
    assertThat(store.store("t", batches)).isEqualTo(new Stored());
    assertThat(store.storedRecords()).isEqualTo(100);
  }

  @Test
  void store_engineStopped_isRetryableUntilItRestarts() throws Exception {
    database.migrate();
    SharedEngines.clickHouse().stop();
    try {
      assertThat(database.unavailableReason()).isPresent();
      assertThat(store.store("t", batches))
          .asInstanceOf(type(Retryable.class))
          .extracting(Retryable::reason)
          .asString()
          .contains("unreachable");
    } finally {
      SharedEngines.clickHouse().restart();
    }

    assertThat(database.unavailableReason()).isEmpty();
    awaitResult(new Stored(), "t");
    assertThat(store.storedRecords()).isEqualTo(100);
  }

  @Test
  void store_engineKilledConcurrently_storesEachDeliveryOnce() throws Exception {
    database.migrate();
    var deliveries = new ArrayList<List<LogBatch>>();
    for (int i = 0; i < 12; i++) {
      deliveries.add(LogBatches.list(4, 2_500));
    }
    var stored = new CountDownLatch(3);
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var running =
          threads.submit(
              () -> {
                for (int i = 0; i < deliveries.size(); i++) {
                  boolean redelivered = false;
                  while (!store
                      .store(sliceOf("kill-" + i, deliveries.get(i), redelivered), RecordIds.NONE)
                      .equals(STORED)) {
                    redelivered = true; // a delivery worker would pause here
                  }
                  stored.countDown();
                }
                return null;
              });
      stored.await();
      SharedEngines.clickHouse().kill();
      running.get();
    }

    assertThat(store.storedRecords()).isEqualTo(120_000);
    assertThat(TestDatabase.query("SELECT uniqExact(Id) FROM otel_logs")).isEqualTo("120000");
  }

  @Test
  void store_tableDropped_isSchemaMismatchAndRecreated() throws Exception {
    store.store("first", LogBatches.list(1, 10));
    TestDatabase.execute("DROP TABLE otel_logs SYNC");

    assertThat(store.store("t", batches))
        .asInstanceOf(type(SchemaMismatch.class))
        .extracting(SchemaMismatch::reason)
        .asString()
        .contains("UNKNOWN_TABLE");

    assertThat(store.store("t", batches)).isEqualTo(new Stored());
    assertThat(store.storedRecords()).isEqualTo(100);
  }

  /** The view of the logs has no target table then. */
  @Test
  void store_countsTableDropped_isSchemaMismatchAndRecreated() throws Exception {
    store.store("first", LogBatches.list(1, 10));
    TestDatabase.execute("DROP TABLE log_template_counts SYNC");

    assertThat(store.store(sliceOf("t", batches, false), RecordIds.NONE))
        .isInstanceOf(SchemaMismatch.class);

    assertThat(store.store(sliceOf("t", batches, true), RecordIds.NONE)).isEqualTo(STORED);
    assertThat(store.storedRecords()).isEqualTo(110);
    assertThat(TestDatabase.query("SELECT uniqExact(Id) FROM otel_logs")).isEqualTo("110");
  }

  @Test
  void store_ownColumnDropped_isSchemaMismatchWithItsNameAndAddedAgain() throws Exception {
    store.store("first", LogBatches.list(1, 10));
    TestDatabase.execute("ALTER TABLE otel_logs DROP COLUMN EventName");

    assertThat(store.store("t", batches))
        .asInstanceOf(type(SchemaMismatch.class))
        .extracting(SchemaMismatch::reason)
        .asString()
        .contains("EventName");

    assertThat(store.store("t", batches)).isEqualTo(new Stored());
    assertThat(store.storedRecords()).isEqualTo(110);
  }

  @Test
  void store_collectorColumnDropped_isSchemaMismatchUntilItIsAddedAgain() throws Exception {
    store.store("first", LogBatches.list(1, 10));
    TestDatabase.execute("ALTER TABLE otel_logs DROP COLUMN SeverityText");

    boolean redelivered = false;
    for (int i = 0; i < 3; i++) {
      assertThat(store.store(sliceOf("t", batches, redelivered), RecordIds.NONE))
          .asInstanceOf(type(SchemaMismatch.class))
          .extracting(SchemaMismatch::reason)
          .asString()
          .contains("SeverityText");
      redelivered = true;
    }

    TestDatabase.execute("ALTER TABLE otel_logs ADD COLUMN SeverityText LowCardinality(String)");
    assertThat(store.store(sliceOf("t", batches, true), RecordIds.NONE)).isEqualTo(STORED);
    assertThat(store.storedRecords()).isEqualTo(110);
    assertThat(TestDatabase.query("SELECT uniqExact(Id) FROM otel_logs")).isEqualTo("110");
  }

  @Test
  void store_recordThatBreaksAConstraint_isRejectedWithoutQuotingIt() throws Exception {
    database.migrate();
    TestDatabase.execute("ALTER TABLE otel_logs ADD CONSTRAINT few CHECK Body = 'none is this'");

    assertThat(store.store("t", batches))
        .asInstanceOf(type(StoreResult.Rejected.class))
        .extracting(StoreResult.Rejected::reason)
        .isEqualTo("ClickHouse error 469 VIOLATED_CONSTRAINT");
    assertThat(store.storedRecords()).isZero();
  }

  @Test
  void store_viewThatThrowsAtARecord_isRejectedWithoutQuotingIt() throws Exception {
    database.migrate();
    TestDatabase.execute("CREATE TABLE picky (x UInt8) ENGINE = Null");
    TestDatabase.execute(
        "CREATE MATERIALIZED VIEW picking TO picky AS"
            + " SELECT throwIf(Body != '', 'said it') AS x FROM otel_logs");
    try {
      assertThat(store.store("t", batches))
          .asInstanceOf(type(StoreResult.Rejected.class))
          .extracting(StoreResult.Rejected::reason)
          .isEqualTo("ClickHouse error 395 FUNCTION_THROW_IF_VALUE_IS_NON_ZERO");
    } finally {
      TestDatabase.execute("DROP VIEW picking SYNC");
      TestDatabase.execute("DROP TABLE picky SYNC");
    }
  }

  @Test
  void store_wrongPassword_isRetryableWithoutQuotingIt() throws Exception {
    var url = SharedEngines.clickHouse().url();
    try (var wrongDatabase = new ClickHouseDatabase(TestDatabase.settings(url, "hunter2"))) {
      var wrong = new ClickHouseLogWriter(wrongDatabase);
      assertThat(wrong.store("t", batches))
          .asInstanceOf(type(Retryable.class))
          .extracting(Retryable::reason)
          .asString()
          .contains("516", "AUTHENTICATION_FAILED")
          .doesNotContain("hunter2");
      assertThat(wrongDatabase.unavailableReason()).isPresent();
    }
  }

  @Test
  void store_tooManyParts_isRetryable() throws Exception {
    database.migrate();
    TestDatabase.execute("ALTER TABLE otel_logs MODIFY SETTING parts_to_throw_insert = 1");
    store.store("first", LogBatches.list(1, 10));

    assertThat(store.store("t", batches))
        .asInstanceOf(type(Retryable.class))
        .extracting(Retryable::reason)
        .asString()
        .contains("TOO_MANY_PARTS");
  }

  private static DeliverySlice sliceOf(String token, List<LogBatch> batches, boolean redelivered) {
    return DeliverySlice.of(new Delivery(token, batches, redelivered));
  }

  private void awaitResult(StoreResult expected, String token) {
    await()
        .atMost(Duration.ofSeconds(60))
        .until(() -> store.store(token, batches).equals(expected));
  }
}
