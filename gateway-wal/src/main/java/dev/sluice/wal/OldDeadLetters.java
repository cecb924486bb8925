package dev.sluice.wal;

import java.time.LocalDate;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The dead letters that an earlier release kept in the journal, with their replays and the counts
 * of the purged ones. Nothing is added to them but from a journal. For use by one thread at a time.
 */
final class OldDeadLetters {
  private final TreeMap<Long, JournalEvent.DeadLetterEntry> entries = new TreeMap<>();

  /** Ids of replayed dead letters by the append id of the replay, until it is acknowledged. */
  private final Map<UUID, Long> replays = new HashMap<>();

  private final TreeMap<LocalDate, Long> purgedByDay = new TreeMap<>();
  private long lastId;

  void put(JournalEvent.DeadLetterEntry entry) {
    entries.put(entry.id(), entry);
    advanceLastId(entry.id());
  }

  void remove(JournalEvent.DeadLettersPurged purged) {
    purged.letters().forEach(entries::remove);
    purged.days().forEach((day, count) -> purgedByDay.merge(day, count, Long::sum));
  }

  void startReplay(JournalEvent.ReplayStarted started) {
    replays.put(started.append(), started.letter());
  }

  /** Removes the dead letter whose replay has this append id. */
  void removeReplayed(@Nullable UUID append) {
    var id = append == null ? null : replays.get(append);
    if (id != null) {
      entries.remove(id);
    }
  }

  /** Whether the append replays a dead letter, whose record is counted as accepted already. */
  boolean isReplay(@Nullable UUID append) {
    return append != null && replays.containsKey(append);
  }

  void forgetReplay(UUID append) {
    replays.remove(append);
  }

  void retainReplays(Set<UUID> appends) {
    replays.keySet().retainAll(appends);
  }

  /** Returns the oldest dead letters. */
  List<JournalEvent.DeadLetterEntry> first(int limit) {
    return entries.values().stream().limit(limit).toList();
  }

  /** Returns the id of the latest dead letter, which may no longer exist. */
  long lastId() {
    return lastId;
  }

  void advanceLastId(long id) {
    lastId = Math.max(lastId, id);
  }

  Map<LocalDate, Long> byDay() {
    var days = new TreeMap<LocalDate, Long>();
    entries.values().forEach(e -> days.merge(e.toDeadLetter().log().day(), 1L, Long::sum));
    return days;
  }

  Map<LocalDate, Long> purgedByDay() {
    return purgedByDay;
  }

  /** Returns the events of a snapshot. */
  List<JournalEvent> snapshot() {
    var events = new ArrayList<JournalEvent>();
    for (var entry : entries.values()) {
      events.add(
          new JournalEvent.DeliveryAcked(
              null, 0, List.of(entry), List.of(), List.of(), Map.of(), null));
    }
    replays.forEach((append, id) -> events.add(new JournalEvent.ReplayStarted(id, append)));
    events.add(new JournalEvent.DeadLettersPurged(List.of(), purgedByDay));
    return events;
  }
}
