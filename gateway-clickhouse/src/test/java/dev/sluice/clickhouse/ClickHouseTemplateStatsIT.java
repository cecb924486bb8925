package dev.sluice.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.TemplateStats;
import dev.sluice.query.port.TemplateStats.MinuteRange;
import dev.sluice.query.port.TemplateStats.SampleLog;
import dev.sluice.query.port.TemplateStats.TemplateQuery;
import dev.sluice.query.port.TemplateStats.TimeSlice;
import dev.sluice.templates.dictionary.ContentId;
import dev.sluice.templates.dictionary.Dictionary;
import dev.sluice.testkit.TemplateStatsContract;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ClickHouseTemplateStatsIT extends TemplateStatsContract {
  private final ClickHouseDatabase database = new ClickHouseDatabase(TestDatabase.settings());
  private final ClickHouseDictionary dictionary = new ClickHouseDictionary(database);
  private final ClickHouseTemplateStats templates = new ClickHouseTemplateStats(database);

  @BeforeEach
  void empty() throws InterruptedException {
    TestDatabase.dropAllTables();
    database.migrate();
  }

  @AfterEach
  void close() {
    database.close();
  }

  /** The schema and the query both limit the length of a body. */
  @Test
  void latestSample_longMessage_isTruncatedLikeNewestLogs() throws Exception {
    var id = ContentId.of("a");
    insert(id, 7, "ä".repeat(5_000));

    var latest = templates.latestSamples(queryFor(id));
    var newest =
        templates.newestLogs(
            LogFilter.of("acme").build(), List.of(TimeSlice.of(id, null, MinuteRange.ALL)), 1);

    assertThat(latest).isEqualTo(newest);
    assertThat(latest.getFirst().body()).isEqualTo("ä".repeat(4_000));
  }

  /**
   * A database of an older schema version has no rows of earlier logs; these are searched in the
   * log table.
   */
  @Test
  void latestSample_logOlderThanTheTable_isMissing() throws Exception {
    var id = ContentId.of("a");
    insert(id, 7, "");
    TestDatabase.execute("DROP VIEW log_template_newest_view SYNC");
    TestDatabase.execute("DROP TABLE log_template_newest SYNC");
    try (var another = new ClickHouseDatabase(TestDatabase.settings())) {
      another.migrate();
    }

    assertThat(templates.latestSamples(queryFor(id))).isEmpty();
    insert(id, 3, "");
    assertThat(templates.latestSamples(queryFor(id)))
        .extracting(SampleLog::timeNanos)
        .containsExactly(3L);
  }

  /**
   * Two pairs of names with the same hash, found by search among 2^17 tenants and as many services:
   * the halfMD5 of the tenant, XORed with the halfMD5 of the service rotated by one bit.
   */
  @Test
  void latestSample_twoServicesWithOneHash_returnsNoLogOfAnotherTenant() throws Exception {
    var id = ContentId.of("a");
    TestDatabase.execute(
        """
        INSERT INTO otel_logs (Timestamp, Tenant, ServiceName, TemplateId, Body) VALUES
          (fromUnixTimestamp64Nano(1), 'tenant-112727', 'service-23084', '%1$s', 'one'),
          (fromUnixTimestamp64Nano(2), 'tenant-119890', 'service-87152', '%1$s', 'other')"""
            .formatted(id));

    assertThat(templates.latestSamples(queryFor("tenant-112727", id))).isEmpty();
    assertThat(templates.latestSamples(queryFor("tenant-119890", id)))
        .extracting(SampleLog::service, SampleLog::body)
        .containsExactly(tuple("service-87152", "other"));
  }

  @Test
  void latestSample_deletedByTheDocumentedSql_isDeletedWithoutOthers() throws Exception {
    var inBody = ContentId.of("a");
    var beyondSample = ContentId.of("b");
    var inAttribute = ContentId.of("c");
    var other = ContentId.of("d");
    var deletedBefore = ContentId.of("e");
    insert(inBody, 7, "mail to jane@example.com was refused");
    insert(beyondSample, 7, "x".repeat(4_000) + " jane@example.com");
    insert(inAttribute, 7, "mail was refused", "jane@example.com");
    insert(other, 7, "mail to john@example.com was refused", "john@example.com");
    insert(deletedBefore, 7, "mail to jane@example.com was refused");
    TestDatabase.execute("DELETE FROM otel_logs WHERE TemplateId = '%s'".formatted(deletedBefore));

    OperationsDoc.statements("## ClickHouse").forEach(TestDatabase::execute);

    assertThat(
            templates.latestSamples(
                queryFor(inBody, beyondSample, inAttribute, other, deletedBefore)))
        .extracting(SampleLog::template)
        .containsExactly(other);
    assertThat(TestDatabase.query("SELECT Body FROM otel_logs"))
        .isEqualTo("mail to john@example.com was refused");
  }

  private static void insert(UUID id, long nanos, String body) {
    insert(id, nanos, body, "");
  }

  private static void insert(UUID id, long nanos, String body, String email) {
    TestDatabase.execute(
        """
        INSERT INTO otel_logs
          (Timestamp, Tenant, ServiceName, SeverityNumber, TemplateId, Body, Id, LogAttributes)
        VALUES (fromUnixTimestamp64Nano(%d), 'acme', 'web', 9, '%s', '%s',
          reinterpretAsFixedString(generateUUIDv4()), {'user.email': '%s'})"""
            .formatted(nanos, id, body, email));
  }

  private static TemplateQuery queryFor(UUID... ids) {
    return queryFor("acme", ids);
  }

  private static TemplateQuery queryFor(String tenant, UUID... ids) {
    return new TemplateQuery(tenant, null, Set.of(), 0, MinuteRange.ALL, Set.of(ids));
  }

  @Override
  protected TemplateStats stats() {
    return templates;
  }

  @Override
  protected Dictionary dictionary() {
    return dictionary;
  }

  @Override
  protected void store(List<CountedLog> logs) {
    TestDatabase.execute(
        logs.stream()
            .map(
                log ->
                    "(fromUnixTimestamp64Nano(%d), '%s', '%s', %d, '%s')"
                        .formatted(
                            log.nanos(),
                            log.tenant(),
                            log.service().replace("\\", "\\\\").replace("'", "\\'"),
                            log.severity(),
                            log.template()))
            .collect(
                Collectors.joining(
                    ", ",
                    """
                    INSERT INTO otel_logs (Timestamp, Tenant, ServiceName, SeverityNumber, TemplateId)
                    VALUES\s""",
                    "")));
  }
}
