package dev.sluice.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.clickhouse.ClickHouseSettings.Indexes;
import dev.sluice.core.port.LogStore.StoreResult;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader.Query;
import dev.sluice.testkit.LogBatches;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(120)
final class SchemaMigratorIT {
  private static final List<String> COLLECTORS =
      List.of(
          "Timestamp",
          "TraceId",
          "SpanId",
          "TraceFlags",
          "SeverityText",
          "SeverityNumber",
          "ServiceName",
          "Body",
          "ResourceSchemaUrl",
          "ResourceAttributes",
          "ScopeSchemaUrl",
          "ScopeName",
          "ScopeVersion",
          "ScopeAttributes",
          "LogAttributes",
          "EventName");

  /** A table of the Collector, which is partitioned by event day. */
  static final String COLLECTORS_TABLE =
      """
      CREATE TABLE otel_logs (
        Timestamp DateTime64(9) CODEC(Delta(8), ZSTD(1)),
        TraceId String CODEC(ZSTD(1)),
        SpanId String CODEC(ZSTD(1)),
        TraceFlags UInt8,
        SeverityText LowCardinality(String) CODEC(ZSTD(1)),
        SeverityNumber UInt8,
        ServiceName LowCardinality(String) CODEC(ZSTD(1)),
        Body String CODEC(ZSTD(1)),
        ResourceSchemaUrl LowCardinality(String) CODEC(ZSTD(1)),
        ResourceAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
        ScopeSchemaUrl LowCardinality(String) CODEC(ZSTD(1)),
        ScopeName String CODEC(ZSTD(1)),
        ScopeVersion LowCardinality(String) CODEC(ZSTD(1)),
        ScopeAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
        LogAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
        `__otel_materialized_k8s.pod.name` LowCardinality(String)
          MATERIALIZED ResourceAttributes['k8s.pod.name'] CODEC(ZSTD(1))
      ) ENGINE = MergeTree
      PARTITION BY toDate(Timestamp)
      ORDER BY (toStartOfFiveMinutes(Timestamp), ServiceName, Timestamp)
      SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1""";

  @BeforeEach
  void empty() {
    TestDatabase.dropAllTables();
  }

  @Test
  void migrate_emptyDatabase_createsTheCollectorsColumnsFirst() throws Exception {
    migrate(TestDatabase.settings());

    assertThat(
            TestDatabase.query(
                    "SELECT name FROM system.columns WHERE table = 'otel_logs' ORDER BY position")
                .lines())
        .startsWith(COLLECTORS.toArray(String[]::new))
        .contains(
            "Id", "Tenant", "TemplateId", "ObservedTimestamp", "ReceivedTimestamp", "ResourceId");
    assertThat(TestDatabase.query("SELECT engine_full FROM system.tables WHERE name = 'otel_logs'"))
        .contains(
            "PARTITION BY (toDate(ReceivedTimestamp), abs(",
            "ORDER BY (toStartOfFiveMinutes(Timestamp), ServiceName, Id)",
            "index_granularity = 8192",
            "ttl_only_drop_parts = 1",
            "non_replicated_deduplication_window = 1000",
            "min_parts_to_merge_at_once = 32",
            "merge_selector_base = 32",
            "auto_statistics_types = ''")
        .doesNotContain("TTL");
    assertThat(resourceCodec()).isEqualTo("CODEC(LZ4)");
    assertThat(TestDatabase.query("SELECT max(Version) FROM sluice_migrations")).isEqualTo("12");
  }

  private static String resourceCodec() {
    return TestDatabase.query(
        "SELECT compression_codec FROM system.columns"
            + " WHERE table = 'otel_logs' AND name = 'ResourceAttributes'");
  }

  @Test
  void migrate_again_changesNothing() throws Exception {
    migrate(TestDatabase.settings());
    var before = tables();

    migrate(TestDatabase.settings());

    assertThat(tables()).isEqualTo(before);
    assertThat(TestDatabase.query("SELECT count() FROM sluice_migrations")).isEqualTo("12");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "otel_logs",
        "log_templates",
        "log_texts",
        "log_template_counts",
        "log_template_counts_view",
        "log_template_times",
        "log_template_times_view",
        "log_template_newest",
        "log_template_newest_view"
      })
  void migrate_tableDropped_isRecreated(String table) throws Exception {
    migrate(TestDatabase.settings());
    var before = tables();
    TestDatabase.execute("DROP TABLE " + table + " SYNC");

    migrate(TestDatabase.settings());

    assertThat(tables()).isEqualTo(before);
  }

  @Test
  void migrate_manyInstancesConcurrently_endInOneTable() throws Exception {
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var tasks =
          IntStream.range(0, 8)
              .<Callable<StoreResult>>mapToObj(
                  i ->
                      () -> {
                        try (var database = new ClickHouseDatabase(TestDatabase.settings())) {
                          var store = new ClickHouseLogWriter(database);
                          database.migrate();
                          return store.store("from " + i, LogBatches.list(1, 10));
                        }
                      })
              .toList();
      for (var outcome : threads.invokeAll(tasks)) {
        assertThat(outcome.get()).isEqualTo(new StoreResult.Stored());
      }
    }

    assertThat(TestDatabase.query("SELECT count() FROM otel_logs")).isEqualTo("80");
    assertThat(TestDatabase.query("SELECT max(Version) FROM sluice_migrations")).isEqualTo("12");
  }

  @Test
  void migrate_tableOfTheCollector_getsMissingColumnsAndKeepsItsRows() throws Exception {
    TestDatabase.execute(COLLECTORS_TABLE);
    TestDatabase.execute(
        "INSERT INTO otel_logs (Timestamp, ServiceName, Body, ResourceAttributes)"
            + " VALUES ('2026-01-15 08:00:00.5', 'old', 'before', {'k8s.pod.name': 'p'})");

    try (var database = new ClickHouseDatabase(TestDatabase.settings())) {
      var store = new ClickHouseLogWriter(database);
      database.migrate();
      assertThat(store.store("t", LogBatches.list(1, 10))).isEqualTo(new StoreResult.Stored());
      var old =
          new ClickHouseLogReader(database)
              .read(new Query(LogFilter.of("default").service("old").build(), 10, null))
              .logs()
              .getFirst();

      assertThat(old.body()).isEqualTo("before");
      assertThat(old.receivedNanos()).isEqualTo(old.timeNanos());
      assertThat(store.storedRecords()).isEqualTo(10); // without the rows of the Collector
    }
    assertThat(
            TestDatabase.query(
                "SELECT `__otel_materialized_k8s.pod.name` FROM otel_logs WHERE ServiceName ="
                    + " 'old'"))
        .isEqualTo("p");
    assertThat(engine())
        .contains(
            "PARTITION BY toDate(Timestamp)",
            "ServiceName, Timestamp)",
            "min_parts_to_merge_at_once = 32");
    assertThat(resourceCodec()).isEqualTo("CODEC(LZ4)");
  }

  @Test
  void migrate_collectorIndexes_materializesAndIndexesLikeTheCollector() throws Exception {
    migrate(TestDatabase.settings(Indexes.COLLECTOR));

    assertThat(
            TestDatabase.query(
                "SELECT count() FROM system.columns"
                    + " WHERE table = 'otel_logs' AND default_kind = 'MATERIALIZED'"))
        .isEqualTo("8");
    assertThat(
            TestDatabase.query(
                "SELECT count() FROM system.data_skipping_indices"
                    + " WHERE table = 'otel_logs' AND type = 'text'"))
        .isEqualTo("8");
  }

  @Test
  void migrate_defaultIndexes_derivesTheCollectorsColumnsOnRead() throws Exception {
    migrate(TestDatabase.settings());

    assertThat(
            TestDatabase.query(
                "SELECT count() FROM system.columns"
                    + " WHERE table = 'otel_logs' AND default_kind = 'ALIAS'"))
        .isEqualTo("8");
    assertThat(
            TestDatabase.query(
                "SELECT arraySort(groupArray(name)) FROM system.data_skipping_indices"
                    + " WHERE table = 'otel_logs'"))
        .isEqualTo("['idx_id','idx_lower_body','idx_received','idx_timestamp','idx_trace_id']");
  }

  @Test
  void migrate_retentionSetChangedAndRemoved_becomesTheTablesTtl() throws Exception {
    migrate(TestDatabase.settings(Duration.ofDays(3), null));
    assertThat(engine()).contains("TTL toDateTime(ReceivedTimestamp) + toIntervalSecond(259200)");
    assertThat(engine("log_texts")).contains("TTL toDateTime(LastSeen) + toIntervalSecond(432000)");
    assertThat(engine("log_template_newest"))
        .contains("TTL toDateTime(WrittenAt) + toIntervalSecond(259200)");

    migrate(TestDatabase.settings(Duration.ofHours(1), null));
    assertThat(engine()).contains("TTL toDateTime(ReceivedTimestamp) + toIntervalSecond(3600)");
    assertThat(engine("log_texts")).contains("TTL toDateTime(LastSeen) + toIntervalSecond(176400)");
    assertThat(engine("log_template_newest"))
        .contains("TTL toDateTime(WrittenAt) + toIntervalSecond(3600)");
    assertThat(engine("log_templates")).doesNotContain("TTL");

    migrate(TestDatabase.settings());
    assertThat(engine()).doesNotContain("TTL");
    assertThat(engine("log_texts")).doesNotContain("TTL");
    assertThat(engine("log_template_newest")).doesNotContain("TTL");
  }

  @Test
  void migrate_foreignTtlAndNoRetention_stays() throws Exception {
    migrate(TestDatabase.settings());
    TestDatabase.execute(
        "ALTER TABLE log_template_newest MODIFY TTL toDateTime(WrittenAt) + INTERVAL 30 DAY");

    migrate(TestDatabase.settings());

    assertThat(engine("log_template_newest")).contains("TTL toDateTime(WrittenAt)");
  }

  /** Texts that were last seen before the retention expire; texts that were seen since stay. */
  @Test
  void migrate_retention_expiresUnreferencedTexts() throws Exception {
    migrate(TestDatabase.settings(Duration.ofDays(30), null));
    TestDatabase.execute(
        """
        INSERT INTO log_texts (Tenant, Kind, TextId, Text, FirstSeen, LastSeen) VALUES
          ('t', 'TEXT', generateUUIDv4(), 'long ago', now() - 33 * 86400, now() - 33 * 86400),
          ('t', 'RESOURCE', generateUUIDv4(), 'long ago', now() - 33 * 86400, now() - 33 * 86400),
          ('t', 'TEXT', generateUUIDv4(), 'old but in use', now() - 99 * 86400, now() - 86400),
          ('t', 'TEXT', generateUUIDv4(), 'margin', now() - 31 * 86400, now() - 31 * 86400)""");

    TestDatabase.execute("OPTIMIZE TABLE log_texts FINAL");

    assertThat(TestDatabase.query("SELECT arraySort(groupArray(Text)) FROM log_texts"))
        .isEqualTo("['margin','old but in use']");
  }

  /** Returns the statements that create the tables, as ClickHouse reports them. */
  private static String tables() {
    return TestDatabase.query(
        "SELECT name, create_table_query FROM system.tables"
            + " WHERE database = currentDatabase() ORDER BY name");
  }

  private static String engine() {
    return engine("otel_logs");
  }

  private static String engine(String table) {
    return TestDatabase.query(
        "SELECT engine_full FROM system.tables WHERE name = '%s'".formatted(table));
  }

  private static void migrate(ClickHouseSettings settings) throws InterruptedException {
    try (var database = new ClickHouseDatabase(settings)) {
      database.migrate();
    }
  }
}
