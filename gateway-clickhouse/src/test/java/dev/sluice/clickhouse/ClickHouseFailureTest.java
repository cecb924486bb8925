package dev.sluice.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.type;
import static org.awaitility.Awaitility.await;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.LogStore.Outcome;
import dev.sluice.core.port.LogStore.Outcome.Stored;
import dev.sluice.core.port.LogStore.Outcome.TryLater;
import dev.sluice.testkit.Engines;
import dev.sluice.testkit.LogBatches;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What becomes of a delivery when a real ClickHouse fails. */
@Timeout(180)
final class ClickHouseFailureTest {
  private final ClickHouseLogStore store = new ClickHouseLogStore(Database.settings());
  private final List<LogBatch> batches = LogBatches.some(2, 50);

  @BeforeEach
  void empty() {
    Database.empty();
  }

  @AfterEach
  void close() {
    store.close();
  }

  @Test
  void store_noTableYet_makesItFirst() throws Exception {
    assertThat(store.store("t", batches)).isEqualTo(new Stored());
    assertThat(store.stored()).isEqualTo(100);
  }

  @Test
  void store_engineStopped_triesLaterUntilItIsBack() throws Exception {
    store.migrate();
    Engines.clickHouse().stop();
    try {
      assertThat(store.unavailable()).isPresent();
      assertThat(store.store("t", batches))
          .asInstanceOf(type(TryLater.class))
          .extracting(TryLater::reason)
          .asString()
          .contains("out of reach");
    } finally {
      Engines.clickHouse().restart();
    }

    assertThat(store.unavailable()).isEmpty();
    until(new Stored(), "t");
    assertThat(store.stored()).isEqualTo(100);
  }

  @Test
  void store_engineKilledMeanwhile_storesEachDeliveryOnce() throws Exception {
    store.migrate();
    var deliveries = new ArrayList<List<LogBatch>>();
    for (int i = 0; i < 12; i++) {
      deliveries.add(LogBatches.some(4, 2_500));
    }
    var begun = new CountDownLatch(3);
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var all =
          threads.submit(
              () -> {
                for (int i = 0; i < deliveries.size(); i++) {
                  while (!store.store("kill-" + i, deliveries.get(i)).equals(new Stored())) {
                    Thread.onSpinWait(); // the delivery worker pauses here
                  }
                  begun.countDown();
                }
                return null;
              });
      begun.await();
      Engines.clickHouse().kill();
      all.get();
    }

    assertThat(store.stored()).isEqualTo(120_000);
    assertThat(Database.ask("SELECT uniqExact(Id) FROM otel_logs")).isEqualTo("120000");
  }

  @Test
  void store_tableDropped_triesLaterAndMakesItAgain() throws Exception {
    store.store("first", LogBatches.some(1, 10));
    Database.execute("DROP TABLE otel_logs SYNC");

    assertThat(store.store("t", batches))
        .asInstanceOf(type(TryLater.class))
        .extracting(TryLater::reason)
        .asString()
        .contains("UNKNOWN_TABLE");

    assertThat(store.store("t", batches)).isEqualTo(new Stored());
    assertThat(store.stored()).isEqualTo(100);
  }

  @Test
  void store_columnDropped_triesLaterNamingItAndAddsItAgain() throws Exception {
    store.store("first", LogBatches.some(1, 10));
    Database.execute("ALTER TABLE otel_logs DROP COLUMN EventName");

    assertThat(store.store("t", batches))
        .asInstanceOf(type(TryLater.class))
        .extracting(TryLater::reason)
        .asString()
        .contains("EventName");

    assertThat(store.store("t", batches)).isEqualTo(new Stored());
    assertThat(store.stored()).isEqualTo(110);
  }

  @Test
  void store_wrongPassword_triesLaterWithoutTellingIt() throws Exception {
    var url = Engines.clickHouse().url();
    try (var wrong = new ClickHouseLogStore(ClickHouseSettings.of(url, "sluice", "hunter2"))) {
      assertThat(wrong.store("t", batches))
          .asInstanceOf(type(TryLater.class))
          .extracting(TryLater::reason)
          .asString()
          .contains("516", "AUTHENTICATION_FAILED")
          .doesNotContain("hunter2");
      assertThat(wrong.unavailable()).isPresent();
    }
  }

  @Test
  void store_tableIsFullOfParts_triesLater() throws Exception {
    store.migrate();
    Database.execute("ALTER TABLE otel_logs MODIFY SETTING parts_to_throw_insert = 1");
    store.store("first", LogBatches.some(1, 10));

    assertThat(store.store("t", batches))
        .asInstanceOf(type(TryLater.class))
        .extracting(TryLater::reason)
        .asString()
        .contains("TOO_MANY_PARTS");
  }

  private void until(Outcome wanted, String token) {
    await().atMost(Duration.ofSeconds(60)).until(() -> store.store(token, batches).equals(wanted));
  }
}
