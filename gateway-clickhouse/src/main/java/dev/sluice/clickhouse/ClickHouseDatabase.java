package dev.sluice.clickhouse;

import dev.sluice.query.port.LogReader;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The ClickHouse database of Sluice: the connections, and the schema of the tables, which are
 * created or migrated before their first use. {@link ClickHouseLogWriter}, {@link
 * ClickHouseLogReader} and the other adapters of this package share it.
 *
 * <p>The constructor needs no ClickHouse. Safe for use by many threads; all methods but the
 * constructor and {@link #close} block.
 */
public final class ClickHouseDatabase implements AutoCloseable {
  private static final Duration PING_TIMEOUT = Duration.ofSeconds(1);

  /**
   * Settings of each query: limits that reserve memory and cores for inserts (ADR 0038), and a
   * query size that fits ten thousand ids.
   */
  private static final Map<String, String> QUERY_SETTINGS =
      Map.of(
          "max_memory_usage",
          String.valueOf(2L << 30),
          "max_threads",
          "2",
          "use_uncompressed_cache",
          "0",
          "max_query_size",
          String.valueOf(4 << 20));

  /** Settings of a query whose result is optional. */
  private static final Map<String, String> SHORT_TIMEOUT_SETTINGS = shortTimeoutSettings();

  private static final int TIMEOUT_EXCEEDED = 159;
  private static final int MEMORY_LIMIT_EXCEEDED = 241;

  private final ClickHouseSettings settings;
  private final ClickHouseClient client;
  private final SchemaMigrator migrator;

  public ClickHouseDatabase(ClickHouseSettings settings) {
    this.settings = settings;
    client = new ClickHouseClient(settings);
    migrator = new SchemaMigrator(client, settings);
  }

  ClickHouseSettings settings() {
    return settings;
  }

  ClickHouseClient client() {
    return client;
  }

  SchemaMigrator migrator() {
    return migrator;
  }

  /**
   * Creates or migrates the tables now instead of before their first use.
   *
   * @throws RuntimeException when ClickHouse is unavailable or rejects the migration; a later call
   *     may succeed
   */
  public void migrate() throws InterruptedException {
    migrator.ensureMigrated();
  }

  private static Map<String, String> shortTimeoutSettings() {
    var shortTimeout = new HashMap<>(QUERY_SETTINGS);
    shortTimeout.put("max_execution_time", "1");
    return Map.copyOf(shortTimeout);
  }

  /** Runs a query of a client, which needs the reason of a failure. */
  <T> T query(String sql, Map<String, String> parameters, ClickHouseClient.ResponseReader<T> reader)
      throws InterruptedException {
    return query(sql, parameters, QUERY_SETTINGS, reader);
  }

  /** Runs a query whose result is optional, for one second at most. */
  <T> T queryWithShortTimeout(
      String sql, Map<String, String> parameters, ClickHouseClient.ResponseReader<T> reader)
      throws InterruptedException {
    return query(sql, parameters, SHORT_TIMEOUT_SETTINGS, reader);
  }

  private <T> T query(
      String sql,
      Map<String, String> parameters,
      Map<String, String> querySettings,
      ClickHouseClient.ResponseReader<T> reader)
      throws InterruptedException {
    migrator.ensureMigrated();
    try {
      return client.query(sql, parameters, querySettings, settings.queryTimeout(), reader);
    } catch (ClickHouseException e) {
      onFailure(e);
      var failed = e.withoutDetail();
      if (e.code() == TIMEOUT_EXCEEDED) {
        throw new LogReader.QueryTooExpensiveException("more time than a query may take", failed);
      }
      if (e.code() == MEMORY_LIMIT_EXCEEDED && !e.isServerMemoryLimit()) {
        throw new LogReader.QueryTooExpensiveException("more memory than a query may take", failed);
      }
      throw failed;
    }
  }

  /**
   * Runs a query of the gateway itself, whose failure is not that of a client.
   *
   * @throws ClickHouseException when it fails
   */
  <T> T internalQuery(
      String sql, Map<String, String> parameters, ClickHouseClient.ResponseReader<T> reader) {
    return client.query(sql, parameters, QUERY_SETTINGS, settings.queryTimeout(), reader);
  }

  /** Invalidates the migrated schema after a schema mismatch. */
  void onFailure(ClickHouseException e) throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    if (e.kind() == ClickHouseException.FailureKind.SCHEMA_MISMATCH) {
      migrator.invalidate();
    }
  }

  /**
   * Returns the reason for which ClickHouse does not respond; empty when it responds. Takes a few
   * seconds at most.
   */
  public Optional<String> unavailableReason() {
    try {
      client.query("SELECT 1", Map.of(), Map.of(), PING_TIMEOUT, in -> in.readAllBytes().length);
      return Optional.empty();
    } catch (ClickHouseException e) {
      return Optional.of(e.text());
    }
  }

  /** Closes the connections; requests in flight fail. */
  @Override
  public void close() {
    client.close();
  }
}
