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
 * Brings the tables to the version this release needs, the first time they are needed and again
 * after they were found missing.
 *
 * <p>Each version is a file of statements that can be repeated, and that several instances may run
 * at the same time: they end in the same tables. A version is recorded after its last statement, so
 * that one which was broken off is run again. Safe for use by many threads.
 */
final class SchemaMigrator {
  private static final Logger LOG = LoggerFactory.getLogger(SchemaMigrator.class);
  private static final Duration QUERY_TIMEOUT = Duration.ofSeconds(30);

  /** One day since LastSeen is exact to the day of receipt, and one to spare. */
  private static final Duration TEXT_RETENTION_MARGIN = Duration.ofDays(2);

  /**
   * In the order they are run; a file never changes once it was released. What a new table is
   * sorted by, and how fine its index is, are the exceptions, which no later file could change:
   * older tables stay as they were.
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
          "V10__newest_of_one_log.sql");

  private static final String KNOWS_MARKER = "-- KNOWS ";
  private static final int ACCESS_DENIED = 497;

  private final ClickHouseClient client;
  private final ClickHouseSettings settings;
  private final ReentrantLock migrationLock = new ReentrantLock();
  private volatile boolean ready;

  SchemaMigrator(ClickHouseClient client, ClickHouseSettings settings) {
    this.client = client;
    this.settings = settings;
  }

  /** Returns at once when the tables are known to be there, else sees to it. */
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

  /** The tables turned out not to be as they should: {@link #ensureMigrated} looks again. */
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
      LOG.info("ClickHouse schema is at {}", name);
    }
    applyRetention();
  }

  /**
   * Runs the statements of a file.
   *
   * @param values by what stands for them in it
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
   * Whether the records of the bookkeeping can be believed: someone may have dropped a table. A
   * database that never had the later ones is not whole either, and runs all versions once more.
   */
  private boolean isComplete() {
    return queryInt(
            """
            SELECT
              countIf(table = 'otel_logs'
                AND name IN ('Id', 'EventName', 'ReceivedTimestamp', 'ResourceId')) = 4
              AND uniqExact(table) = 9
            FROM system.columns
            WHERE database = currentDatabase() AND table IN ('otel_logs', 'log_templates',
              'log_texts', 'log_template_counts', 'log_template_counts_view',
              'log_template_times', 'log_template_times_view',
              'log_template_newest', 'log_template_newest_view')""")
        == 1;
  }

  /**
   * Texts outlive the logs that refer to them; templates stay, since one may stand for another that
   * is still in use.
   */
  private void applyRetention() {
    var retention = settings.retention();
    applyRetention("otel_logs", "ReceivedTimestamp", retention);
    applyRetention("log_template_newest", "WrittenAt", retention);
    applyRetention(
        "log_texts", "LastSeen", retention == null ? null : retention.plus(TEXT_RETENTION_MARGIN));
  }

  /** The TTL follows the setting, and one that is not ours stays when nothing is set. */
  private void applyRetention(String table, String time, @Nullable Duration retention) {
    var engine =
        queryText(
            "SELECT engine_full FROM system.tables"
                + " WHERE database = currentDatabase() AND name = '%s'".formatted(table));
    var ownTtl = "TTL toDateTime(%s) + toIntervalSecond(".formatted(time);
    if (retention == null) {
      if (engine.contains(ownTtl)) {
        client.execute("ALTER TABLE %s REMOVE TTL".formatted(table));
        LOG.info("{} is kept for ever from now on", table);
      }
      return;
    }
    var ownTtlWithRetention = "%s%d)".formatted(ownTtl, retention.toSeconds());
    if (!engine.contains(ownTtlWithRetention)) {
      client.execute("ALTER TABLE %s MODIFY %s".formatted(table, ownTtlWithRetention));
      LOG.info("{} is kept for {} from now on", table, retention);
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
   * The statements of a file. They end with a semicolon at the end of a line; a line that ends with
   * {@code -- BODY} or {@code -- COLLECTOR} belongs to that choice of indexes only, and one that
   * ends with {@code -- KNOWS} and the name of a table's setting to a ClickHouse that has it, now.
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
        throw e; // it is asked again
      }
      LOG.info("{} is left as it is, nobody says whether it exists: {}", setting, e.getMessage());
      return false; // it saves something, and is no reason to store nothing
    }
  }

  private static String resource(String name) {
    try (var in = SchemaMigrator.class.getResourceAsStream("/schema/" + name)) {
      if (in == null) {
        throw new IllegalStateException("the jar lacks schema/" + name);
      }
      return new String(in.readAllBytes(), UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
