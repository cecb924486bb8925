package dev.sluice.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests the materialized view that counts the logs of templates. */
@Timeout(60)
final class TemplateCountsTableIT {
  private static final String ONE = "d41d8cd9-8f00-b204-e980-0998ecf8427e";
  private static final String OTHER = "f96b697d-7cb7-938d-525a-2f31aaf161d0";
  private static final String NONE = "00000000-0000-0000-0000-000000000000";

  private final ClickHouseDatabase database = new ClickHouseDatabase(TestDatabase.settings());

  @BeforeEach
  void empty() throws InterruptedException {
    TestDatabase.dropAllTables();
    database.migrate();
  }

  @AfterEach
  void close() {
    database.close();
  }

  @Test
  void insert_logsWithTemplates_areCountedByTheMinute() {
    insert(
        "('2026-01-15 08:00:00', 'a', 's', 9, '%s')".formatted(ONE),
        "('2026-01-15 08:00:59.999999999', 'a', 's', 9, '%s')".formatted(ONE),
        "('2026-01-15 08:01:00', 'a', 's', 9, '%s')".formatted(ONE),
        "('2026-01-15 08:00:30', 'a', 's', 17, '%s')".formatted(ONE),
        "('2026-01-15 08:00:30', 'a', 's', 9, '%s')".formatted(OTHER),
        "('2026-01-15 08:00:30', 'a', 'other', 9, '%s')".formatted(ONE),
        "('2026-01-15 08:00:30', 'b', 's', 9, '%s')".formatted(ONE));
    insert("('2026-01-15 08:00:07', 'a', 's', 9, '%s')".formatted(ONE));

    assertThat(counts("toString(Minute)"))
        .isEqualTo(
            """
            a s %1$s 9 2026-01-15 08:00:00 3
            a s %1$s 9 2026-01-15 08:01:00 1
            a s %1$s 17 2026-01-15 08:00:00 1
            a s %2$s 9 2026-01-15 08:00:00 1
            a other %1$s 9 2026-01-15 08:00:00 1
            b s %1$s 9 2026-01-15 08:00:00 1"""
                .formatted(ONE, OTHER)
                .lines()
                .sorted()
                .reduce((before, line) -> before + "\n" + line)
                .orElseThrow());
  }

  /** The view groups by a hash of both names. */
  @Test
  void insert_namesOfTenantAndServiceSwapped_areCountedSeparately() {
    insert(
        "('2026-01-15 08:00:00', 'a', 'b', 9, '%s')".formatted(ONE),
        "('2026-01-15 08:00:00', 'b', 'a', 9, '%s')".formatted(ONE),
        "('2026-01-15 08:00:00', 'a', 'a', 9, '%s')".formatted(ONE),
        "('2026-01-15 08:00:00', 'b', 'b', 9, '%s')".formatted(ONE));

    assertThat(counts("1").lines())
        .containsExactlyInAnyOrder(
            "a b " + ONE + " 9 1 1",
            "b a " + ONE + " 9 1 1",
            "a a " + ONE + " 9 1 1",
            "b b " + ONE + " 9 1 1");
  }

  @Test
  void insert_logsWithoutTemplate_areNotCounted() {
    insert("('2026-01-15 08:00:00', 'a', 's', 9, '%s')".formatted(NONE));

    assertThat(counts("toString(Minute)")).isEmpty();
  }

  @Test
  void insert_logsBefore1970_areCountedInTheirMinutes() {
    insert(
        "('1905-02-03 04:05:00', 'a', 's', 9, '%s')".formatted(ONE),
        "('1905-02-03 04:05:59.999999999', 'a', 's', 9, '%s')".formatted(ONE),
        "('1969-12-31 23:59:59.999999999', 'a', 's', 9, '%s')".formatted(ONE),
        "('1970-01-01 00:00:00', 'a', 's', 9, '%s')".formatted(ONE));

    assertThat(counts("toString(Minute)").lines())
        .containsExactly(
            "a s " + ONE + " 9 1905-02-03 04:05:00 2",
            "a s " + ONE + " 9 1969-12-31 23:59:00 1",
            "a s " + ONE + " 9 1970-01-01 00:00:00 1");
  }

  /** The view of an older schema version. */
  @Test
  void migrate_viewThatGroupsByNames_groupsByTheirHashAndKeepsTheCounts() throws Exception {
    TestDatabase.execute(
        """
        ALTER TABLE log_template_counts_view MODIFY QUERY
        SELECT Tenant, ServiceName, TemplateId, SeverityNumber,
          toDateTime64(intDiv(toUnixTimestamp64Nano(Timestamp), 60000000000) * 60, 0) AS Minute,
          count() AS Logs
        FROM otel_logs
        WHERE notEmpty(TemplateId)
        GROUP BY Tenant, ServiceName, TemplateId, SeverityNumber, Minute""");
    TestDatabase.execute(
        "ALTER TABLE sluice_migrations DELETE WHERE Version > 6 SETTINGS mutations_sync = 1");
    insert("('2026-01-15 08:00:00', 'a', 's', 9, '%s')".formatted(ONE));
    try (var another = new ClickHouseDatabase(TestDatabase.settings())) {
      another.migrate();
    }
    insert("('2026-01-15 08:00:01', 'a', 's', 9, '%s')".formatted(ONE));

    assertThat(TestDatabase.query("SHOW CREATE TABLE log_template_counts_view"))
        .contains("halfMD5");
    assertThat(counts("1")).isEqualTo("a s " + ONE + " 9 1 2");
  }

  /** A {@code DateTime} would wrap around to 1970. */
  @Test
  void insert_logInTheFarFuture_isCountedInItsMinute() {
    insert("('2200-02-03 04:05:06', 'a', 's', 9, '%s')".formatted(ONE));

    assertThat(counts("toString(Minute)")).isEqualTo("a s " + ONE + " 9 2200-02-03 04:05:00 1");
  }

  @Test
  void insert_repeatedToken_isCountedOnce() {
    for (int i = 0; i < 2; i++) {
      TestDatabase.execute(
          """
          INSERT INTO otel_logs (Timestamp, Tenant, ServiceName, SeverityNumber, TemplateId)
          SETTINGS insert_deduplication_token = 'one',
            deduplicate_blocks_in_dependent_materialized_views = 1
          VALUES ('2026-01-15 08:00:00', 'a', 's', 9, '%s')"""
              .formatted(ONE));
    }

    assertThat(counts("1")).isEqualTo("a s " + ONE + " 9 1 1");
  }

  @Test
  void insert_afterTheLogsTableWasRecreated_isCounted() throws Exception {
    TestDatabase.execute("DROP TABLE otel_logs SYNC");
    try (var another = new ClickHouseDatabase(TestDatabase.settings())) {
      another.migrate();
    }

    insert("('2026-01-15 08:00:00', 'a', 's', 9, '%s')".formatted(ONE));

    assertThat(counts("1")).isEqualTo("a s " + ONE + " 9 1 1");
  }

  private static void insert(String... rows) {
    TestDatabase.execute(
        "INSERT INTO otel_logs (Timestamp, Tenant, ServiceName, SeverityNumber, TemplateId) VALUES "
            + String.join(", ", rows));
  }

  /** Returns a line for each count, sorted by its text. */
  private static String counts(String minute) {
    return TestDatabase.query(
        """
        SELECT concatWithSeparator(' ', Tenant, ServiceName, toString(TemplateId),
          toString(SeverityNumber), toString(%s), toString(sum(Logs))) AS line
        FROM log_template_counts
        GROUP BY Tenant, ServiceName, TemplateId, SeverityNumber, Minute
        ORDER BY line"""
            .formatted(minute));
  }
}
