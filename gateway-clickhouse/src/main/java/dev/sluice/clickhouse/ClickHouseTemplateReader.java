package dev.sluice.clickhouse;

import dev.sluice.core.port.TemplateReader;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * What ClickHouse's tables {@code log_templates} and {@code log_template_counts} tell of templates.
 *
 * <p>Shares the tables' upkeep and the connections with a {@link ClickHouseLogStore}, whose end is
 * its own. Safe for use by many threads; all methods block.
 */
public final class ClickHouseTemplateReader implements TemplateReader {
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

  private static void requireNotTooMany(Collection<UUID> ids) {
    if (ids.size() > MOST_IDS) {
      throw new IllegalArgumentException(ids.size() + " ids, at most " + MOST_IDS);
    }
  }

  /** The ids are part of the text, which as UUIDs they can be: see {@link DictionaryTable#find}. */
  private <T> T ask(String sql, Map<String, String> parameters, ClickHouseHttp.Body<T> body)
      throws InterruptedException {
    store.schema().ensure();
    return store.ask(sql, parameters, ClickHouseDictionary.QUERY_SETTINGS, body);
  }
}
