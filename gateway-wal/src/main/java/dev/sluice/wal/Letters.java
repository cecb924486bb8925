package dev.sluice.wal;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogId;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The dead letters there are, in memory, by number. Bounded in bytes as well: a letter may be as
 * large as a log may be. For one thread at a time.
 */
final class Letters {
  private static final long MAX_BYTES = 128L << 20;

  /** What a letter takes beside its bytes, about. */
  private static final long EACH = 512;

  private final int capacity;
  private final TreeMap<Long, DeadLetter> letters = new TreeMap<>();
  private long bytes;
  private long last;

  Letters(int capacity) {
    this.capacity = capacity;
  }

  /**
   * Where there are none, bytes do not matter: else a delivery of many large ones would never end.
   */
  boolean haveRoom(List<DeadLetter> more) {
    return more.isEmpty()
        || letters.size() + (long) more.size() <= capacity
            && (letters.isEmpty()
                || bytes + more.stream().mapToLong(Letters::bytes).sum() <= MAX_BYTES);
  }

  /** How many there may be; fewer than configured when those that are there are large. */
  int capacity() {
    return bytes == 0 ? capacity : (int) Math.min(capacity, letters.size() * MAX_BYTES / bytes);
  }

  private static long bytes(DeadLetter letter) {
    return EACH + letter.log().otlp().length;
  }

  /** As they will be called; nothing is kept yet. */
  List<Event.Letter> numbered(List<DeadLetter> more) {
    var numbered = new ArrayList<Event.Letter>();
    for (var letter : more) {
      numbered.add(Event.Letter.of(last + numbered.size() + 1, letter));
    }
    return numbered;
  }

  void put(Event.Letter letter) {
    remove(letter.id());
    var kept = letter.letter();
    letters.put(letter.id(), kept);
    bytes += bytes(kept);
    last = Math.max(last, letter.id());
  }

  void remove(long id) {
    var removed = letters.remove(id);
    bytes -= removed == null ? 0 : bytes(removed);
  }

  @Nullable DeadLetter find(long id) {
    return letters.get(id);
  }

  /** Oldest first, behind that number. */
  Map<Long, DeadLetter> after(long id) {
    return letters.tailMap(id, false);
  }

  int size() {
    return letters.size();
  }

  /** Number of the one that came last, which may be gone. */
  long last() {
    return last;
  }

  void last(long number) {
    last = Math.max(last, number);
  }

  int countBetween(LogId first, LogId end) {
    return (int)
        letters.values().stream()
            .map(letter -> letter.log().firstId())
            .filter(id -> id.compareTo(first) >= 0 && id.compareTo(end) < 0)
            .count();
  }

  Map<LocalDate, Long> byDay() {
    var days = new TreeMap<LocalDate, Long>();
    letters.values().forEach(letter -> days.merge(letter.log().day(), 1L, Long::sum));
    return days;
  }
}
