package dev.sluice.clickhouse;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.clickhouse.ClickHouseSettings.Indexes;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Migrates the ClickHouse schema to the version that this release needs, before the first use of
 * the tables and again after a schema mismatch.
 *
 * <p>Each version is a file of idempotent statements, which several gateways may run concurrently
 * with the same result. A version is recorded after its last statement, so that an interrupted
 * version runs again. Safe for use by many threads.
 */
final class SchemaMigrator {
  private static final Logger LOG = LoggerFactory.getLogger(SchemaMigrator.class);
  private static final Duration QUERY_TIMEOUT = Duration.ofSeconds(30);

  /**
   * Time that a text outlives the logs that refer to it: one day, since LastSeen is exact to the
   * receive day, and one day in reserve.
   */
  private static final Duration TEXT_RETENTION_MARGIN = Duration.ofDays(2);

  /**
   * The versions in the order in which they run. The statements of a released file do not change,
   * except for the partition key, the sort key and the index granularity of a new table, which no
   * later file could change; existing tables keep theirs.
   */
  private static final List<String> VERSIONS =
      List.of(
          "V1__otel_logs.sql",
          "V2__missing_columns.sql",
          "V3__received_index.sql",
          "V4__dictionary.sql",
          "V5__resource_id.sql",
          "V6__template_times.sql",
          "V7__counts_by_fixed_keys.sql",
          "V8__cheaper_merges.sql",
          "V9__newest_of_templates.sql",
          "V10__newest_of_one_log.sql",
          "V11__dead_letters.sql",
          "V12__counts_by_receive_month.sql");

  private static final String KNOWS_MARKER = "-- KNOWS ";
  private static final int ACCESS_DENIED = 497;

  private final ClickHouseClient client;
  private final ClickHouseSettings settings;
  private final ReentrantLock migrationLock = new ReentrantLock();
  private volatile boolean ready;
  private volatile PartitionKey partitionKey = PartitionKey.EVENT_DAY;

  SchemaMigrator(ClickHouseClient client, ClickHouseSettings settings) {
    this.client = client;
    this.settings = settings;
  }

  /** Migrates the tables unless they are known to be complete; returns immediately otherwise. */
  void ensureMigrated() throws InterruptedException {
    if (ready) {
      return;
    }
    migrationLock.lockInterruptibly();
    try {
      if (!ready) {
        migrate();
        ready = true;
      }
    } finally {
      migrationLock.unlock();
    }
  }

  /** Returns the partition key of the tables; valid after {@link #ensureMigrated}. */
  PartitionKey partitionKey() {
    return partitionKey;
  }

  /**
   * Makes the next {@link #ensureMigrated} check the tables again; called after a schema mismatch.
   */
  void invalidate() {
    ready = false;
  }

  private void migrate() {
    client.execute(
        """
        CREATE TABLE IF NOT EXISTS sluice_migrations (
          Version UInt32,
          Name String,
          AppliedAt DateTime64(3) DEFAULT now64(3)
        ) ENGINE = ReplacingMergeTree ORDER BY Version""");
    int applied = isComplete() ? queryInt("SELECT max(Version) FROM sluice_migrations") : 0;
    for (int version = applied + 1; version <= VERSIONS.size(); version++) {
      var name = VERSIONS.get(version - 1);
      run(name, Map.of());
      client.execute(
          "INSERT INTO sluice_migrations (Version, Name) VALUES (%d, '%s')"
              .formatted(version, name));
      LOG.info("ClickHouse schema migrated: {}", name);
    }
    applyRetention();
    partitionKey = queryPartitionKey();
    if (partitionKey == PartitionKey.EVENT_DAY) {
      LOG.warn(
          "table otel_logs or log_template_counts is partitioned by event time: senders of many"
              + " different days create as many parts; see ClickHouse in docs/operations.md");
    }
  }

  /**
   * Returns the partition key that fits both tables of an insert. Only a table that this release
   * created is partitioned by receive time.
   */
  private PartitionKey queryPartitionKey() {
    return queryInt(
                """
                SELECT countIf(position(partition_key, 'Received') > 0) FROM system.tables
                WHERE database = currentDatabase()
                  AND name IN ('otel_logs', 'log_template_counts')""")
            == 2
        ? PartitionKey.RECEIVE_DAY
        : PartitionKey.EVENT_DAY;
  }

  /**
   * Runs the statements of a file.
   *
   * @param values the values by placeholder
   */
  void run(String name, Map<String, String> values) {
    for (var statement : statements(name)) {
      for (var value : values.entrySet()) {
        statement = statement.replace(value.getKey(), value.getValue());
      }
      client.execute(statement);
    }
  }

  /**
   * Whether the recorded version is reliable: a table or a column may have been dropped since. A
   * database without the tables of later versions is also incomplete, so that all versions run
   * again.
   */
  private boolean isComplete() {
    return queryInt(
            """
            SELECT
              countIf(table = 'otel_logs'
                AND name IN ('Id', 'EventName', 'ReceivedTimestamp', 'ResourceId')) = 4
              AND uniqExact(table) = 10
            FROM system.columns
            WHERE database = currentDatabase() AND table IN ('otel_logs', 'log_templates',
              'log_texts', 'log_template_counts', 'log_template_counts_view',
              'log_template_times', 'log_template_times_view',
              'log_template_newest', 'log_template_newest_view', 'log_dead_letters')""")
        == 1;
  }

  /**
   * Applies the retention. Texts outlive the logs that refer to them; templates have no retention,
   * since a template may be linked to another one that is still in use.
   */
  private void applyRetention() {
    var retention = settings.retention();
    applyRetention("otel_logs", "ReceivedTimestamp", retention);
    applyRetention("log_template_newest", "WrittenAt", retention);
    applyRetention("log_dead_letters", "ChangedAt", settings.deadLetterRetention());
    applyRetention(
        "log_texts", "LastSeen", retention == null ? null : retention.plus(TEXT_RETENTION_MARGIN));
  }

  /**
   * Sets the TTL of a table to the retention. Without a retention, removes a TTL of Sluice and
   * keeps any other TTL.
   */
  private void applyRetention(String table, String time, @Nullable Duration retention) {
    var engine =
        queryText(
            "SELECT engine_full FROM system.tables"
                + " WHERE database = currentDatabase() AND name = '%s'".formatted(table));
    var ownTtl = "TTL toDateTime(%s) + toIntervalSecond(".formatted(time);
    if (retention == null) {
      if (engine.contains(ownTtl)) {
        client.execute("ALTER TABLE %s REMOVE TTL".formatted(table));
        LOG.info("retention removed: table {} keeps its rows without limit", table);
      }
      return;
    }
    var ownTtlWithRetention = "%s%d)".formatted(ownTtl, retention.toSeconds());
    if (!engine.contains(ownTtlWithRetention)) {
      client.execute("ALTER TABLE %s MODIFY %s".formatted(table, ownTtlWithRetention));
      LOG.info("retention changed: table {} keeps its rows for {}", table, retention);
    }
  }

  private int queryInt(String sql) {
    return Integer.parseInt(queryText(sql).strip());
  }

  private String queryText(String sql) {
    return client.query(
        sql + " FORMAT TSVRaw",
        Map.of(),
        Map.of(),
        QUERY_TIMEOUT,
        in -> new String(in.readAllBytes(), UTF_8));
  }

  /**
   * Returns the statements of a file. A statement ends with a semicolon at the end of a line. A
   * line that ends with {@code -- BODY} or {@code -- COLLECTOR} applies to that choice of indexes
   * only; a line that ends with {@code -- KNOWS} and the name of a table setting applies only if
   * ClickHouse has the setting.
   */
  private List<String> statements(String name) {
    var statements = new ArrayList<String>();
    var statement = new StringBuilder();
    for (var line : resource(name).split("\n", -1)) {
      int comment = line.indexOf("--");
      var code = comment < 0 ? line : line.substring(0, comment);
      if (code.isBlank() || comment >= 0 && !isSelected(line.substring(comment))) {
        continue;
      }
      statement.append(code.stripTrailing()).append('\n');
      if (code.stripTrailing().endsWith(";")) {
        statement.setLength(statement.lastIndexOf(";"));
        statements.add(statement.toString());
        statement.setLength(0);
      }
    }
    return statements;
  }

  private boolean isSelected(String comment) {
    for (var indexes : Indexes.values()) {
      if (comment.equals("-- " + indexes)) {
        return indexes == settings.indexes();
      }
    }
    return !comment.startsWith(KNOWS_MARKER)
        || isKnownSetting(comment.substring(KNOWS_MARKER.length()));
  }

  private boolean isKnownSetting(String setting) {
    try {
      return queryInt(
              "SELECT count() FROM system.merge_tree_settings WHERE name = '%s'".formatted(setting))
          > 0;
    } catch (ClickHouseException e) {
      if (e.code() != ACCESS_DENIED) {
        throw e; // the next migration retries
      }
      LOG.info(
          "ClickHouse table setting {} not applied: no access to system.merge_tree_settings;"
              + " merges cost more without it: {}",
          setting,
          e.getMessage());
      return false; // the setting only reduces cost, so that its absence must not block inserts
    }
  }

  private static String resource(String name) {
    try (var in = SchemaMigrator.class.getResourceAsStream("/schema/" + name)) {
      if (in == null) {
        throw new IllegalStateException("resource missing in the jar: schema/" + name);
      }
      return new String(in.readAllBytes(), UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
