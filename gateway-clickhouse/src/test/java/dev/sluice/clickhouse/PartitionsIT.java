package dev.sluice.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.port.LogStore.StoreResult;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader.Query;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that a sender cannot choose the number of parts. */
@Timeout(120)
final class PartitionsIT {
  private final ClickHouseDatabase database = new ClickHouseDatabase(TestDatabase.settings());
  private final ClickHouseLogWriter store = new ClickHouseLogWriter(database);

  @BeforeEach
  void empty() {
    TestDatabase.dropAllTables();
  }

  @AfterEach
  void close() {
    database.close();
  }

  @Test
  void store_requestOfManyEventDays_isTwoPartsAndReadable() throws Exception {
    assertThat(store.store("t", List.of(InsertPacerIT.ofDays(30_000))))
        .isEqualTo(new StoreResult.Stored());

    assertThat(partitions("otel_logs")).isEqualTo(2); // near and far from the receive time
    assertThat(TestDatabase.query("SELECT uniqExact(toDate32(Timestamp)) FROM otel_logs"))
        .isEqualTo("30000");
    long day = Duration.ofDays(18_000 + 12_345).toNanos();
    var found =
        new ClickHouseLogReader(database)
            .read(new Query(LogFilter.of("default").from(day - 1).to(day + 1).build(), 10, null));
    assertThat(found.logs()).hasSize(1);
  }

  /** The counts of templates are a table of their own. */
  @Test
  void insert_templatesOfManyEventDays_areTwoPartsOfCounts() throws Exception {
    database.migrate();

    TestDatabase.execute(
        """
        INSERT INTO otel_logs (Timestamp, ReceivedTimestamp, ServiceName, TemplateId)
        SELECT toDateTime64('1970-01-02 00:00:00', 9) + INTERVAL number DAY,
          '2026-11-25 10:00:00', 's', toUUID('d41d8cd9-8f00-b204-e980-0998ecf8427e')
        FROM numbers(60000)""");

    assertThat(partitions("otel_logs")).isEqualTo(2);
    assertThat(partitions("log_template_counts")).isEqualTo(2);
    assertThat(TestDatabase.query("SELECT sum(Logs), uniqExact(Minute) FROM log_template_counts"))
        .isEqualTo("60000\t60000");
  }

  /** Records far from their receive time must not widen the times of the other parts. */
  @Test
  void insert_recordsOfOtherTimes_leaveTheTimesOfOtherPartsNarrow() throws Exception {
    database.migrate();

    TestDatabase.execute(
        """
        INSERT INTO otel_logs (Timestamp, ReceivedTimestamp)
        SELECT if(number % 2 = 0, toDateTime64('2026-11-25 10:00:00', 9),
            toDateTime64('1990-01-01 00:00:00', 9) + INTERVAL number DAY),
          '2026-11-25 10:00:01'
        FROM numbers(1000)""");

    assertThat(
            TestDatabase.query(
                """
                SELECT count() FROM (
                  SELECT _part, min(Timestamp) AS first, max(Timestamp) AS last FROM otel_logs
                  GROUP BY _part)
                WHERE last - first < 86400"""))
        .isEqualTo("1");
    assertThat(
            TestDatabase.query(
                """
                SELECT max(rows) FROM system.parts
                WHERE database = currentDatabase() AND table = 'otel_logs' AND active"""))
        .isEqualTo("500");
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 60})
  void store_tableOfTheCollector_splitsByEventDay(int days) throws Exception {
    TestDatabase.execute(SchemaMigratorIT.COLLECTORS_TABLE);

    assertThat(store.store("t", List.of(InsertPacerIT.ofDays(days))))
        .isEqualTo(new StoreResult.Stored());

    assertThat(partitions("otel_logs")).isEqualTo(days);
    assertThat(store.storedRecords()).isEqualTo(days);
  }

  /** Returns the number of partitions; an insert creates a part in each of its partitions. */
  private static int partitions(String table) {
    return Integer.parseInt(
        TestDatabase.query(
            """
            SELECT uniqExact(partition_id) FROM system.parts
            WHERE database = currentDatabase() AND table = '%s' AND active"""
                .formatted(table)));
  }
}
