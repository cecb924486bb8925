package dev.sluice.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import dev.sluice.core.delivery.DeadLetterReplayer;
import dev.sluice.core.delivery.DeadLetterReplayer.ReplayResult;
import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.RecordIds;
import dev.sluice.core.port.DeadLetterStore;
import dev.sluice.core.port.DeadLetterStore.DeadLetterCounts;
import dev.sluice.core.port.LogStore.DeliverySlice;
import dev.sluice.core.port.LogStore.StoreResult;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.SpoolConsumer.Delivery;
import dev.sluice.core.port.WriteResult;
import dev.sluice.testkit.DeadLetterStoreContract;
import dev.sluice.testkit.InMemorySpool;
import dev.sluice.testkit.LogBatches;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ClickHouseDeadLetterStoreIT extends DeadLetterStoreContract {
  private static final Instant REJECTED_AT = Instant.parse("2026-03-04T05:06:07.089Z");

  private final ClickHouseDatabase database = new ClickHouseDatabase(TestDatabase.settings());
  private final ClickHouseLogWriter logStore = new ClickHouseLogWriter(database);
  private final DeadLetterStore deadLetterStore;

  ClickHouseDeadLetterStoreIT() {
    TestDatabase.dropAllTables();
    deadLetterStore = new ClickHouseDeadLetterStore(database);
  }

  @AfterEach
  void close() {
    database.close();
  }

  @Override
  protected DeadLetterStore deadLetterStore() {
    return deadLetterStore;
  }

  private static WriteResult write(DeadLetterStore store, LogBatch log) throws Exception {
    return store.write(
        new Delivery("1-0", List.of(log), false),
        List.of(new DeadLetter(log, "ClickHouse error 469", 469, REJECTED_AT)));
  }

  @Test
  void state_eachStep_isReadableAsText() throws Exception {
    var log = LogBatches.of(1);
    write(deadLetterStore, log);
    assertThat(row()).isEqualTo("dead-lettered\t0\t469\t1");

    deadLetterStore.startReplay(deadLetterStore.list(null, 1).getFirst().letter());
    assertThat(row()).isEqualTo("replaying\t0\t469\t1");

    deadLetterStore.completeReplay(log.firstId());
    assertThat(row()).isEqualTo("replayed\t0\t469\t0");

    var other = LogBatches.of(1);
    write(deadLetterStore, other);
    deadLetterStore.purge(other.firstId());
    assertThat(
            TestDatabase.query(
                "SELECT State, length(Otlp) FROM log_dead_letters FINAL WHERE Id = unhex('%s')"
                    .formatted(other.firstId().toHex())))
        .isEqualTo("purged\t0");
  }

  private static String row() {
    return TestDatabase.query(
        "SELECT State, Replays, Code, notEmpty(Otlp) FROM log_dead_letters FINAL");
  }

  @Test
  void rows_merged_areTheSame() throws Exception {
    write(deadLetterStore, LogBatches.of(1));
    var purged = LogBatches.of(1);
    write(deadLetterStore, purged);
    deadLetterStore.purge(purged.firstId());

    TestDatabase.execute("OPTIMIZE TABLE log_dead_letters FINAL");

    assertThat(TestDatabase.query("SELECT count() FROM log_dead_letters")).isEqualTo("2");
    assertThat(deadLetterStore.counts()).isEqualTo(new DeadLetterCounts(1, 0, 1));
  }

  @Test
  void write_tableAltered_isASchemaMismatchAndTheDroppedTableIsCreatedAgain() throws Exception {
    write(deadLetterStore, LogBatches.of(1));
    TestDatabase.execute("DROP TABLE log_dead_letters SYNC");

    assertThat(write(deadLetterStore, LogBatches.of(1)))
        .isInstanceOf(WriteResult.SchemaMismatch.class);
    assertThat(write(deadLetterStore, LogBatches.of(1))).isEqualTo(new WriteResult.Written());

    assertThat(deadLetterStore.counts()).isEqualTo(new DeadLetterCounts(1, 0, 0));
  }

  /** Not even the dead letter can be written: it must not be lost. */
  @Test
  void write_rejected_isRetryable() throws Exception {
    database.migrate();
    TestDatabase.execute(
        "ALTER TABLE log_dead_letters ADD CONSTRAINT none CHECK Tenant = 'nobody'");

    assertThat(write(deadLetterStore, LogBatches.of(1)))
        .asInstanceOf(type(WriteResult.Retryable.class))
        .extracting(WriteResult.Retryable::reason)
        .asString()
        .contains("469");
  }

  @Test
  void migrate_retentionOfDeadLetters_isTheTtlOfTheTable() throws Exception {
    var settings = TestDatabase.settings(null, Duration.ofDays(30));
    try (var database = new ClickHouseDatabase(settings)) {
      database.migrate();
    }
    assertThat(engine()).contains("TTL toDateTime(ChangedAt) + toIntervalSecond(2592000)");

    try (var database = new ClickHouseDatabase(TestDatabase.settings())) {
      database.migrate();
    }
    assertThat(engine()).doesNotContain("TTL");
  }

  private static String engine() {
    return TestDatabase.query(
        "SELECT engine_full FROM system.tables"
            + " WHERE database = currentDatabase() AND name = 'log_dead_letters'");
  }

  /**
   * A gateway is killed between the append of a replay and its completion, and the spool has
   * forgotten the append before an operator repeats the replay.
   */
  @Test
  void replay_repeatedAfterTheSpoolForgotTheAppend_isStoredOnce() throws Exception {
    var log = LogBatches.of(1);
    write(deadLetterStore, log);
    var item = deadLetterStore.find(log.firstId()).orElseThrow();
    deadLetterStore.startReplay(item.letter());
    var spool = new InMemorySpool();
    spool.append(item.letter().log(), AppendMode.POSSIBLE_DUPLICATE);
    var first = spool.consumer().poll(Duration.ZERO, Duration.ZERO).orElseThrow();
    assertThat(logStore.store(DeliverySlice.of(first), RecordIds.NONE))
        .isEqualTo(new StoreResult.Stored());

    var restarted = new InMemorySpool();
    var open = deadLetterStore.find(log.firstId()).orElseThrow();
    assertThat(open.replayStarted()).isTrue();
    assertThat(new DeadLetterReplayer(restarted, deadLetterStore).replay(open, open.letter().log()))
        .isEqualTo(new ReplayResult.Replayed());
    for (var delivery :
        List.of(first, restarted.consumer().poll(Duration.ZERO, Duration.ZERO).orElseThrow())) {
      assertThat(logStore.store(DeliverySlice.of(delivery), RecordIds.NONE))
          .isEqualTo(new StoreResult.Stored());
      assertThat(deadLetterStore.write(delivery, List.of())).isEqualTo(new WriteResult.Written());
    }

    assertThat(logStore.storedRecords()).isEqualTo(1);
    assertThat(deadLetterStore.counts()).isEqualTo(DeadLetterCounts.NONE);
    assertThat(restarted.recordCounts().accepted()).isZero();
  }

  @Test
  void document_queries_countAndListTheDeadLetters() throws Exception {
    var log = LogBatches.of(1);
    assertThat(
            deadLetterStore.write(
                new Delivery("1-0", List.of(log), false),
                List.of(new DeadLetter(log, "ClickHouse error 469", 469, Instant.now()))))
        .isEqualTo(new WriteResult.Written());

    var statements = OperationsDoc.statements("## Dead letters");

    assertThat(TestDatabase.query(statements.get(0)))
        .startsWith("default\tdead-lettered\t469\tClickHouse error 469\t1\t");
    assertThat(TestDatabase.query(statements.get(1)))
        .startsWith(log.firstId().toHex().toUpperCase(Locale.ROOT))
        .endsWith("ClickHouse error 469\t" + log.otlp().length);
  }
}
