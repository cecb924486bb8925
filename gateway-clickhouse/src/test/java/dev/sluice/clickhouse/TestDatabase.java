package dev.sluice.clickhouse;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.clickhouse.ClickHouseSettings.Indexes;
import dev.sluice.engines.EmbeddedClickHouse;
import dev.sluice.testkit.SharedEngines;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Direct access to the ClickHouse of this JVM. Tests run sequentially, and each starts without
 * tables.
 */
final class TestDatabase {
  private static final int MAX_INSERT_BYTES = 256 << 20;

  /**
   * Starts the engine at the first use. Tests stop merges and read logs, which the gateway may not.
   */
  private static final class Client {
    static final ClickHouseClient CLIENT =
        new ClickHouseClient(
            new ClickHouseSettings(
                url(),
                EmbeddedClickHouse.ADMINISTRATOR,
                SharedEngines.clickHouse().password(),
                "default",
                Duration.ofSeconds(60),
                Duration.ofSeconds(30),
                MAX_INSERT_BYTES,
                Indexes.BODY,
                null,
                null));
  }

  private TestDatabase() {}

  static ClickHouseSettings settings() {
    return settings(url());
  }

  static ClickHouseSettings settings(String url) {
    return settings(url, "sluice", MAX_INSERT_BYTES, Indexes.BODY, null, null);
  }

  static ClickHouseSettings settings(String url, String password) {
    return settings(url, password, MAX_INSERT_BYTES, Indexes.BODY, null, null);
  }

  static ClickHouseSettings settings(int maxInsertBytes) {
    return settings(url(), "sluice", maxInsertBytes, Indexes.BODY, null, null);
  }

  static ClickHouseSettings settings(Indexes indexes) {
    return settings(url(), "sluice", MAX_INSERT_BYTES, indexes, null, null);
  }

  static ClickHouseSettings settings(
      @Nullable Duration retention, @Nullable Duration deadLetterRetention) {
    return settings(
        url(), "sluice", MAX_INSERT_BYTES, Indexes.BODY, retention, deadLetterRetention);
  }

  static ClickHouseSettings settings(
      String url,
      String password,
      int maxInsertBytes,
      Indexes indexes,
      @Nullable Duration retention,
      @Nullable Duration deadLetterRetention) {
    return new ClickHouseSettings(
        url,
        "sluice",
        password,
        "default",
        Duration.ofSeconds(60),
        Duration.ofSeconds(30),
        maxInsertBytes,
        indexes,
        retention,
        deadLetterRetention);
  }

  private static String url() {
    return SharedEngines.clickHouse().url();
  }

  static void dropAllTables() {
    dropAllTables(Client.CLIENT);
  }

  static void dropAllTables(ClickHouseClient client) {
    client.execute("DROP VIEW IF EXISTS log_template_newest_view SYNC");
    client.execute("DROP TABLE IF EXISTS log_template_newest SYNC");
    client.execute("DROP VIEW IF EXISTS log_template_times_view SYNC");
    client.execute("DROP TABLE IF EXISTS log_template_times SYNC");
    client.execute("DROP VIEW IF EXISTS log_template_counts_view SYNC");
    client.execute("DROP TABLE IF EXISTS log_template_counts SYNC");
    client.execute("DROP TABLE IF EXISTS log_template_vectors_3 SYNC");
    client.execute("DROP TABLE IF EXISTS log_template_vectors_384 SYNC");
    client.execute("DROP TABLE IF EXISTS log_dead_letters SYNC");
    client.execute("DROP TABLE IF EXISTS log_templates SYNC");
    client.execute("DROP TABLE IF EXISTS log_texts SYNC");
    client.execute("DROP TABLE IF EXISTS otel_logs SYNC");
    client.execute("DROP TABLE IF EXISTS sluice_migrations SYNC");
  }

  static void execute(String sql) {
    Client.CLIENT.execute(sql);
  }

  /** Returns the response as tab-separated text. */
  static String query(String sql) {
    return Client.CLIENT
        .query(
            sql + " FORMAT TSVRaw",
            Map.of(),
            Map.of(),
            settings().queryTimeout(),
            in -> new String(in.readAllBytes(), UTF_8))
        .strip();
  }
}
