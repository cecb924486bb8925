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
 * The dead letters in memory, by id. Their number and their total size are limited, because a dead
 * letter can be as large as the largest log. For use by one thread at a time.
 */
final class DeadLetterTable {
  private static final long MAX_BYTES = 128L << 20;

  /** Approximate memory of a dead letter besides its OTLP bytes, in bytes. */
  private static final long ENTRY_OVERHEAD_BYTES = 512;

  private final int capacity;
  private final TreeMap<Long, DeadLetter> deadLetters = new TreeMap<>();
  private long bytes;
  private long lastId;

  DeadLetterTable(int capacity) {
    this.capacity = capacity;
  }

  /**
   * Whether the table can hold additional dead letters. The size limit does not apply to an empty
   * table: otherwise a delivery with many large dead letters could never be acknowledged.
   */
  boolean hasCapacityFor(List<DeadLetter> additional) {
    return additional.isEmpty()
        || deadLetters.size() + (long) additional.size() <= capacity
            && (deadLetters.isEmpty()
                || bytes + additional.stream().mapToLong(DeadLetterTable::bytes).sum()
                    <= MAX_BYTES);
  }

  /**
   * Returns the maximum number of dead letters: less than configured when the present ones are
   * large.
   */
  int capacity() {
    return bytes == 0 ? capacity : (int) Math.min(capacity, deadLetters.size() * MAX_BYTES / bytes);
  }

  private static long bytes(DeadLetter deadLetter) {
    return ENTRY_OVERHEAD_BYTES + deadLetter.log().otlp().length;
  }

  /** Assigns ids to additional dead letters, without adding them to the table. */
  List<JournalEvent.DeadLetterEntry> toEntries(List<DeadLetter> additional) {
    var entries = new ArrayList<JournalEvent.DeadLetterEntry>();
    for (var deadLetter : additional) {
      entries.add(JournalEvent.DeadLetterEntry.of(lastId + entries.size() + 1, deadLetter));
    }
    return entries;
  }

  void put(JournalEvent.DeadLetterEntry entry) {
    remove(entry.id());
    var deadLetter = entry.toDeadLetter();
    deadLetters.put(entry.id(), deadLetter);
    bytes += bytes(deadLetter);
    lastId = Math.max(lastId, entry.id());
  }

  void remove(long id) {
    var removed = deadLetters.remove(id);
    bytes -= removed == null ? 0 : bytes(removed);
  }

  @Nullable DeadLetter find(long id) {
    return deadLetters.get(id);
  }

  /** Returns the dead letters with a higher id, oldest first. */
  Map<Long, DeadLetter> entriesAfter(long id) {
    return deadLetters.tailMap(id, false);
  }

  int size() {
    return deadLetters.size();
  }

  /** Returns the id of the latest dead letter, which may no longer exist. */
  long lastId() {
    return lastId;
  }

  /** Makes the ids of later dead letters higher than {@code id}. */
  void advanceLastId(long id) {
    lastId = Math.max(lastId, id);
  }

  int countBetween(LogId first, LogId end) {
    return (int)
        deadLetters.values().stream()
            .map(deadLetter -> deadLetter.log().firstId())
            .filter(id -> id.compareTo(first) >= 0 && id.compareTo(end) < 0)
            .count();
  }

  Map<LocalDate, Long> byDay() {
    var days = new TreeMap<LocalDate, Long>();
    deadLetters.values().forEach(deadLetter -> days.merge(deadLetter.log().day(), 1L, Long::sum));
    return days;
  }
}
