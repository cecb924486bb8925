package dev.sluice.clickhouse;

import dev.sluice.core.port.LogReader.TooCostly;
import dev.sluice.core.port.TemplateReader;
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
