package dev.sluice.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.LogStore.DeliverySlice;
import dev.sluice.core.port.LogStore.StoreResult;
import dev.sluice.core.port.LogStore.StoreResult.Retryable;
import dev.sluice.core.port.LogStore.StoreResult.Stored;
import dev.sluice.core.port.SpoolConsumer.Delivery;
import dev.sluice.testkit.Engines;
import dev.sluice.testkit.LogBatches;
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
 * Each record once, where the token alone would lose or double some: each test shows that it would.
 */
@Timeout(180)
final class ClickHouseOnceTest {
  private static final StoreResult STORED = new Stored();

  /** Bytes a second, with which a large insert takes a minute. */
  private static final long SLOW = 200_000;

  private final ClickHouseLogStore store = new ClickHouseLogStore(Database.settings());
  private final List<LogBatch> batches = LogBatches.some(4, 25);

  @BeforeEach
  void empty() throws InterruptedException {
    Database.execute("DROP VIEW IF EXISTS counted_view SYNC");
    Database.execute("DROP TABLE IF EXISTS counted SYNC");
    Database.empty();
    store.migrate();
  }

  @AfterEach
  void close() {
    store.close();
    Database.execute("DROP VIEW IF EXISTS counted_view SYNC");
    Database.execute("DROP TABLE IF EXISTS counted SYNC");
  }

  // ---- what ClickHouse remembers

  @Test
  void store_tokenForgotten_isNotStoredTwice() throws Exception {
    Database.execute(
        "ALTER TABLE otel_logs MODIFY SETTING non_replicated_deduplication_window = 1");
    store.store("t", batches);
    store.store("other", LogBatches.some(1, 10));

    assertThat(store.store(again("t", batches))).isEqualTo(STORED);
    assertThat(rows()).isEqualTo("110 110");

    store.store("t", batches);
    assertThat(rows()).as("the token alone").isEqualTo("210 110");
  }

  @Test
  void store_tokenRememberedWithoutItsRows_isStoredUnderAnother() throws Exception {
    store.store("t", batches);
    Database.execute("ALTER TABLE otel_logs DELETE WHERE 1 SETTINGS mutations_sync = 1");
    store.store("t", batches);
    assertThat(rows()).as("the token alone").isEqualTo("0 0");

    for (int i = 0; i < 2; i++) {
      assertThat(store.store(again("t", batches))).isEqualTo(STORED);
      assertThat(rows()).isEqualTo("100 100");
    }
  }

  @Test
  void store_rowsLostAgainAndAgain_areStoredUntilTheTokensAreUsedUp() throws Exception {
    int stored = 0;
    while (store.store(again("t", batches)).equals(STORED)) {
      stored++;
      assertThat(rows()).isEqualTo("100 100");
      Database.execute("ALTER TABLE otel_logs DELETE WHERE 1 SETTINGS mutations_sync = 1");
    }

    assertThat(stored).isEqualTo(5);
    assertThat(store.store(again("t", batches)))
        .isInstanceOfSatisfying(
            Retryable.class,
            later -> assertThat(later.reason()).contains("100 records that are not there"));
  }

  @Test
  void store_someRowsOfEachOfSeveralInsertsLost_areStoredAndNoOthers() throws Exception {
    var defaults = Database.settings();
    var small =
        new ClickHouseSettings(
            defaults.url(),
            defaults.user(),
            defaults.password(),
            defaults.database(),
            defaults.insertTimeout(),
            defaults.queryTimeout(),
            1 << 20,
            defaults.indexes(),
            null);
    var many = LogBatches.some(10, 2_000);
    try (var store = new ClickHouseLogStore(small)) {
      store.store("large", many);
      Database.execute(
          "ALTER TABLE otel_logs DELETE WHERE cityHash64(Id) % 3 = 0 SETTINGS mutations_sync = 1");
      assertThat(rows()).isNotEqualTo("20000 20000");

      assertThat(store.store(again("large", many))).isEqualTo(STORED);
    }
    assertThat(rows()).isEqualTo("20000 20000");
  }

  @Test
  void store_rowsOlderThanTheRetention_areNotWaitedFor() throws Exception {
    var now = Instant.now();
    var later = now.plus(Duration.ofDays(2));
    var settings = Database.settings().withRetention(Duration.ofDays(1));
    try (var aged = new ClickHouseLogStore(settings, InstantSource.fixed(later))) {
      aged.migrate();
      store.store("t", batches);
      Database.execute("ALTER TABLE otel_logs DELETE WHERE 1 SETTINGS mutations_sync = 1");

      // the token hides them, as the end of their time would
      assertThat(aged.store(again("t", batches))).isEqualTo(STORED);
      assertThat(rows()).isEqualTo("0 0");
    }
    assertThat(store.store(again("t", batches))).isEqualTo(STORED);
    assertThat(rows()).isEqualTo("100 100");
  }

  // ---- what is under way

  @Test
  void store_answerLostAfterTheCommit_isFoundThere() throws Exception {
    try (var proxy = TcpProxy.to(Engines.clickHouse().httpPort());
        var far = through(proxy)) {
      far.migrate();
      proxy.swallowNextAnswer();

      assertThat(far.store("t", batches)).isInstanceOf(Retryable.class);
      assertThat(proxy.swallowed()).isEqualTo(1);
      assertThat(rows()).isEqualTo("100 100");
      Database.execute(
          "ALTER TABLE otel_logs MODIFY SETTING non_replicated_deduplication_window = 0");

      assertThat(far.store(again("t", batches))).isEqualTo(STORED);
      assertThat(rows()).isEqualTo("100 100");
    }
  }

  @Test
  void store_againWhileTheFirstStillRuns_endsItAndLeavesOneCopy() throws Exception {
    var large = LogBatches.some(4, 20_000);
    try (var proxy = TcpProxy.to(Engines.clickHouse().httpPort());
        var slow = through(proxy);
        var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      slow.migrate();
      proxy.throttle(SLOW);
      var first = threads.submit(() -> slow.store("t", large));
      await().atMost(Duration.ofSeconds(60)).until(() -> inserting(large, ""));
      var second = threads.submit(() -> until(store, again("t", large)));
      await().atMost(Duration.ofSeconds(60)).until(() -> inserting(large, "AND is_cancelled"));
      proxy.heal();

      assertThat(first.get()).isInstanceOf(Retryable.class);
      second.get();
      assertThat(slow.store(again("t", large))).isEqualTo(STORED);
    }
    assertThat(rows()).isEqualTo("80000 80000");
  }

  @Test
  void store_partAgainWhileTheWholeStillRuns_endsTheWhole() throws Exception {
    var large = LogBatches.some(4, 20_000);
    try (var proxy = TcpProxy.to(Engines.clickHouse().httpPort());
        var slow = through(proxy);
        var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      slow.migrate();
      proxy.throttle(SLOW);
      var whole = threads.submit(() -> slow.store("t", large));
      await().atMost(Duration.ofSeconds(60)).until(() -> inserting(large, ""));
      var half =
          threads.submit(
              () -> until(store, new DeliverySlice("half of t", large, 0, 30_000, true)));
      await().atMost(Duration.ofSeconds(60)).until(() -> inserting(large, "AND is_cancelled"));
      proxy.heal();

      assertThat(whole.get()).isInstanceOf(Retryable.class);
      half.get();
    }
    assertThat(rows()).isEqualTo("30000 30000");
  }

  private static boolean inserting(List<LogBatch> batches, String condition) {
    return Database.ask(
            "SELECT count() FROM system.processes WHERE startsWith(query_id, '%s') %s"
                .formatted(batches.getFirst().appendId(), condition))
        .equals("1");
  }

  /** As when the bytes of the first attempt were held up somewhere. */
  @Test
  void store_firstInsertComesAfterTheSecond_leavesOneCopy() throws Exception {
    assertThat(store.store(again("t", batches))).isEqualTo(STORED);

    assertThat(store.store("t", batches)).isEqualTo(STORED);

    assertThat(rows()).isEqualTo("100 100");
  }

  @Test
  void store_twoAtOnceAgain_leaveOneCopy() throws Exception {
    try (var other = new ClickHouseLogStore(Database.settings());
        var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      other.migrate();
      for (int i = 0; i < 10; i++) {
        var deliverySlice = again("race " + i, LogBatches.some(4, 1_000));
        var one = threads.submit(() -> until(store, deliverySlice));
        var two = threads.submit(() -> until(other, deliverySlice));
        one.get();
        two.get();
      }
    }
    assertThat(rows()).isEqualTo("40000 40000");
  }

  private static boolean until(ClickHouseLogStore store, DeliverySlice deliverySlice)
      throws InterruptedException {
    while (!store.store(deliverySlice).equals(STORED)) {
      Thread.onSpinWait(); // the other has ended this one's insert; the worker pauses here
    }
    return true;
  }

  // ---- views of the table

  @Test
  void store_sameTokenTwice_feedsAViewOnce() throws Exception {
    view(1000);

    store.store("t", batches);
    store.store("t", batches);

    assertThat(rows()).isEqualTo("100 100");
    assertThat(Database.ask("SELECT count(), uniqExact(Id) FROM counted")).isEqualTo("100\t100");
  }

  @Test
  void store_againWithForgottenTokens_feedsAViewOnce() throws Exception {
    view(0);
    Database.execute(
        "ALTER TABLE otel_logs MODIFY SETTING non_replicated_deduplication_window = 0");
    store.store("t", batches);

    assertThat(store.store(again("t", batches))).isEqualTo(STORED);
    assertThat(Database.ask("SELECT count(), uniqExact(Id) FROM counted")).isEqualTo("100\t100");

    store.store("t", batches);
    assertThat(Database.ask("SELECT count() FROM counted")).as("the token alone").isEqualTo("200");
  }

  private static void view(int window) {
    Database.execute(
        "CREATE TABLE counted (Id FixedString(16)) ENGINE = MergeTree ORDER BY Id"
            + " SETTINGS non_replicated_deduplication_window = "
            + window);
    Database.execute(
        "CREATE MATERIALIZED VIEW counted_view TO counted AS SELECT Id FROM otel_logs");
  }

  private static ClickHouseLogStore through(TcpProxy proxy) {
    return new ClickHouseLogStore(
        ClickHouseSettings.of("http://127.0.0.1:" + proxy.port(), "sluice", "sluice"));
  }

  private static DeliverySlice again(String token, List<LogBatch> batches) {
    return DeliverySlice.of(new Delivery(token, batches, true));
  }

  /** Rows of the table, and how many different ones. */
  private static String rows() {
    return Database.ask("SELECT count(), uniqExact(Id) FROM otel_logs").replace('\t', ' ');
  }
}
