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
  private static final long MOST_BYTES = 256L << 20;

  private static final UUID LEAST = new UUID(0, 0);

  private final ClickHouseLogStore store;
  private final ClickHouseHttp http;
  private final Schema schema;
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
    http = store.http();
    schema = store.schema();
    this.clock = clock;
  }

  /** An id, and when a row of it was last written: nanoseconds since 1970 by ClickHouse's clock. */
  record Written(long atNanos, UUID id) {}

  /**
   * Where {@link #changesSince} goes on.
   *
   * @param next where to begin again when there is nothing more, nanoseconds since 1970
   * @param last what was shown last
   */
  private record Place(long next, Written last) {

    /**
     * The text of a place that is reached again and again, or within what is being gone through.
     */
    static Place of(String text, long next) {
      var parts = text.split(":", -1);
      return parts.length == 1
          ? new Place(next, new Written(Long.parseLong(text), LEAST))
          : new Place(
              Long.parseLong(parts[0]),
              new Written(Long.parseLong(parts[1]), UUID.fromString(parts[2])));
    }

    static String caughtUp(long next) {
      return Long.toString(next);
    }

    static String within(long next, Written last) {
      return "%d:%d:%s".formatted(next, last.atNanos(), last.id());
    }
  }

  @Override
  public WriteResult write(List<DictionaryEntry> entries) throws InterruptedException {
    try {
      schema.ensure();
      for (var table : DictionaryTable.values()) {
        var rows = entries.stream().filter(e -> DictionaryTable.of(e.kind()) == table).toList();
        if (!rows.isEmpty()) {
          insert(table.title, table.block(rows));
        }
      }
      return new WriteResult.Written();
    } catch (ClickHouseFailed e) {
      var failed = known(e);
      var message = failed.getMessage();
      var reason = message == null ? failed.toString() : message;
      return failed.kind() == ClickHouseFailed.Kind.LATER
          ? new WriteResult.Retryable(reason)
          : new WriteResult.SchemaMismatch(reason);
    }
  }

  private void insert(String table, NativeBlock block) {
    var begun = clock.instant();
    // each write is one of its own: a token that comes again would be left out
    var token = UUID.randomUUID().toString();
    http.insert(table, block, token, "dictionary~" + token);
    var taken = Duration.between(begun, clock.instant());
    if (taken.compareTo(OVERLAP) > 0) {
      throw ClickHouseFailed.inDoubt(
          "a write took %d s; others may have gone on without it".formatted(taken.toSeconds()));
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
        table.find(ids),
        table.scope(tenant, kind),
        in -> RowBinary.readEntries(in, tenant, kind, MOST_BYTES));
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
    var place = Place.of(after == null ? "0" : after, now() - OVERLAP.toNanos());
    int most = Math.min(limit, MAX_IDS);
    // one more than asked for tells whether there is more
    var written = written(tenant, kind, place.last(), most + 1);
    boolean last = written.size() <= most;
    var page = last ? written : written.subList(0, most);
    return new EntryPage(entries(tenant, kind, page), next(after, place, page, last), last);
  }

  private static @Nullable String next(
      @Nullable String after, Place place, List<Written> page, boolean last) {
    if (!last) {
      return Place.within(place.next(), page.getLast());
    }
    boolean nothingEver = after == null && page.isEmpty();
    return nothingEver ? null : Place.caughtUp(place.next());
  }

  private long now() throws InterruptedException {
    return ask(
        "SELECT toUnixTimestamp64Nano(now64(9)) FORMAT RowBinary", Map.of(), RowBinary::readInt64);
  }

  private List<Written> written(String tenant, EntryKind kind, Written last, int limit)
      throws InterruptedException {
    var table = DictionaryTable.of(kind);
    var parameters = new HashMap<>(table.scope(tenant, kind));
    parameters.put("at", String.valueOf(last.atNanos()));
    parameters.put("after", last.id().toString());
    parameters.put("limit", String.valueOf(limit));
    return ask(table.written(), parameters, RowBinary::readWritten);
  }

  /** In the same order. */
  private List<DictionaryEntry> entries(String tenant, EntryKind kind, List<Written> page)
      throws InterruptedException {
    var entries = new HashMap<UUID, DictionaryEntry>();
    for (var entry : find(tenant, kind, page.stream().map(Written::id).toList())) {
      entries.put(entry.id(), entry);
    }
    return page.stream().flatMap(one -> Stream.ofNullable(entries.get(one.id()))).toList();
  }

  private <T> T ask(String sql, Map<String, String> parameters, ClickHouseHttp.Body<T> body)
      throws InterruptedException {
    return store.ask(sql, parameters, body);
  }

  /** What follows from it here. */
  private ClickHouseFailed known(ClickHouseFailed e) throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    if (e.kind() == ClickHouseFailed.Kind.SCHEMA) {
      schema.doubt();
    }
    return e;
  }
}
