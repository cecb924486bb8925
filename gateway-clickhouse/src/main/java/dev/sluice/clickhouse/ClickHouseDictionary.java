package dev.sluice.clickhouse;

import dev.sluice.core.port.WriteResult;
import dev.sluice.templates.dictionary.Dictionary;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A {@link Dictionary} in the ClickHouse tables {@code log_templates} and {@code log_texts}.
 *
 * <p>A write reads nothing: rows of one id are merged by ClickHouse when it merges parts, and
 * before that by each query. A repeated write, by any gateway, only adds a row until the next
 * merge.
 *
 * <p>The order of writes is by the clock of ClickHouse at the start of an insert, which is not the
 * order in which rows become visible. So the cursor of {@link #changesSince} that has caught up is
 * not the last row but two minutes before the time of the query. A write that took longer than that
 * counts as failed; its retry writes rows with a later time. The next query returns the writes of
 * the last two minutes again. When the clock of ClickHouse is set back by more than that, writes
 * are not returned until the clock has caught up; with replicas, neither are rows that reach a
 * replica with a larger delay. See ADR 0028.
 *
 * <p>Shares the connections and the schema migration of a {@link ClickHouseDatabase}, whose close
 * also ends this dictionary. Safe for use by many threads; all methods but the constructor block.
 */
public final class ClickHouseDictionary implements Dictionary {

  /**
   * Overlap of two reads of changes: twice the default insert timeout; it must be the same for all
   * gateways.
   */
  private static final Duration OVERLAP = Duration.ofMinutes(2);

  /** Maximum size in bytes of the texts in one response, which is held in memory. */
  private static final long MAX_TEXT_BYTES = 256L << 20;

  private static final UUID MIN_ID = new UUID(0, 0);

  private final ClickHouseDatabase database;
  private final InstantSource clock;

  /**
   * @param database the database whose connections are used
   */
  public ClickHouseDictionary(ClickHouseDatabase database) {
    this(database, InstantSource.system());
  }

  /**
   * @param clock the clock that measures the duration of a write
   */
  ClickHouseDictionary(ClickHouseDatabase database, InstantSource clock) {
    this.database = database;
    this.clock = clock;
  }

  /** An id and the time of its last write, in nanoseconds since 1970 by the clock of ClickHouse. */
  record WritePosition(long writtenNanos, UUID id) {}

  /**
   * The position at which {@link #changesSince} continues.
   *
   * @param resumeNanos the start of the next read after the last page, in nanoseconds since 1970
   * @param last the last returned write
   */
  private record ChangeCursor(long resumeNanos, WritePosition last) {

    /** Parses a cursor, which is either caught up or within a sequence of pages. */
    static ChangeCursor parse(String text, long resumeNanos) {
      var parts = text.split(":", -1);
      return parts.length == 1
          ? new ChangeCursor(resumeNanos, new WritePosition(Long.parseLong(text), MIN_ID))
          : new ChangeCursor(
              Long.parseLong(parts[0]),
              new WritePosition(Long.parseLong(parts[1]), UUID.fromString(parts[2])));
    }

    static String formatCaughtUp(long resumeNanos) {
      return Long.toString(resumeNanos);
    }

    static String formatWithinPage(long resumeNanos, WritePosition last) {
      return "%d:%d:%s".formatted(resumeNanos, last.writtenNanos(), last.id());
    }
  }

  @Override
  public WriteResult write(List<DictionaryEntry> entries) throws InterruptedException {
    try {
      database.migrate();
      for (var table : DictionaryTable.values()) {
        var rows = entries.stream().filter(e -> DictionaryTable.of(e.kind()) == table).toList();
        if (!rows.isEmpty()) {
          insert(table.tableName, table.toBlock(rows));
        }
      }
      return new WriteResult.Written();
    } catch (ClickHouseException e) {
      database.onFailure(e);
      // The gateway makes every row: a rejected one means that the table does not fit it.
      return e.kind() == ClickHouseException.FailureKind.RETRYABLE
          ? new WriteResult.Retryable(e.text())
          : new WriteResult.SchemaMismatch(e.text());
    }
  }

  private void insert(String table, NativeBlock block) {
    var start = clock.instant();
    // A unique token, since ClickHouse would skip a write whose token it knows.
    var token = UUID.randomUUID().toString();
    database.client().insert(table, block, token, "dictionary~" + token);
    var elapsed = Duration.between(start, clock.instant());
    if (elapsed.compareTo(OVERLAP) > 0) {
      throw ClickHouseException.retryable(
          "dictionary write took %d s; other gateways may have read past its rows"
              .formatted(elapsed.toSeconds()));
    }
  }

  /** {@inheritDoc} Fails when the texts have more than 256 MiB. */
  @Override
  public List<DictionaryEntry> find(String tenant, EntryKind kind, Collection<UUID> ids)
      throws InterruptedException {
    if (ids.size() > MAX_IDS) {
      throw new IllegalArgumentException(ids.size() + " ids, at most " + MAX_IDS);
    }
    if (ids.isEmpty()) {
      return List.of();
    }
    var table = DictionaryTable.of(kind);
    return database.query(
        table.entriesQuery(ids),
        table.tenantFilter(tenant, kind),
        in -> RowBinary.readEntries(in, tenant, kind, MAX_TEXT_BYTES));
  }

  /**
   * {@inheritDoc}
   *
   * <p>A page has at most {@link #MAX_IDS} entries. The method fails when the texts of a page have
   * more than 256 MiB, so that a large limit is only suitable for short texts.
   */
  @Override
  public EntryPage changesSince(String tenant, EntryKind kind, @Nullable String after, int limit)
      throws InterruptedException {
    if (limit < 1) {
      throw new IllegalArgumentException("limit is " + limit + ", minimum is 1");
    }
    var cursor = ChangeCursor.parse(after == null ? "0" : after, serverNow() - OVERLAP.toNanos());
    int maxEntries = Math.min(limit, MAX_IDS);
    // One row more than the limit shows whether there are more.
    var positions = findWritten(tenant, kind, cursor.last(), maxEntries + 1);
    boolean last = positions.size() <= maxEntries;
    var page = last ? positions : positions.subList(0, maxEntries);
    return new EntryPage(entries(tenant, kind, page), nextCursor(after, cursor, page, last), last);
  }

  private static @Nullable String nextCursor(
      @Nullable String after, ChangeCursor cursor, List<WritePosition> page, boolean last) {
    if (!last) {
      return ChangeCursor.formatWithinPage(cursor.resumeNanos(), page.getLast());
    }
    boolean neverWritten = after == null && page.isEmpty();
    return neverWritten ? null : ChangeCursor.formatCaughtUp(cursor.resumeNanos());
  }

  private long serverNow() throws InterruptedException {
    return database.query(
        "SELECT toUnixTimestamp64Nano(now64(9)) FORMAT RowBinary", Map.of(), RowBinary::readInt64);
  }

  private List<WritePosition> findWritten(
      String tenant, EntryKind kind, WritePosition last, int limit) throws InterruptedException {
    var table = DictionaryTable.of(kind);
    var parameters = new HashMap<>(table.tenantFilter(tenant, kind));
    parameters.put("at", String.valueOf(last.writtenNanos()));
    parameters.put("after", last.id().toString());
    parameters.put("limit", String.valueOf(limit));
    return database.query(table.changesQuery(), parameters, RowBinary::readWritePositions);
  }

  /** Returns the entries of the positions, in the same order. */
  private List<DictionaryEntry> entries(String tenant, EntryKind kind, List<WritePosition> page)
      throws InterruptedException {
    var entries = new HashMap<UUID, DictionaryEntry>();
    for (var entry : find(tenant, kind, page.stream().map(WritePosition::id).toList())) {
      entries.put(entry.id(), entry);
    }
    return page.stream().flatMap(row -> Stream.ofNullable(entries.get(row.id()))).toList();
  }
}
