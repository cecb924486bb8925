package dev.sluice.clickhouse;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.testkit.Engines;
import java.util.Map;

/**
 * The engine of this JVM, asked directly. Tests run one after the other and begin with no table.
 */
final class Database {
  private static final ClickHouseHttp HTTP = new ClickHouseHttp(settings());

  private Database() {}

  static ClickHouseSettings settings() {
    return ClickHouseSettings.of(Engines.clickHouse().url(), "sluice", "sluice");
  }

  static void empty() {
    empty(HTTP);
  }

  static void empty(ClickHouseHttp http) {
    http.execute("DROP VIEW IF EXISTS log_template_newest_view SYNC");
    http.execute("DROP TABLE IF EXISTS log_template_newest SYNC");
    http.execute("DROP VIEW IF EXISTS log_template_times_view SYNC");
    http.execute("DROP TABLE IF EXISTS log_template_times SYNC");
    http.execute("DROP VIEW IF EXISTS log_template_counts_view SYNC");
    http.execute("DROP TABLE IF EXISTS log_template_counts SYNC");
    http.execute("DROP TABLE IF EXISTS log_template_vectors_3 SYNC");
    http.execute("DROP TABLE IF EXISTS log_template_vectors_384 SYNC");
    http.execute("DROP TABLE IF EXISTS log_templates SYNC");
    http.execute("DROP TABLE IF EXISTS log_texts SYNC");
    http.execute("DROP TABLE IF EXISTS otel_logs SYNC");
    http.execute("DROP TABLE IF EXISTS sluice_migrations SYNC");
  }

  static void execute(String sql) {
    HTTP.execute(sql);
  }

  /** The answer as tab-separated text. */
  static String ask(String sql) {
    return HTTP.query(
            sql + " FORMAT TSVRaw",
            Map.of(),
            Map.of(),
            settings().queryTimeout(),
            in -> new String(in.readAllBytes(), UTF_8))
        .strip();
  }
}
