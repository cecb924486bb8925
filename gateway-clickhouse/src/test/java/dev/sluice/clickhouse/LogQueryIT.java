package dev.sluice.clickhouse;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.filter.TextQuery;
import dev.sluice.query.port.LogReader.Query;
import dev.sluice.query.port.TemplateStats.MinuteRange;
import dev.sluice.query.port.TemplateStats.TimeSlice;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests the query plans of ClickHouse for the queries of {@link LogQuery}, with {@code EXPLAIN}.
 */
@Timeout(120)
final class LogQueryIT {
  private static final long SECOND = 1_000_000_000L;
  private static final long START = 1_768_435_200L * SECOND; // 2026-01-15T00:00:00Z
  private static final long BUSY = START - 86_400 * SECOND;
  private static final UUID ID = new UUID(1, 1);

  @BeforeAll
  static void fill() throws Exception {
    TestDatabase.dropAllTables();
    try (var database = new ClickHouseDatabase(TestDatabase.settings())) {
      database.migrate();
    }
    // Three days with two logs per second, in one part each.
    TestDatabase.execute(
        """
        INSERT INTO otel_logs (Timestamp, ServiceName, Body, TraceId)
        SELECT fromUnixTimestamp64Nano(toInt64(%d + number * 500000000)), 'service ' || number %% 5,
          'request ' || number || ' done for 10.' || 250 - intDiv(number, 62500) || '.'
            || intDiv(number, 250) %% 250 || '.' || number %% 250 || ' with 0x'
            || hex(toUInt32(2147942400 + number)),
          lower(hex(MD5(toString(number))))
        FROM numbers(3 * 86400 * 2)"""
            .formatted(START));
    // Five minutes with a thousand logs per second.
    TestDatabase.execute(
        """
        INSERT INTO otel_logs (Timestamp, ServiceName, Id, Body)
        SELECT fromUnixTimestamp64Nano(toInt64(%d + number * 1000000)), 'busy',
          reverse(reinterpretAsFixedString(toUInt128(number + 1))), 'x'
        FROM numbers(290000)"""
            .formatted(BUSY));
  }

  @Test
  void sortedRange_fiveMinutes_readsTheirGranulesOnly() {
    var plan =
        explain(
            "indexes = 1",
            query(null, START + 100_000 * SECOND, START + 100_300 * SECOND, null, null));

    assertThat(plan).contains("toStartOfFiveMinutes(Timestamp)");
    assertThat(granules(plan, "Min-Max")).isLessThan(24);
    assertThat(granules(plan, "PrimaryKey")).isLessThanOrEqualTo(3);
  }

  /**
   * Within five minutes the table is not sorted by time; the index on time selects the granules.
   */
  @Test
  void sortedRange_momentOfABusyFiveMinutes_usesTheIndexOnTime() {
    var plan =
        explain("indexes = 1", query("busy", BUSY + 100 * SECOND, BUSY + 101 * SECOND, null, null));

    assertThat(granules(plan, "Name: idx_timestamp")).isLessThanOrEqualTo(2);
  }

  /**
   * West of Greenwich, the first hours of 1970 belong to a day before 1970, which the table treats
   * as a day of 2149. A table has the time zone of its creation.
   */
  @Test
  void sortedRange_firstHoursOf1970InNewYork_areRead() {
    inNewYork(TestDatabase.query("SHOW CREATE TABLE otel_logs").replace("otel_logs", "west"));
    inNewYork("INSERT INTO west (Timestamp) SELECT fromUnixTimestamp64Nano(toInt64(1))");
    try {
      for (var from : new Long[] {null, 0L, 1L}) {
        for (var to : new Long[] {null, 2L, START}) {
          var query = sortedRange(query(null, from, to, null, null));
          var sql =
              "SELECT count() FROM (%s) FORMAT TSV"
                  .formatted(query.sql().replace("otel_logs", "west"));
          assertThat(inNewYork(sql.replace("FORMAT RowBinary", ""), query.parameters()))
              .as("from %d to %d", from, to)
              .isEqualTo("1");
        }
      }
    } finally {
      TestDatabase.execute("DROP TABLE west SYNC");
    }
  }

  private static void inNewYork(String sql) {
    inNewYork(sql, Map.of());
  }

  private static String inNewYork(String sql, Map<String, String> parameters) {
    return explainQuery(sql, parameters, Map.of("session_timezone", "America/New_York")).strip();
  }

  @Test
  void sortedRange_newestOfAService_readsInTheTablesOrder() {
    assertThat(explain("", query("service 3", null, null, null, null)))
        .doesNotContain("Sorting (Sorting for ORDER BY)\n  Sort Mode: Full");
    assertThat(pipeline(query("service 3", null, null, null, null))).contains("InReverseOrder");
  }

  @Test
  void sortedRange_word_usesTheTextIndex() {
    var plan = explain("indexes = 1", query(null, null, null, null, "REQUEST 4711"));

    assertThat(plan).contains("idx_lower_body", "4711");
    assertThat(granules(plan, "Name: idx_lower_body")).isEqualTo(1);
  }

  /** The query of a search for a value: for a rare term, and for several frequent terms. */
  @Test
  void sortedRange_phrase_usesTheTextIndex() {
    assertThat(granulesOfPhrase("0x80070001")).isEqualTo(1);
    assertThat(granulesOfPhrase("10.250.19.102")).isLessThanOrEqualTo(2);
  }

  private static int granulesOfPhrase(String phrase) {
    var filter = LogFilter.of("default").text(new TextQuery.Phrase(phrase));
    var plan = explain("indexes = 1", new Query(filter.build(), 100, null));
    assertThat(plan).contains("idx_lower_body");
    return granules(plan, "Name: idx_lower_body");
  }

  @Test
  void sortedRange_trace_usesItsIndex() {
    var trace = TestDatabase.query("SELECT lower(hex(MD5('4711')))");

    assertThat(
            granules(
                explain("indexes = 1", query(null, null, null, trace, null)), "Name: idx_trace_id"))
        .isLessThanOrEqualTo(2);
  }

  @Test
  void unsortedRange_noLogAfter2106_readsNothing() {
    var late = requireNonNull(LogQuery.unsortedRange(query(null, null, null, null, null), 100));

    assertThat(explainQuery("EXPLAIN indexes = 1 ", late)).contains("Parts: 0/4");
  }

  /**
   * The query uses the sort key, although it has no condition on the sort key itself, and the index
   * on time within five minutes.
   */
  @Test
  void forTemplates_minutesFarApart_readsTheirGranulesOnly() {
    var slices =
        new TimeSlice[] {
          TimeSlice.of(ID, "busy", minute(BUSY + 100 * SECOND)),
          TimeSlice.of(new UUID(1, 2), "service 3", minute(START + 100_000 * SECOND))
        };

    var plan = explainQuery("EXPLAIN indexes = 1 ", forTemplates(slices));

    assertThat(plan).contains("toStartOfFiveMinutes(Timestamp)");
    assertThat(granules(plan, "PrimaryKey")).isLessThan(granules(plan, "Min-Max"));
    assertThat(granules(plan, "Name: idx_timestamp")).isLessThanOrEqualTo(12);
  }

  @Test
  void forTemplates_aSecondOfABusyMinute_readsItsGranulesOnly() {
    long second = BUSY + 100 * SECOND;

    var plan =
        explainQuery(
            "EXPLAIN indexes = 1 ",
            forTemplates(new TimeSlice(ID, "busy", second, second + SECOND)));

    assertThat(granules(plan, "Name: idx_timestamp")).isLessThanOrEqualTo(2);
  }

  /** Each interval is a condition that is evaluated for every row. */
  @Test
  void forTemplates_adjacentIntervals_areMerged() {
    var slices = new ArrayList<TimeSlice>();
    for (long from : new long[] {20, 40, 30, 10, 25, 60}) {
      slices.add(new TimeSlice(ID, "busy", START + from, START + from + 10));
      slices.add(new TimeSlice(ID, "web", START + from, START + from + 10));
    }
    slices.add(new TimeSlice(ID, "web", START + 45, Long.MAX_VALUE));

    var query = forTemplates(slices.toArray(TimeSlice[]::new));
    var sql = query.sql();
    for (var parameter : query.parameters().entrySet()) {
      sql = sql.replace("{" + parameter.getKey() + ":String}", parameter.getValue());
    }

    assertThat(sql)
        .containsOnlyOnce(timeCondition(10, 49) + " AND ServiceName IN (busy) OR ")
        .containsOnlyOnce(timeCondition(60, 69) + " AND ServiceName IN (busy) OR ")
        .containsOnlyOnce(
            "toUnixTimestamp64Nano(Timestamp) BETWEEN %d AND %d AND ServiceName IN (web))"
                .formatted(START + 10, Long.MAX_VALUE));
    assertThat(sql.split("BETWEEN", -1)).hasSize(4);
  }

  private static String timeCondition(long first, long last) {
    return "Timestamp BETWEEN fromUnixTimestamp64Nano(%d) AND fromUnixTimestamp64Nano(%d)"
        .formatted(START + first, START + last);
  }

  private static LogQuery forTemplates(TimeSlice... slices) {
    return requireNonNull(
        LogQuery.forTemplates(
            LogFilter.of("default").build(), List.of(slices), "SELECT Body\n", "FORMAT RowBinary"));
  }

  @Test
  void forTemplates_minutesOutsideTheFilter_isNull() {
    var slices = List.of(TimeSlice.of(ID, null, minute(START)));
    var filter = LogFilter.of("default").from(START + 60 * SECOND).build();

    assertThat(LogQuery.forTemplates(filter, slices, "SELECT Body\n", "")).isNull();
  }

  private static MinuteRange minute(long nanos) {
    return new MinuteRange(MinuteRange.minuteOf(nanos), MinuteRange.minuteOf(nanos) + 1);
  }

  private static Query query(
      @Nullable String service,
      @Nullable Long from,
      @Nullable Long to,
      @Nullable String trace,
      @Nullable String text) {
    var filter =
        LogFilter.of("default")
            .service(service)
            .from(from)
            .to(to)
            .traceId(trace)
            .text(text == null ? null : TextQuery.parse(text));
    return new Query(filter.build(), 100, null);
  }

  private static String explain(String options, Query query) {
    return explainQuery("EXPLAIN " + options + " ", sortedRange(query));
  }

  private static String pipeline(Query query) {
    return explainQuery("EXPLAIN PIPELINE ", sortedRange(query));
  }

  private static LogQuery sortedRange(Query query) {
    return requireNonNull(LogQuery.sortedRange(query, 100));
  }

  private static String explainQuery(String explain, LogQuery query) {
    var sql = query.sql().replace("FORMAT RowBinary", "FORMAT TSVRaw");
    return explainQuery(explain + sql, query.parameters(), Map.of());
  }

  private static String explainQuery(
      String sql, Map<String, String> parameters, Map<String, String> settings) {
    try (var http = new ClickHouseClient(TestDatabase.settings())) {
      return http.query(
          sql,
          parameters,
          settings,
          Duration.ofSeconds(30),
          in -> new String(in.readAllBytes(), UTF_8));
    }
  }

  /** Returns the number of granules that remain after the index with this name or type. */
  private static int granules(String plan, String index) {
    var rest = plan.substring(plan.indexOf(index));
    var count = rest.substring(rest.indexOf("Granules: ") + "Granules: ".length());
    return Integer.parseInt(count.substring(0, count.indexOf('/')));
  }
}
