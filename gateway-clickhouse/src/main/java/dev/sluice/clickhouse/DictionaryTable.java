package dev.sluice.clickhouse;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.port.Dictionary.DictionaryEntry;
import dev.sluice.core.port.Dictionary.EntryKind;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Where entries of the dictionary are: templates, which people look at and join with logs, in a
 * table of their own, and all other kinds in another.
 *
 * <p>Until its parts are merged a table may have several rows for an id, so every question groups
 * by it; and what is asked of some of the rows is only which ids they are of, since the entry is
 * all of them together.
 */
enum DictionaryTable {
  TEMPLATES("log_templates", "TemplateId"),
  TEXTS("log_texts", "TextId");

  /** Stands for none in ClickHouse, where it is less than any other. */
  private static final UUID NONE = new UUID(0, 0);

  /** Its name in the database. */
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

  /** A link as it is in the table. */
  private static UUID toColumnValue(@Nullable UUID link) {
    return link == null ? NONE : link;
  }

  /** An id as tables have it that need not be there: a link, or the template of a log. */
  static @Nullable UUID fromColumnValue(UUID stored) {
    return stored.equals(NONE) ? null : stored;
  }

  /** The rows of these entries, which all belong here; ClickHouse adds when they were written. */
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
   * The question for the entries of these ids, answered in RowBinary: id, text, first and last seen
   * in nanoseconds, link. The ids are part of its text, which as UUIDs they can be, because ten
   * thousand are too long for the address of a request, where parameters go.
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

  /** For {@code IN}. */
  static String uuidList(Collection<UUID> ids) {
    return ids.stream().map(one -> "'" + one + "'").collect(Collectors.joining(", "));
  }

  /**
   * The question which ids were last written at {@code at} or later, and if at that moment, then
   * are greater than {@code after}; in the order of writing, the moments with them.
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

  /** What the questions call the tenant and the kind. */
  Map<String, String> tenantFilter(String tenant, EntryKind kind) {
    return this == TEXTS ? Map.of("tenant", tenant, "kind", kind.name()) : Map.of("tenant", tenant);
  }
}
