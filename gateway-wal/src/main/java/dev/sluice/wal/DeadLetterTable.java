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
final class DeadLetterTable {
  private static final long MAX_BYTES = 128L << 20;

  /** What a letter takes beside its bytes, about. */
  private static final long ENTRY_OVERHEAD_BYTES = 512;

  private final int capacity;
  private final TreeMap<Long, DeadLetter> letters = new TreeMap<>();
  private long bytes;
  private long lastId;

  DeadLetterTable(int capacity) {
    this.capacity = capacity;
  }

  /**
   * Where there are none, bytes do not matter: else a delivery of many large ones would never end.
   */
  boolean hasCapacityFor(List<DeadLetter> additional) {
    return additional.isEmpty()
        || letters.size() + (long) additional.size() <= capacity
            && (letters.isEmpty()
                || bytes + additional.stream().mapToLong(DeadLetterTable::bytes).sum()
                    <= MAX_BYTES);
  }

  /** How many there may be; fewer than configured when those that are there are large. */
  int capacity() {
    return bytes == 0 ? capacity : (int) Math.min(capacity, letters.size() * MAX_BYTES / bytes);
  }

  private static long bytes(DeadLetter letter) {
    return ENTRY_OVERHEAD_BYTES + letter.log().otlp().length;
  }

  /** As they will be called; nothing is kept yet. */
  List<JournalEvent.DeadLetterEntry> toEntries(List<DeadLetter> additional) {
    var entries = new ArrayList<JournalEvent.DeadLetterEntry>();
    for (var letter : additional) {
      entries.add(JournalEvent.DeadLetterEntry.of(lastId + entries.size() + 1, letter));
    }
    return entries;
  }

  void put(JournalEvent.DeadLetterEntry entry) {
    remove(entry.id());
    var deadLetter = entry.toDeadLetter();
    letters.put(entry.id(), deadLetter);
    bytes += bytes(deadLetter);
    lastId = Math.max(lastId, entry.id());
  }

  void remove(long id) {
    var removed = letters.remove(id);
    bytes -= removed == null ? 0 : bytes(removed);
  }

  @Nullable DeadLetter find(long id) {
    return letters.get(id);
  }

  /** Oldest first, behind that number. */
  Map<Long, DeadLetter> lettersAfter(long id) {
    return letters.tailMap(id, false);
  }

  int size() {
    return letters.size();
  }

  /** Number of the one that came last, which may be gone. */
  long lastId() {
    return lastId;
  }

  void lastId(long number) {
    lastId = Math.max(lastId, number);
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
