package dev.sluice.testkit;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.domain.ReplayId;
import dev.sluice.core.port.DeadLetterStore;
import dev.sluice.core.port.SpoolConsumer.Delivery;
import dev.sluice.core.port.WriteResult;
import java.time.LocalDate;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Dead letters in memory. {@link #setUnavailable} makes all methods fail. Thread-safe; all state is
 * guarded by this object.
 */
public final class InMemoryDeadLetterStore implements DeadLetterStore {

  /** The states of a dead letter, in the order of their precedence. */
  private enum State {
    DEAD_LETTERED,
    PURGED,
    REPLAYING,
    REPLAYED;

    boolean isOpen() {
      return this == DEAD_LETTERED || this == REPLAYING;
    }
  }

  private record Row(DeadLetter letter, int replays, State state) {
    boolean isAfter(Row other) {
      return replays != other.replays ? replays > other.replays : state.compareTo(other.state) >= 0;
    }
  }

  private final TreeMap<LogId, Row> rows = new TreeMap<>();
  private boolean unavailable;

  /** Makes all methods fail as for a store that is away, or work again. */
  public synchronized void setUnavailable(boolean unavailable) {
    this.unavailable = unavailable;
  }

  private void requireAvailable() {
    if (unavailable) {
      throw new IllegalStateException("dead letter store unavailable");
    }
  }

  private void put(Row row) {
    rows.merge(row.letter().log().firstId(), row, (old, now) -> now.isAfter(old) ? now : old);
  }

  @Override
  public synchronized WriteResult write(Delivery delivery, List<DeadLetter> deadLetters) {
    if (unavailable) {
      return new WriteResult.Retryable("unavailable");
    }
    deadLetters.forEach(letter -> put(new Row(letter, letter.replays(), State.DEAD_LETTERED)));
    if (delivery.redelivered()) {
      var rejected =
          deadLetters.stream().map(letter -> letter.log().firstId()).collect(Collectors.toSet());
      rows.replaceAll(
          (id, row) ->
              row.state().isOpen()
                      && !rejected.contains(id)
                      && delivery.batches().stream().anyMatch(batch -> contains(batch, id))
                  ? new Row(row.letter(), row.replays(), State.REPLAYED)
                  : row);
    }
    return new WriteResult.Written();
  }

  private static boolean contains(LogBatch batch, LogId id) {
    return id.compareTo(batch.firstId()) >= 0
        && id.compareTo(batch.firstId().plus(batch.records())) < 0;
  }

  @Override
  public synchronized WriteResult adopt(List<DeadLetter> deadLetters) {
    if (unavailable) {
      return new WriteResult.Retryable("unavailable");
    }
    for (var letter : deadLetters) {
      var known = rows.get(letter.log().firstId());
      if (known == null) {
        put(new Row(letter, 0, State.DEAD_LETTERED));
      } else if (known.state() == State.REPLAYED) {
        put(new Row(letter, known.replays() + 1, State.DEAD_LETTERED));
      }
    }
    return new WriteResult.Written();
  }

  @Override
  public synchronized List<DeadLetterItem> list(@Nullable LogId after, int limit) {
    requireAvailable();
    return (after == null ? rows : rows.tailMap(after, false))
        .values().stream()
            .filter(row -> row.state().isOpen())
            .limit(limit)
            .map(InMemoryDeadLetterStore::item)
            .toList();
  }

  @Override
  public synchronized Optional<DeadLetterItem> find(LogId id) {
    requireAvailable();
    return Optional.ofNullable(rows.get(id))
        .filter(row -> row.state().isOpen())
        .map(InMemoryDeadLetterStore::item);
  }

  private static DeadLetterItem item(Row row) {
    var letter = row.letter();
    var log = letter.log();
    var next =
        new LogBatch(
            ReplayId.of(log.firstId(), row.replays() + 1),
            log.tenant(),
            log.receivedNanos(),
            log.firstId(),
            1,
            log.expandedBytes(),
            log.payload());
    return new DeadLetterItem(
        new DeadLetter(next, letter.reason(), letter.code(), letter.deadLetteredAt()),
        row.state() == State.REPLAYING);
  }

  @Override
  public synchronized void startReplay(DeadLetter deadLetter) {
    requireAvailable();
    put(new Row(deadLetter, deadLetter.replays(), State.REPLAYING));
  }

  @Override
  public synchronized void completeReplay(LogId id) {
    requireAvailable();
    change(id, State.REPLAYING, State.REPLAYED);
  }

  @Override
  public synchronized boolean purge(LogId id) {
    requireAvailable();
    return change(id, State.DEAD_LETTERED, State.PURGED);
  }

  private boolean change(LogId id, State from, State to) {
    var row = rows.get(id);
    if (row == null || row.state() != from) {
      return false;
    }
    rows.put(id, new Row(row.letter(), row.replays(), to));
    return true;
  }

  @Override
  public synchronized List<LogId> findBetween(LogId first, LogId last) {
    requireAvailable();
    return rows.subMap(first, true, last, true).entrySet().stream()
        .filter(row -> row.getValue().state() != State.REPLAYED)
        .map(Map.Entry::getKey)
        .toList();
  }

  @Override
  public synchronized SortedMap<LocalDate, DeadLetterCounts> counts(LocalDate from) {
    requireAvailable();
    var days = new TreeMap<LocalDate, DeadLetterCounts>();
    for (var row : rows.values()) {
      var count =
          switch (row.state()) {
            case DEAD_LETTERED -> new DeadLetterCounts(1, 0, 0);
            case REPLAYING -> new DeadLetterCounts(0, 1, 0);
            case PURGED -> new DeadLetterCounts(0, 0, 1);
            case REPLAYED -> DeadLetterCounts.NONE;
          };
      if (row.state() != State.REPLAYED) {
        days.merge(row.letter().log().day(), count, DeadLetterCounts::plus);
      }
    }
    return new TreeMap<>(days.tailMap(from));
  }
}
