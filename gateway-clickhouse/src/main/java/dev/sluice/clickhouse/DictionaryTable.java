package dev.sluice.clickhouse;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.templates.dictionary.Dictionary.DictionaryEntry;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The tables of the dictionary: one for templates, which users read and join with logs, and one for
 * all other kinds.
 *
 * <p>Before parts are merged, a table may have several rows for an id, so that each query groups by
 * id. A query that reads only some rows may use these for the ids only, since an entry is the merge
 * of all of its rows.
 */
enum DictionaryTable {
  TEMPLATES("log_templates", "TemplateId"),
  TEXTS("log_texts", "TextId");

  /** The column value for no id; ClickHouse orders it before all other UUIDs. */
  private static final UUID NONE = new UUID(0, 0);

  /** Name of the table in the database. */
  final String tableName;

  private final String idColumn;

  DictionaryTable(String tableName, String idColumn) {
    this.tableName = tableName;
    this.idColumn = idColumn;
  }

  static DictionaryTable of(EntryKind kind) {
    return switch (kind) {
      case TEMPLATE -> TEMPLATES;
      case RESOURCE, TEXT -> TEXTS;
    };
  }

  /** Returns the column value of a link. */
  private static UUID toColumnValue(@Nullable UUID link) {
    return link == null ? NONE : link;
  }

  /**
   * Returns the optional id of a column value, such as a link or the template of a log; null for no
   * id.
   */
  static @Nullable UUID fromColumnValue(UUID stored) {
    return stored.equals(NONE) ? null : stored;
  }

  /** Returns the rows of entries that belong to this table; ClickHouse adds the time of writing. */
  NativeBlock toBlock(List<DictionaryEntry> entries) {
    var block = new NativeBlock();
    var tenant = block.addLowCardinality("Tenant");
    var kind = this == TEXTS ? block.addLowCardinality("Kind") : null;
    var ids = block.addPlain(idColumn, "UUID");
    var text = block.addPlain("Text", "String");
    var firstSeen = block.addPlain("FirstSeen", "DateTime64(9)");
    var lastSeen = block.addPlain("LastSeen", "DateTime64(9)");
    var mergedInto = block.addPlain("MergedInto", "UUID");
    for (var entry : entries) {
      tenant.add(entry.tenant());
      if (kind != null) {
        kind.add(entry.kind().name());
      }
      ids.writeUuid(entry.id());
      var bytes = entry.text().getBytes(UTF_8);
      text.writeString(bytes, 0, bytes.length);
      firstSeen.values.writeLong(entry.firstSeenNanos());
      lastSeen.values.writeLong(entry.lastSeenNanos());
      mergedInto.writeUuid(toColumnValue(entry.mergedInto()));
      block.endRow();
    }
    return block;
  }

  /**
   * Returns the query for the entries of ids, with a response in RowBinary: id, text, first and
   * last seen in nanoseconds since 1970, link. The ids are part of the query text, which is safe
   * for UUIDs, since ten thousand ids are too long for the URL with the parameters.
   */
  String entriesQuery(Collection<UUID> ids) {
    return """
        SELECT %1$s, any(Text), toUnixTimestamp64Nano(min(FirstSeen)),
          toUnixTimestamp64Nano(max(LastSeen)), max(MergedInto)
        FROM %2$s
        WHERE %3$s AND %1$s IN (%4$s)
        GROUP BY %1$s
        FORMAT RowBinary"""
        .formatted(idColumn, tableName, tenantFilter(), uuidList(ids));
  }

  /** Returns the ids as the list of an {@code IN} condition. */
  static String uuidList(Collection<UUID> ids) {
    return ids.stream().map(id -> "'" + id + "'").collect(Collectors.joining(", "));
  }

  /**
   * Returns the query for ids whose last write is after {@code at}, or exactly at {@code at} with
   * an id greater than {@code after}; in the order of writing, with the time of writing.
   */
  String changesQuery() {
    return """
        SELECT toUnixTimestamp64Nano(max(WrittenAt)) AS at, %1$s
        FROM %2$s
        WHERE %3$s AND WrittenAt >= fromUnixTimestamp64Nano({at:Int64})
        GROUP BY %1$s
        HAVING at > {at:Int64} OR %1$s > {after:UUID}
        ORDER BY at, %1$s
        LIMIT {limit:UInt32}
        FORMAT RowBinary"""
        .formatted(idColumn, tableName, tenantFilter());
  }

  private String tenantFilter() {
    return this == TEXTS
        ? "Tenant = {tenant:String} AND Kind = {kind:String}"
        : "Tenant = {tenant:String}";
  }

  /** Returns the query parameters for tenant and kind. */
  Map<String, String> tenantFilter(String tenant, EntryKind kind) {
    return this == TEXTS ? Map.of("tenant", tenant, "kind", kind.name()) : Map.of("tenant", tenant);
  }
}
