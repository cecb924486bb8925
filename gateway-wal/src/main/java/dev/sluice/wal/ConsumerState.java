package dev.sluice.wal;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.DeadLetterQueue;
import dev.sluice.core.port.Spool.DeliveryStatus;
import dev.sluice.core.port.Spool.RecordCounts;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.LongFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What is known beside the frames themselves: what is settled, handed out, aside, quarantined,
 * dead, taken and counted. Everything of it that must survive is an {@link JournalEvent} first.
 *
 * <p>The counts of a day are each made where they live: accepted when a frame is there, in flight
 * from the frames behind the settled position, dead letters from the letters. None follows from the
 * others, so that what is lost is seen.
 *
 * <p>Safe for use by many threads; nothing blocks.
 */
final class ConsumerState {
  static final int VERSION = 1;

  /** In one line of what stands for many. */
  private static final int KEYS_PER_LINE = 1_000;

  private final DeadLetterTable deadLetterTable;
  private final IdempotencyKeyTable idempotencyKeyTable;

  private boolean initialized;
  private @Nullable LocalDate countsCompleteSince;
  private @Nullable FramePosition ackedPosition;
  private JournalEvent.@Nullable DeliveryStarted openDelivery;
  private long ackedRecords;

  /** Passed over; they stay. */
  private final TreeMap<FramePosition, JournalEvent.FrameSkipped> skippedFrames = new TreeMap<>();

  private final TreeMap<FramePosition, JournalEvent.FrameQuarantined> quarantinedFrames =
      new TreeMap<>();

  /** Letters by the appends by which they came back, until those are settled. */
  private final Map<UUID, Long> replays = new HashMap<>();

  private final UnackedCounts unackedCounts = new UnackedCounts();
  private final TreeMap<LocalDate, Long> purgedByDay = new TreeMap<>();
  private final TreeMap<LocalDate, Long> acceptedByDay = new TreeMap<>();

  /** The last frame in {@link #acceptedByDay}. */
  private @Nullable FramePosition countedPosition;

  /** What the journal has of {@link #acceptedByDay}. */
  private Map<LocalDate, Long> journaledAccepted = Map.of();

  ConsumerState(DeadLetterTable deadLetterTable, IdempotencyKeyTable idempotencyKeyTable) {
    this.deadLetterTable = deadLetterTable;
    this.idempotencyKeyTable = idempotencyKeyTable;
  }

  /** It has happened, and is written down. */
  synchronized void apply(JournalEvent event) {
    switch (event) {
      case JournalEvent.Snapshot snapshot -> {
        initialized = true;
        ackedPosition = snapshot.last();
        countedPosition = snapshot.counted();
        ackedRecords = snapshot.records();
        countsCompleteSince = snapshot.since();
        deadLetterTable.lastId(snapshot.letters());
        openDelivery = null;
      }
      case JournalEvent.DeliveryStarted started -> openDelivery = started;
      case JournalEvent.DeliveryAcked acked -> apply(acked);
      case JournalEvent.FrameSkipped one -> {
        skippedFrames.put(one.position(), one);
        removeReplayed(one.append());
      }
      case JournalEvent.DeliverySuspended suspended -> {
        suspended.frames().forEach(this::apply);
        ackedPosition = isAfter(suspended.last(), ackedPosition) ? suspended.last() : ackedPosition;
        openDelivery = null;
      }
      case JournalEvent.FrameQuarantined one -> {
        quarantinedFrames.put(one.position(), one);
        skippedFrames.remove(one.position());
      }
      case JournalEvent.DeadLettersPurged purge -> {
        purge.letters().forEach(deadLetterTable::remove);
        purge.days().forEach((day, count) -> purgedByDay.merge(day, count, Long::sum));
      }
      case JournalEvent.ReplayStarted one -> replays.put(one.append(), one.letter());
      case JournalEvent.ReplayCompleted one -> removeReplayed(one.append());
    }
  }

  private void apply(JournalEvent.DeliveryAcked acked) {
    var last = acked.last();
    if (last != null) {
      if (isAfter(last, ackedPosition)) {
        ackedPosition = last;
      } else {
        skippedFrames.remove(last);
      }
      openDelivery = null;
    }
    ackedRecords += acked.records();
    acked.letters().forEach(deadLetterTable::put);
    acked.keys().forEach(idempotencyKeyTable::complete);
    for (var append : acked.replayed()) {
      removeReplayed(append);
      replays.remove(append);
    }
  }

  private void removeReplayed(@Nullable UUID append) {
    var letter = append == null ? null : replays.get(append);
    if (letter != null) {
      deadLetterTable.remove(letter);
    }
  }

  /** As {@link #apply}, from the journal: the counts of that time are taken over. */
  synchronized void restore(JournalEvent event) {
    apply(event);
    if (event instanceof JournalEvent.DeliveryAcked acked) {
      acceptedByDay.putAll(acked.accepted());
      countedPosition = acked.counted() == null ? countedPosition : acked.counted();
      journaledAccepted = Map.copyOf(acceptedByDay);
    }
  }

  /** From where on {@link #count} has to be told of the frames that are there. */
  synchronized @Nullable FramePosition countStart() {
    if (countedPosition == null || ackedPosition == null) {
      return null;
    }
    return isAfter(ackedPosition, countedPosition) ? countedPosition : ackedPosition;
  }

  /** A frame is there; in the order of their positions. */
  synchronized void count(
      FramePosition position, @Nullable UUID append, LocalDate day, int records) {
    boolean replayed = append != null && replays.containsKey(append);
    if (isAfter(position, countedPosition)) {
      if (!replayed) {
        acceptedByDay.merge(day, (long) records, Long::sum);
      }
      countedPosition = position;
    }
    removeReplayed(append);
    if (isAfter(position, ackedPosition)
        && !skippedFrames.containsKey(position)
        && !quarantinedFrames.containsKey(position)) {
      unackedCounts.add(position, day, records);
    }
  }

  /** All frames are counted: what is not there, is not. */
  synchronized void dropMissing(Set<FramePosition> missing, Set<UUID> appends) {
    missing.forEach(skippedFrames::remove);
    replays.keySet().retainAll(appends);
  }

  synchronized List<JournalEvent.FrameSkipped> skippedFrames() {
    return List.copyOf(skippedFrames.values());
  }

  /** Passed over for good, or until a newer release comes. */
  synchronized int skippedEntries() {
    return (int)
        skippedFrames.values().stream()
            .filter(one -> one.skipReason() != JournalEvent.FrameSkipped.SkipReason.DOUBTFUL)
            .count();
  }

  synchronized @Nullable FramePosition ackedPosition() {
    return ackedPosition;
  }

  /** Nothing was ever written about it. */
  synchronized boolean isNew() {
    return !initialized;
  }

  synchronized @Nullable FramePosition dropMissing() {
    return countedPosition;
  }

  /** The last frame that anything was ever written about; null when nothing was. */
  synchronized @Nullable FramePosition lastKnownPosition() {
    var known = Stream.of(skippedFrames.navigableKeySet(), quarantinedFrames.navigableKeySet());
    var openPosition = openDelivery == null ? null : openDelivery.last();
    return Stream.concat(
            known.flatMap(Set::stream), Stream.of(ackedPosition, countedPosition, openPosition))
        .filter(Objects::nonNull)
        .max(Comparator.naturalOrder())
        .orElse(null);
  }

  /** Whether a letter comes back by that append. */
  synchronized boolean isReplay(UUID append) {
    return replays.containsKey(append);
  }

  synchronized JournalEvent.@Nullable DeliveryStarted openDelivery() {
    return openDelivery;
  }

  synchronized boolean isSkipped(FramePosition position) {
    return skippedFrames.containsKey(position) || quarantinedFrames.containsKey(position);
  }

  /** Whether it is passed over for the time being. */
  synchronized boolean isRetryable(FramePosition position) {
    var one = skippedFrames.get(position);
    return one != null && one.retryable();
  }

  /** Of each segment with frames that were passed over, the first of these. */
  synchronized List<FramePosition> firstSkippedPerSegment() {
    var positions = new ArrayList<FramePosition>();
    for (var first = skippedFrames.firstEntry(); first != null; ) {
      var position = first.getKey();
      positions.add(position);
      first =
          skippedFrames.higherEntry(
              new FramePosition(position.day(), position.segment(), Integer.MAX_VALUE));
    }
    return positions;
  }

  /** The line for a delivery that is over; null when there is no room for its letters. */
  synchronized JournalEvent.@Nullable DeliveryAcked ackEvent(
      FramePosition last,
      List<PositionedEntry> entries,
      List<DeadLetter> deadLetters,
      boolean drained) {
    if (!deadLetterTable.hasCapacityFor(deadLetters)) {
      return null;
    }
    var completedKeys = new ArrayList<JournalEvent.CompletedKey>();
    var replayed = new ArrayList<UUID>();
    var totals = new TreeMap<>(acceptedByDay);
    long records = 0;
    for (var entry : entries) {
      var batch = entry.entry().batch();
      if (entry.entry().key() != null) {
        completedKeys.add(
            IdempotencyKeyTable.completedKey(entry.entry().key(), batch.receivedNanos()));
      }
      if (replays.containsKey(batch.appendId())) {
        replayed.add(batch.appendId());
      }
      if (drained) {
        totals.merge(batch.day(), (long) -batch.records(), Long::sum);
      } else {
        records += batch.records();
      }
    }
    totals
        .entrySet()
        .removeIf(total -> total.getValue().equals(journaledAccepted.get(total.getKey())));
    return new JournalEvent.DeliveryAcked(
        last,
        records,
        deadLetterTable.toEntries(deadLetters),
        completedKeys,
        replayed,
        totals,
        countedPosition);
  }

  /**
   * That line is written.
   *
   * @return records that were in flight and never turned up
   */
  synchronized long ack(
      JournalEvent.DeliveryAcked acked, List<PositionedEntry> entries, boolean drained) {
    var now = new HashMap<>(journaledAccepted);
    now.putAll(acked.accepted());
    journaledAccepted = now;
    for (var entry : entries) {
      var batch = entry.entry().batch();
      if (drained) {
        acceptedByDay.merge(batch.day(), (long) -batch.records(), Long::sum);
      }
      if (!skippedFrames.containsKey(entry.position())) {
        removeUnacked(entry.position(), batch.day(), batch.records());
      }
    }
    apply(acked);
    return ackedPosition == null ? 0 : unackedCounts.dropBefore(ackedPosition);
  }

  /** Of a frame that is counted later than it was read, {@link #count} takes no notice. */
  private void removeUnacked(FramePosition position, LocalDate day, int records) {
    if (!isAfter(position, countedPosition)) {
      unackedCounts.remove(position, day, records);
    }
  }

  synchronized void skip(JournalEvent.FrameSkipped frame) {
    boolean wasSkipped = skippedFrames.containsKey(frame.position());
    apply(frame);
    if (!wasSkipped) {
      removeUnacked(frame.position(), frame.day(), frame.records());
    }
  }

  synchronized void suspendDelivery(JournalEvent.DeliverySuspended suspended) {
    for (var frame : suspended.frames()) {
      if (!skippedFrames.containsKey(frame.position())) {
        removeUnacked(frame.position(), frame.day(), frame.records());
      }
    }
    apply(suspended);
  }

  synchronized void quarantine(JournalEvent.FrameQuarantined frame) {
    boolean wasSkipped = skippedFrames.containsKey(frame.position());
    apply(frame);
    if (!wasSkipped) {
      removeUnacked(frame.position(), frame.day(), frame.records());
    }
  }

  synchronized DeliveryStatus statusOf(FramePosition position, LogId firstId, int records) {
    if (isAfter(position, countedPosition)) {
      return new DeliveryStatus.Unknown("never appended here");
    }
    if (quarantinedFrames.containsKey(position)) {
      return new DeliveryStatus.Unknown("its frame was damaged and is in quarantine");
    }
    return isAfter(position, ackedPosition) || skippedFrames.containsKey(position)
        ? new DeliveryStatus.Pending()
        : new DeliveryStatus.Delivered(
            deadLetterTable.countBetween(firstId, firstId.plus(records)));
  }

  synchronized long pendingFrames() {
    return unackedCounts.frames() + skippedFrames.size();
  }

  synchronized long pendingRecords() {
    return unackedCounts.records()
        + skippedFrames.values().stream().mapToLong(JournalEvent.FrameSkipped::records).sum();
  }

  synchronized long ackedRecords() {
    return ackedRecords;
  }

  synchronized List<WalSpool.DamagedFrame> quarantinedFrames() {
    return quarantinedFrames.values().stream()
        .map(JournalEvent.FrameQuarantined::toDamagedFrame)
        .toList();
  }

  /**
   * The first day from which on everything was counted; null when that cannot be told and nothing
   * was.
   */
  synchronized @Nullable LocalDate countsCompleteSince() {
    return countsCompleteSince != null || acceptedByDay.isEmpty()
        ? countsCompleteSince
        : acceptedByDay.firstKey();
  }

  synchronized SortedMap<LocalDate, RecordCounts> recordCounts(LocalDate from) {
    var days = new TreeMap<LocalDate, RecordCounts>();
    add(days, acceptedByDay, count -> new RecordCounts(count, 0, 0, 0, 0));
    add(days, unackedCounts.byDay(), count -> new RecordCounts(0, count, 0, 0, 0));
    add(days, deadLetterTable.byDay(), count -> new RecordCounts(0, 0, count, 0, 0));
    add(days, purgedByDay, count -> new RecordCounts(0, 0, 0, count, 0));
    for (var one : skippedFrames.values()) {
      days.merge(one.day(), new RecordCounts(0, one.records(), 0, 0, 0), RecordCounts::plus);
    }
    for (var one : quarantinedFrames.values()) {
      days.merge(one.day(), new RecordCounts(0, 0, 0, 0, one.records()), RecordCounts::plus);
    }
    return new TreeMap<>(days.tailMap(from));
  }

  private static void add(
      Map<LocalDate, RecordCounts> days,
      Map<LocalDate, Long> counts,
      LongFunction<RecordCounts> tally) {
    counts.forEach((day, count) -> days.merge(day, tally.apply(count), RecordCounts::plus));
  }

  synchronized @Nullable DeadLetter letter(long id) {
    return deadLetterTable.find(id);
  }

  /** Oldest first, behind that number. */
  synchronized List<DeadLetterQueue.DeadLetterItem> letters(long after, int limit) {
    return deadLetterTable.lettersAfter(after).entrySet().stream()
        .limit(limit)
        .map(
            letter ->
                new DeadLetterQueue.DeadLetterItem(
                    Long.toString(letter.getKey()), letter.getValue()))
        .toList();
  }

  synchronized DeadLetterQueue.Capacity capacity() {
    return new DeadLetterQueue.Capacity(deadLetterTable.size(), deadLetterTable.capacity());
  }

  /** An append by which a letter was to come back has failed. */
  synchronized void forgetReplay(UUID append) {
    replays.remove(append);
  }

  /**
   * Everything, in as few lines as need be. They may come to be the journal or not: the next line
   * of {@link #ackEvent} has every total.
   */
  synchronized List<JournalEvent> snapshot() {
    journaledAccepted = Map.of();
    var lines = new ArrayList<JournalEvent>();
    lines.add(
        new JournalEvent.Snapshot(
            VERSION,
            ackedPosition,
            countedPosition,
            ackedRecords,
            deadLetterTable.lastId(),
            countsCompleteSince));
    lines.add(
        new JournalEvent.DeliveryAcked(
            null, 0, List.of(), List.of(), List.of(), acceptedByDay, countedPosition));
    deadLetterTable
        .lettersAfter(0)
        .forEach(
            (id, letter) ->
                lines.add(
                    snapshotPart(List.of(JournalEvent.DeadLetterEntry.of(id, letter)), List.of())));
    var all = idempotencyKeyTable.completedKeys();
    for (int i = 0; i < all.size(); i += KEYS_PER_LINE) {
      lines.add(snapshotPart(List.of(), all.subList(i, Math.min(i + KEYS_PER_LINE, all.size()))));
    }
    replays.forEach((append, letter) -> lines.add(new JournalEvent.ReplayStarted(letter, append)));
    lines.addAll(skippedFrames.values());
    lines.addAll(quarantinedFrames.values());
    lines.add(new JournalEvent.DeadLettersPurged(List.of(), purgedByDay));
    if (openDelivery != null) {
      lines.add(openDelivery);
    }
    return lines;
  }

  private static JournalEvent.DeliveryAcked snapshotPart(
      List<JournalEvent.DeadLetterEntry> letters, List<JournalEvent.CompletedKey> keys) {
    return new JournalEvent.DeliveryAcked(null, 0, letters, keys, List.of(), Map.of(), null);
  }

  static boolean isAfter(FramePosition position, @Nullable FramePosition other) {
    return other == null || position.compareTo(other) > 0;
  }
}
