package dev.sluice.clickhouse;

import dev.sluice.core.port.LogReader.TooCostly;
import dev.sluice.core.port.TemplateReader;
import dev.sluice.core.query.LogFilter;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * What ClickHouse's tables {@code log_templates}, {@code log_template_counts} and {@code
 * log_template_times} tell of templates.
 *
 * <p>Shares the tables' upkeep and the connections with a {@link ClickHouseLogStore}, whose end is
 * its own. Safe for use by many threads; all methods block.
 */
public final class ClickHouseTemplateReader implements TemplateReader {
  /** Of the names of services in one answer, as they come. */
  private static final long MOST_BYTES = 32 << 20;

  /** Of a message that only shows what a template is of. */
  private static final int MOST_CHARACTERS = 4_000;

  private final ClickHouseLogStore store;

  /**
   * @param store with whose connections it works
   */
  public ClickHouseTemplateReader(ClickHouseLogStore store) {
    this.store = store;
  }

  /** {@inheritDoc} Goes through all links of the tenant, which are in no order. */
  @Override
  public List<Link> links(String tenant, int limit) throws InterruptedException {
    // of several rows for an id the greatest link counts
    return ask(
        """
        SELECT TemplateId, max(MergedInto) AS link
        FROM log_templates
        WHERE Tenant = {tenant:String} AND notEmpty(MergedInto)
        GROUP BY TemplateId
        HAVING link IN (SELECT TemplateId FROM log_templates WHERE Tenant = {tenant:String})
        LIMIT {limit:UInt32}
        FORMAT RowBinary""",
        Map.of("tenant", tenant, "limit", String.valueOf(limit)),
        RowBinary::readLinks);
  }

  @Override
  public List<Count> counts(Question question) throws InterruptedException {
    var where = Conditions.of(question);
    var from = where.minute(question.minutes().from());
    var counts = new ArrayList<Count>();
    boolean more =
        ask(
            """
            SELECT TemplateId, toString(ServiceName), SeverityNumber,
              sumIf(Logs, Minute >= %1$s), sumIf(Logs, Minute < %1$s)
            FROM log_template_counts
            WHERE %2$s
            GROUP BY TemplateId, ServiceName, SeverityNumber
            LIMIT %3$s
            FORMAT RowBinary"""
                .formatted(from, where.sql(), where.parameter("UInt32", MOST_COUNTS + 1)),
            where.parameters(),
            in -> RowBinary.readCounts(in, MOST_COUNTS, MOST_BYTES, counts));
    if (more) {
      throw new TooCostly(
          "more than %d counts of templates by service and level, or their names too long"
              .formatted(MOST_COUNTS));
    }
    return counts;
  }

  @Override
  public List<Seen> seen(String tenant, @Nullable String service, Collection<UUID> ids)
      throws InterruptedException {
    requireNotTooMany(ids);
    if (ids.isEmpty()) {
      return List.of();
    }
    var where = Conditions.of(tenant, service);
    where.add("TemplateId IN (%s)".formatted(DictionaryTable.list(ids)));
    return ask(
        """
        SELECT TemplateId, intDiv(toInt64(min(FirstMinute)), 60),
          intDiv(toInt64(max(LastMinute)), 60)
        FROM log_template_times
        WHERE %s
        GROUP BY TemplateId
        FORMAT RowBinary"""
            .formatted(where.sql()),
        where.parameters(),
        RowBinary::readSeen);
  }

  /**
   * {@inheritDoc} One question, since each costs some milliseconds whatever it asks for: in the
   * place of a span, numbers below 0 say what else a row is about.
   */
  @Override
  public History history(Question question, int spans) throws InterruptedException {
    if (question.ids().isEmpty() || spans < 1) {
      throw new IllegalArgumentException(
          "%d ids, %d spans".formatted(question.ids().size(), spans));
    }
    var where = Conditions.of(question);
    var times = where.ofTimes(question);
    var from = where.parameter("Int64", question.minutes().from());
    var to = where.parameter("Int64", question.minutes().to());
    var number = where.parameter("Int64", spans);
    var history =
        ask(
            """
        WITH
          (SELECT min(FirstMinute), max(LastMinute) FROM log_template_times WHERE %1$s) AS came,
          intDiv(toInt64(assumeNotNull(came.1)), 60) AS earliest,
          intDiv(toInt64(assumeNotNull(came.2)), 60) AS latest,
          least(greatest(earliest, %3$s), %4$s - 1) AS begins,
          least(greatest(latest + 1, begins + 1), %4$s) AS ends,
          intDiv(ends - begins + %5$s - 1, %5$s) AS width
        SELECT TemplateId, toString(ServiceName) AS service, SeverityNumber AS severity,
          if(minute < %3$s, -1, least(greatest(intDiv(minute - begins, width), 0), %5$s - 1)) AS span,
          toInt64(sum(Logs)) AS logs, min(minute) AS first, max(minute) AS last
        FROM (
          SELECT TemplateId, ServiceName, SeverityNumber, Logs, intDiv(toInt64(Minute), 60) AS minute
          FROM log_template_counts
          WHERE %2$s)
        GROUP BY TemplateId, ServiceName, SeverityNumber, span
        LIMIT %6$d
        UNION ALL
        SELECT TemplateId, '', toUInt8(0), toInt64(-2), toInt64(0),
          intDiv(toInt64(min(FirstMinute)), 60), intDiv(toInt64(max(LastMinute)), 60)
        FROM log_template_times
        WHERE %1$s
        GROUP BY TemplateId
        UNION ALL
        SELECT toUUID('00000000-0000-0000-0000-000000000000'), '', toUInt8(0), toInt64(-3),
          toInt64(0), begins, width
        FORMAT RowBinary"""
                .formatted(times, where.sql(), from, to, number, MOST_COUNTS + 1),
            where.parameters(),
            in -> RowBinary.readHistory(in, MOST_COUNTS, MOST_BYTES));
    return history.orElseThrow(
        () ->
            new TooCostly(
                "more than %d counts of templates by time, or their services' names too long"
                    .formatted(MOST_COUNTS)));
  }

  /** {@inheritDoc} Of a message its beginning. */
  @Override
  public List<Recent> newest(LogFilter filter, List<Place> places, int each)
      throws InterruptedException {
    if (places.size() > MOST_NEWEST) {
      throw new IllegalArgumentException(places.size() + " places, at most " + MOST_NEWEST);
    }
    if (places.isEmpty()) {
      return List.of();
    }
    var query =
        LogQuery.ofTemplates(
            filter,
            places,
            """
            SELECT TemplateId, Id, toUnixTimestamp64Nano(Timestamp) AS nanos, SeverityNumber,
              toString(ServiceName), substringUTF8(Body, 1, %d)
            """
                .formatted(MOST_CHARACTERS),
            "ORDER BY nanos DESC, Id DESC\nLIMIT %d BY TemplateId\nFORMAT RowBinary"
                .formatted(each));
    return query == null ? List.of() : ask(query.sql(), query.parameters(), RowBinary::readRecent);
  }

  private static void requireNotTooMany(Collection<UUID> ids) {
    if (ids.size() > MOST_IDS) {
      throw new IllegalArgumentException(ids.size() + " ids, at most " + MOST_IDS);
    }
  }

  /** The ids are part of the text, which as UUIDs they can be: see {@link DictionaryTable#find}. */
  private <T> T ask(String sql, Map<String, String> parameters, ClickHouseHttp.Body<T> body)
      throws InterruptedException {
    return store.ask(sql, parameters, body);
  }
}
