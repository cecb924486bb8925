package dev.sluice.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.RecordIds;
import dev.sluice.core.port.LogStore.DeliverySlice;
import dev.sluice.core.port.LogStore.StoreResult;
import dev.sluice.core.port.LogStore.StoreResult.Retryable;
import dev.sluice.core.port.LogStore.StoreResult.Stored;
import dev.sluice.core.port.SpoolConsumer.Delivery;
import dev.sluice.testkit.LogBatches;
import dev.sluice.testkit.SharedEngines;
import dev.sluice.testkit.TcpProxy;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests that each record is stored exactly once where the deduplication token alone would lose or
 * duplicate records; the tests also show the result of the token alone.
 */
@Timeout(180)
final class ClickHouseExactlyOnceIT {
  private static final StoreResult STORED = new Stored();

  /** Bytes per second at which a large insert takes a minute. */
  private static final long SLOW = 200_000;

  private final ClickHouseDatabase database = new ClickHouseDatabase(TestDatabase.settings());
  private final ClickHouseLogWriter store = new ClickHouseLogWriter(database);
  private final List<LogBatch> batches = LogBatches.list(4, 25);

  @BeforeEach
  void empty() throws InterruptedException {
    TestDatabase.execute("DROP VIEW IF EXISTS counted_view SYNC");
    TestDatabase.execute("DROP TABLE IF EXISTS counted SYNC");
    TestDatabase.dropAllTables();
    database.migrate();
  }

  @AfterEach
  void close() {
    database.close();
    TestDatabase.execute("DROP VIEW IF EXISTS counted_view SYNC");
    TestDatabase.execute("DROP TABLE IF EXISTS counted SYNC");
  }

  // ---- deduplication tokens

  @Test
  void store_tokenForgotten_isNotStoredTwice() throws Exception {
    TestDatabase.execute(
        "ALTER TABLE otel_logs MODIFY SETTING non_replicated_deduplication_window = 1");
    store.store("t", batches);
    store.store("other", LogBatches.list(1, 10));

    assertThat(store.store(retryOf("t", batches), RecordIds.NONE)).isEqualTo(STORED);
    assertThat(rows()).isEqualTo("110 110");

    store.store("t", batches);
    assertThat(rows()).as("the token alone").isEqualTo("210 110");
  }

  @Test
  void store_tokenRememberedWithoutItsRows_isStoredWithAnotherToken() throws Exception {
    store.store("t", batches);
    TestDatabase.execute("ALTER TABLE otel_logs DELETE WHERE 1 SETTINGS mutations_sync = 1");
    store.store("t", batches);
    assertThat(rows()).as("the token alone").isEqualTo("0 0");

    for (int i = 0; i < 2; i++) {
      assertThat(store.store(retryOf("t", batches), RecordIds.NONE)).isEqualTo(STORED);
      assertThat(rows()).isEqualTo("100 100");
    }
  }

  @Test
  void store_rowsLostRepeatedly_areStoredUntilTheTokensAreUsedUp() throws Exception {
    int stored = 0;
    while (store.store(retryOf("t", batches), RecordIds.NONE).equals(STORED)) {
      stored++;
      assertThat(rows()).isEqualTo("100 100");
      TestDatabase.execute("ALTER TABLE otel_logs DELETE WHERE 1 SETTINGS mutations_sync = 1");
    }

    assertThat(stored).isEqualTo(5);
    assertThat(store.store(retryOf("t", batches), RecordIds.NONE))
        .isInstanceOfSatisfying(
            Retryable.class,
            retryable ->
                assertThat(retryable.reason())
                    .contains("100 records that are missing from the table"));
  }

  @Test
  void store_someRowsOfEachOfSeveralInsertsLost_areStoredAndNoOthers() throws Exception {
    var small = TestDatabase.settings(1 << 20);
    var many = LogBatches.list(10, 2_000);
    try (var database = new ClickHouseDatabase(small)) {
      var store = new ClickHouseLogWriter(database);
      store.store("large", many);
      TestDatabase.execute(
          "ALTER TABLE otel_logs DELETE WHERE cityHash64(Id) % 3 = 0 SETTINGS mutations_sync = 1");
      assertThat(rows()).isNotEqualTo("20000 20000");

      assertThat(store.store(retryOf("large", many), RecordIds.NONE)).isEqualTo(STORED);
    }
    assertThat(rows()).isEqualTo("20000 20000");
  }

  @Test
  void store_rowsOlderThanTheRetention_areNotVerified() throws Exception {
    var now = Instant.now();
    var later = now.plus(Duration.ofDays(2));
    var settings = TestDatabase.settings(Duration.ofDays(1), null);
    try (var agedDatabase = new ClickHouseDatabase(settings)) {
      var aged = new ClickHouseLogWriter(agedDatabase, InstantSource.fixed(later));
      agedDatabase.migrate();
      store.store("t", batches);
      TestDatabase.execute("ALTER TABLE otel_logs DELETE WHERE 1 SETTINGS mutations_sync = 1");

      // The token hides the rows, as their expiry would.
      assertThat(aged.store(retryOf("t", batches), RecordIds.NONE)).isEqualTo(STORED);
      assertThat(rows()).isEqualTo("0 0");
    }
    assertThat(store.store(retryOf("t", batches), RecordIds.NONE)).isEqualTo(STORED);
    assertThat(rows()).isEqualTo("100 100");
  }

  // ---- inserts in flight

  @Test
  void store_responseLostAfterCommit_isNotStoredTwice() throws Exception {
    try (var proxy = TcpProxy.to(SharedEngines.clickHouse().httpPort());
        var proxied = databaseThrough(proxy)) {
      var proxiedStore = new ClickHouseLogWriter(proxied);
      proxied.migrate();
      proxy.dropNextResponse();

      assertThat(proxiedStore.store("t", batches)).isInstanceOf(Retryable.class);
      assertThat(proxy.droppedResponses()).isEqualTo(1);
      assertThat(rows()).isEqualTo("100 100");
      TestDatabase.execute(
          "ALTER TABLE otel_logs MODIFY SETTING non_replicated_deduplication_window = 0");

      assertThat(proxiedStore.store(retryOf("t", batches), RecordIds.NONE)).isEqualTo(STORED);
      assertThat(rows()).isEqualTo("100 100");
    }
  }

  @Test
  void store_retryDuringTheFirstInsert_killsItAndLeavesOneCopy() throws Exception {
    var large = LogBatches.list(4, 20_000);
    try (var proxy = TcpProxy.to(SharedEngines.clickHouse().httpPort());
        var slowDatabase = databaseThrough(proxy);
        var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var slow = new ClickHouseLogWriter(slowDatabase);
      slowDatabase.migrate();
      proxy.throttle(SLOW);
      var first = threads.submit(() -> slow.store("t", large));
      await().atMost(Duration.ofSeconds(60)).until(() -> isInserting(large, ""));
      var second = threads.submit(() -> storeUntilStored(store, retryOf("t", large)));
      await().atMost(Duration.ofSeconds(60)).until(() -> isInserting(large, "AND is_cancelled"));
      proxy.heal();

      assertThat(first.get()).isInstanceOf(Retryable.class);
      second.get();
      assertThat(slow.store(retryOf("t", large), RecordIds.NONE)).isEqualTo(STORED);
    }
    assertThat(rows()).isEqualTo("80000 80000");
  }

  @Test
  void store_sliceRetriedDuringTheInsertOfTheDelivery_killsThatInsert() throws Exception {
    var large = LogBatches.list(4, 20_000);
    try (var proxy = TcpProxy.to(SharedEngines.clickHouse().httpPort());
        var slowDatabase = databaseThrough(proxy);
        var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var slow = new ClickHouseLogWriter(slowDatabase);
      slowDatabase.migrate();
      proxy.throttle(SLOW);
      var whole = threads.submit(() -> slow.store("t", large));
      await().atMost(Duration.ofSeconds(60)).until(() -> isInserting(large, ""));
      var half =
          threads.submit(
              () ->
                  storeUntilStored(store, new DeliverySlice("half of t", large, 0, 30_000, true)));
      await().atMost(Duration.ofSeconds(60)).until(() -> isInserting(large, "AND is_cancelled"));
      proxy.heal();

      assertThat(whole.get()).isInstanceOf(Retryable.class);
      half.get();
    }
    assertThat(rows()).isEqualTo("30000 30000");
  }

  private static boolean isInserting(List<LogBatch> batches, String condition) {
    return TestDatabase.query(
            "SELECT count() FROM system.processes WHERE startsWith(query_id, '%s') %s"
                .formatted(batches.getFirst().appendId(), condition))
        .equals("1");
  }

  /** The case in which the bytes of the first attempt are delayed. */
  @Test
  void store_firstInsertArrivesAfterTheSecond_leavesOneCopy() throws Exception {
    assertThat(store.store(retryOf("t", batches), RecordIds.NONE)).isEqualTo(STORED);

    assertThat(store.store("t", batches)).isEqualTo(STORED);

    assertThat(rows()).isEqualTo("100 100");
  }

  @Test
  void store_twoConcurrentRetries_leaveOneCopy() throws Exception {
    try (var otherDatabase = new ClickHouseDatabase(TestDatabase.settings());
        var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var other = new ClickHouseLogWriter(otherDatabase);
      otherDatabase.migrate();
      for (int i = 0; i < 10; i++) {
        var deliverySlice = retryOf("race " + i, LogBatches.list(4, 1_000));
        var one = threads.submit(() -> storeUntilStored(store, deliverySlice));
        var two = threads.submit(() -> storeUntilStored(other, deliverySlice));
        one.get();
        two.get();
      }
    }
    assertThat(rows()).isEqualTo("40000 40000");
  }

  private static boolean storeUntilStored(ClickHouseLogWriter store, DeliverySlice deliverySlice)
      throws InterruptedException {
    while (!store.store(deliverySlice, RecordIds.NONE).equals(STORED)) {
      Thread.onSpinWait(); // after a kill by the other retry; a delivery worker would pause here
    }
    return true;
  }

  // ---- views of the table

  @Test
  void store_sameTokenTwice_writesToAViewOnce() throws Exception {
    createView(1000);

    store.store("t", batches);
    store.store("t", batches);

    assertThat(rows()).isEqualTo("100 100");
    assertThat(TestDatabase.query("SELECT count(), uniqExact(Id) FROM counted"))
        .isEqualTo("100\t100");
  }

  @Test
  void store_retryWithForgottenTokens_writesToAViewOnce() throws Exception {
    createView(0);
    TestDatabase.execute(
        "ALTER TABLE otel_logs MODIFY SETTING non_replicated_deduplication_window = 0");
    store.store("t", batches);

    assertThat(store.store(retryOf("t", batches), RecordIds.NONE)).isEqualTo(STORED);
    assertThat(TestDatabase.query("SELECT count(), uniqExact(Id) FROM counted"))
        .isEqualTo("100\t100");

    store.store("t", batches);
    assertThat(TestDatabase.query("SELECT count() FROM counted"))
        .as("the token alone")
        .isEqualTo("200");
  }

  private static void createView(int window) {
    TestDatabase.execute(
        "CREATE TABLE counted (Id FixedString(16)) ENGINE = MergeTree ORDER BY Id"
            + " SETTINGS non_replicated_deduplication_window = "
            + window);
    TestDatabase.execute(
        "CREATE MATERIALIZED VIEW counted_view TO counted AS SELECT Id FROM otel_logs");
  }

  private static ClickHouseDatabase databaseThrough(TcpProxy proxy) {
    return new ClickHouseDatabase(TestDatabase.settings("http://127.0.0.1:" + proxy.port()));
  }

  private static DeliverySlice retryOf(String token, List<LogBatch> batches) {
    return DeliverySlice.of(new Delivery(token, batches, true));
  }

  /** Returns the number of rows and of distinct ids. */
  private static String rows() {
    return TestDatabase.query("SELECT count(), uniqExact(Id) FROM otel_logs").replace('\t', ' ');
  }
}
