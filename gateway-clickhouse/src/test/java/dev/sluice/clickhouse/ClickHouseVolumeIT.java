package dev.sluice.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.OtlpFields;
import dev.sluice.core.otlp.OtlpWriter;
import dev.sluice.core.port.LogStore.StoreResult;
import dev.sluice.core.port.LogStore.StoreResult.Stored;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader.Query;
import dev.sluice.testkit.LogBatches;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests large deliveries: many attribute keys, many bytes, many blocks and many threads. */
@Timeout(120)
final class ClickHouseVolumeIT {
  private static final int KEYS_PER_RECORD = 250;

  @BeforeEach
  void empty() {
    TestDatabase.dropAllTables();
  }

  /** The numbers of the keys need one, two and four bytes. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 40, 300})
  void store_manyDistinctKeys_keepsEachWithItsValue(int records) throws Exception {
    var batch = LogBatches.of(recordsWithKeys(records), Limits.DEFAULT);

    try (var database = new ClickHouseDatabase(TestDatabase.settings())) {
      var store = new ClickHouseLogWriter(database);
      assertThat(store.store("t", List.of(batch))).isEqualTo(new Stored());

      var logs =
          new ClickHouseLogReader(database)
              .read(new Query(LogFilter.of("default").build(), 1000, null))
              .logs();
      assertThat(logs).hasSize(records);
      for (int i = 0; i < records; i++) {
        int first = (records - 1 - i) * KEYS_PER_RECORD; // newest first
        var attributes = logs.get(i).attributes();
        assertThat(attributes).hasSize(KEYS_PER_RECORD);
        for (int key = first; key < first + KEYS_PER_RECORD; key++) {
          assertThat(attributes).containsEntry("key " + key, "value " + key);
        }
      }
    }
  }

  private static byte[] recordsWithKeys(int records) {
    var out = new OtlpWriter(new ByteOutput(1 << 20));
    int resourceLogs = out.beginMessage(OtlpFields.EXPORT_LOGS_SERVICE_REQUEST_RESOURCE_LOGS);
    int scopeLogs = out.beginMessage(OtlpFields.RESOURCE_LOGS_SCOPE_LOGS);
    for (int i = 0; i < records; i++) {
      int log = out.beginMessage(OtlpFields.SCOPE_LOGS_LOG_RECORDS);
      out.writeFixed64(OtlpFields.LOG_RECORD_TIME_UNIX_NANO, 1_768_464_000_000_000_000L + i);
      for (int key = i * KEYS_PER_RECORD; key < (i + 1) * KEYS_PER_RECORD; key++) {
        out.writeAttribute(OtlpFields.LOG_RECORD_ATTRIBUTES, "key " + key, "value " + key);
      }
      out.endMessage(log);
    }
    out.endMessage(scopeLogs);
    out.endMessage(resourceLogs);
    return out.output().toByteArray();
  }

  @Test
  void store_moreThanMaxInsertBytes_isStoredOnceBySeveralInserts() throws Exception {
    var small = TestDatabase.settings(1 << 20);
    var batches = LogBatches.list(10, 2_000);

    try (var database = new ClickHouseDatabase(small)) {
      var store = new ClickHouseLogWriter(database);
      for (int i = 0; i < 2; i++) {
        assertThat(store.store("large", batches)).isEqualTo(new Stored());
        assertThat(store.storedRecords()).isEqualTo(20_000);
      }
    }

    assertThat(TestDatabase.query("SELECT uniqExact(Id) FROM otel_logs")).isEqualTo("20000");
    assertThat(
            Integer.parseInt(
                TestDatabase.query(
                    "SELECT max(max_block_number) FROM system.parts WHERE table = 'otel_logs'")))
        .isGreaterThanOrEqualTo(3);
  }

  /**
   * The number of parts determines the cost of merges: one part per insert, regardless of its
   * blocks.
   */
  @Test
  void store_severalBlocks_becomeOnePart() throws Exception {
    var batches = LogBatches.list(50, 2_000);

    try (var database = new ClickHouseDatabase(TestDatabase.settings())) {
      var store = new ClickHouseLogWriter(database);
      assertThat(store.store("large", batches)).isEqualTo(new Stored());
      assertThat(store.store("large", batches)).isEqualTo(new Stored());
    }

    assertThat(
            TestDatabase.query(
                "SELECT count(), sum(rows) FROM system.parts WHERE table = 'otel_logs' AND active"))
        .isEqualTo("1\t100000");
  }

  /**
   * The HTTP client ends the failed request as if it were complete; ClickHouse must not create a
   * part.
   */
  @Test
  void store_interruptedBetweenTwoBlocks_isRejectedByClickHouse() throws Exception {
    var good = LogBatches.of(40_000);
    var bad =
        new LogBatch(
            UUID.randomUUID(),
            good.tenant(),
            good.receivedNanos(),
            good.firstId(),
            1,
            1,
            new byte[] {10, 100, 1});

    try (var database = new ClickHouseDatabase(TestDatabase.settings())) {
      var store = new ClickHouseLogWriter(database);
      assertThat(store.store("half", List.of(good, bad))).isInstanceOf(StoreResult.Corrupt.class);

      await().until(() -> attempts(good, "ExceptionWhileProcessing") == 1);
      assertThat(attempts(good, "QueryFinish")).isZero();
      assertThat(store.storedRecords()).isZero();
    }
  }

  private static int attempts(LogBatch first, String end) {
    TestDatabase.execute("SYSTEM FLUSH LOGS");
    return Integer.parseInt(
        TestDatabase.query(
            "SELECT count() FROM system.query_log WHERE type = '%s' AND startsWith(query_id, '%s')"
                .formatted(end, first.appendId())));
  }

  @Test
  void store_manyThreadsConcurrently_storesEachDeliveryOnce() throws Exception {
    try (var database = new ClickHouseDatabase(TestDatabase.settings());
        var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var store = new ClickHouseLogWriter(database);
      var tasks =
          IntStream.range(0, 16)
              .<Callable<StoreResult>>mapToObj(
                  i -> {
                    var batches = LogBatches.list(2, 500);
                    return () -> {
                      store.store("token " + i, batches);
                      return store.store("token " + i, batches);
                    };
                  })
              .toList();

      for (var outcome : threads.invokeAll(tasks)) {
        assertThat(outcome.get()).isEqualTo(new Stored());
      }
      assertThat(store.storedRecords()).isEqualTo(16_000);
    }
  }
}
