package dev.sluice.clickhouse;

import dev.sluice.core.port.LogReader.TooCostly;
import dev.sluice.core.port.TemplateReader;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;
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

  @Override
  public List<Link> links(String tenant, Collection<UUID> ids) throws InterruptedException {
    requireNotTooMany(ids);
    if (ids.isEmpty()) {
      return List.of();
    }
    return ask(
        """
        SELECT TemplateId, max(MergedInto)
        FROM log_templates
        WHERE Tenant = {tenant:String} AND TemplateId IN (%s)
        GROUP BY TemplateId
        FORMAT RowBinary"""
            .formatted(DictionaryTable.list(ids)),
        Map.of("tenant", tenant),
        RowBinary::readLinks);
  }

  /** {@inheritDoc} Goes through all links of the tenant, which are in no order. */
  @Override
  public List<Link> linkedTo(String tenant, Collection<UUID> ids, int limit)
      throws InterruptedException {
    requireNotTooMany(ids);
    if (ids.isEmpty()) {
      return List.of();
    }
    // of several rows for an id the greatest link counts, so all of them are looked at
    return ask(
        """
            SELECT TemplateId, max(MergedInto) AS link
            FROM log_templates
            WHERE Tenant = {tenant:String} AND notEmpty(MergedInto)
            GROUP BY TemplateId
            HAVING link IN (%s)
            LIMIT {limit:UInt32}
            FORMAT RowBinary"""
            .formatted(DictionaryTable.list(ids)),
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

  @Override
  public List<Tick> timeline(Question question, long width) throws InterruptedException {
    if (width < 1) {
      throw new IllegalArgumentException("spans of " + width + " minutes");
    }
    var where = Conditions.within(question);
    var ticks = new ArrayList<Tick>();
    boolean more =
        ask(
            """
            SELECT TemplateId, intDiv(intDiv(toInt64(Minute), 60) - %1$s, %2$s) AS span, sum(Logs)
            FROM log_template_counts
            WHERE %3$s
            GROUP BY TemplateId, span
            LIMIT %4$s
            FORMAT RowBinary"""
                .formatted(
                    where.parameter("Int64", question.minutes().from()),
                    where.parameter("Int64", width),
                    where.sql(),
                    where.parameter("UInt32", MOST_COUNTS + 1)),
            where.parameters(),
            in -> RowBinary.readTicks(in, MOST_COUNTS, ticks));
    if (more) {
      throw new TooCostly("more than %d counts of templates by time".formatted(MOST_COUNTS));
    }
    return ticks;
  }

  /** {@inheritDoc} Of a message its beginning. */
  @Override
  public List<Recent> newest(
      String tenant, @Nullable String service, Map<UUID, Minutes> within, int each)
      throws InterruptedException {
    if (within.size() > MOST_NEWEST) {
      throw new IllegalArgumentException(within.size() + " ids, at most " + MOST_NEWEST);
    }
    if (within.isEmpty()) {
      return List.of();
    }
    var idsByMinutes =
        within.entrySet().stream()
            .collect(
                Collectors.groupingBy(
                    Map.Entry::getValue,
                    Collectors.mapping(Map.Entry::getKey, Collectors.toList())));
    var where = Conditions.of(tenant, service);
    where.add(
        idsByMinutes.entrySet().stream()
            .map(
                some ->
                    "TemplateId IN (%s) AND %s"
                        .formatted(
                            DictionaryTable.list(some.getValue()), LogQuery.within(some.getKey())))
            .collect(Collectors.joining(" OR ", "(", ")")));
    return ask(
        """
        SELECT TemplateId, Id, toUnixTimestamp64Nano(Timestamp) AS nanos, SeverityNumber,
          toString(ServiceName), substringUTF8(Body, 1, %d)
        FROM otel_logs
        WHERE %s
        ORDER BY nanos DESC, Id DESC
        LIMIT %s BY TemplateId
        FORMAT RowBinary"""
            .formatted(MOST_CHARACTERS, where.sql(), where.parameter("UInt32", each)),
        where.parameters(),
        RowBinary::readRecent);
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
