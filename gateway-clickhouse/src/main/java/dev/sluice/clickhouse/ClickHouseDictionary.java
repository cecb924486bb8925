package dev.sluice.clickhouse;

import dev.sluice.core.port.Dictionary;
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
 * The dictionary in ClickHouse's tables {@code log_templates} and {@code log_texts}.
 *
 * <p>Nothing is read before it is written: rows of one id become one when ClickHouse merges parts,
 * and whoever asks before that merges them in the question. Writing again, by anybody, is one row
 * more for a while.
 *
 * <p>The order of writing is that of ClickHouse's clock when an insert begins, which is not the
 * order in which rows can be seen. So a place of {@link #changesSince} that has caught up is not
 * the last row but two minutes before the moment of asking, and a write that took longer than that
 * is not taken for written: it is tried again, and its rows get another place. Asking again shows
 * the writes of the last two minutes once more. When ClickHouse's clock is set back by more than
 * this, what is written until it has caught up is not shown; with replicas, nor is what comes to
 * one that is behind by more.
 *
 * <p>Shares the tables' upkeep and the connections with a {@link ClickHouseLogStore}, whose end is
 * its own. Safe for use by many threads; all methods but the constructor block.
 */
public final class ClickHouseDictionary implements Dictionary {

  /** Twice what an insert may take when nothing is configured; the same for all instances. */
  private static final Duration OVERLAP = Duration.ofMinutes(2);

  /** Of the texts of one answer, which are held here. */
  private static final long MAX_TEXT_BYTES = 256L << 20;

  private static final UUID MIN_ID = new UUID(0, 0);

  private final ClickHouseLogStore store;
  private final ClickHouseClient client;
  private final SchemaMigrator migrator;
  private final InstantSource clock;

  /**
   * @param store with whose connections it works
   */
  public ClickHouseDictionary(ClickHouseLogStore store) {
    this(store, InstantSource.system());
  }

  /**
   * @param clock tells how long a write took
   */
  ClickHouseDictionary(ClickHouseLogStore store, InstantSource clock) {
    this.store = store;
    client = store.client();
    migrator = store.migrator();
    this.clock = clock;
  }

  /** An id, and when a row of it was last written: nanoseconds since 1970 by ClickHouse's clock. */
  record WritePosition(long writtenNanos, UUID id) {}

  /**
   * Where {@link #changesSince} goes on.
   *
   * @param resumeNanos where to begin again when there is nothing more, nanoseconds since 1970
   * @param last what was shown last
   */
  private record ChangeCursor(long resumeNanos, WritePosition last) {

    /**
     * The text of a place that is reached again and again, or within what is being gone through.
     */
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
      migrator.ensureMigrated();
      for (var table : DictionaryTable.values()) {
        var rows = entries.stream().filter(e -> DictionaryTable.of(e.kind()) == table).toList();
        if (!rows.isEmpty()) {
          insert(table.tableName, table.toBlock(rows));
        }
      }
      return new WriteResult.Written();
    } catch (ClickHouseException e) {
      var failure = onFailure(e);
      var message = failure.getMessage();
      var reason = message == null ? failure.toString() : message;
      return failure.kind() == ClickHouseException.FailureKind.RETRYABLE
          ? new WriteResult.Retryable(reason)
          : new WriteResult.SchemaMismatch(reason);
    }
  }

  private void insert(String table, NativeBlock block) {
    var start = clock.instant();
    // each write is one of its own: a token that comes again would be left out
    var token = UUID.randomUUID().toString();
    client.insert(table, block, token, "dictionary~" + token);
    var elapsed = Duration.between(start, clock.instant());
    if (elapsed.compareTo(OVERLAP) > 0) {
      throw ClickHouseException.retryable(
          "a write took %d s; others may have gone on without it".formatted(elapsed.toSeconds()));
    }
  }

  /** {@inheritDoc} Fails when their texts are of more than 256 MiB. */
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
    return ask(
        table.entriesQuery(ids),
        table.tenantFilter(tenant, kind),
        in -> RowBinary.readEntries(in, tenant, kind, MAX_TEXT_BYTES));
  }

  /**
   * {@inheritDoc}
   *
   * <p>A page has no more than {@link #MAX_IDS} entries, and fails when their texts are of more
   * than 256 MiB: who asks for many at once should know that they are short.
   */
  @Override
  public EntryPage changesSince(String tenant, EntryKind kind, @Nullable String after, int limit)
      throws InterruptedException {
    if (limit < 1) {
      throw new IllegalArgumentException("limit is " + limit + ", at least 1");
    }
    var cursor = ChangeCursor.parse(after == null ? "0" : after, serverNow() - OVERLAP.toNanos());
    int maxEntries = Math.min(limit, MAX_IDS);
    // one more than asked for tells whether there is more
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
    boolean nothingEver = after == null && page.isEmpty();
    return nothingEver ? null : ChangeCursor.formatCaughtUp(cursor.resumeNanos());
  }

  private long serverNow() throws InterruptedException {
    return ask(
        "SELECT toUnixTimestamp64Nano(now64(9)) FORMAT RowBinary", Map.of(), RowBinary::readInt64);
  }

  private List<WritePosition> findWritten(
      String tenant, EntryKind kind, WritePosition last, int limit) throws InterruptedException {
    var table = DictionaryTable.of(kind);
    var parameters = new HashMap<>(table.tenantFilter(tenant, kind));
    parameters.put("at", String.valueOf(last.writtenNanos()));
    parameters.put("after", last.id().toString());
    parameters.put("limit", String.valueOf(limit));
    return ask(table.changesQuery(), parameters, RowBinary::readWritePositions);
  }

  /** In the same order. */
  private List<DictionaryEntry> entries(String tenant, EntryKind kind, List<WritePosition> page)
      throws InterruptedException {
    var entries = new HashMap<UUID, DictionaryEntry>();
    for (var entry : find(tenant, kind, page.stream().map(WritePosition::id).toList())) {
      entries.put(entry.id(), entry);
    }
    return page.stream().flatMap(one -> Stream.ofNullable(entries.get(one.id()))).toList();
  }

  private <T> T ask(
      String sql, Map<String, String> parameters, ClickHouseClient.ResponseReader<T> reader)
      throws InterruptedException {
    return store.query(sql, parameters, reader);
  }

  /** What follows from it here. */
  private ClickHouseException onFailure(ClickHouseException e) throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    if (e.kind() == ClickHouseException.FailureKind.SCHEMA_MISMATCH) {
      migrator.invalidate();
    }
    return e;
  }
}
