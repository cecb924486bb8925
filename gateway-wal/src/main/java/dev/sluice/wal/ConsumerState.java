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
 * The state of the WAL that is not in its frames: the acknowledged position, the open delivery,
 * skipped and quarantined frames, dead letters, used idempotency keys, and record counts. A change
 * that must survive a restart is written as a {@link JournalEvent} before it is applied.
 *
 * <p>The counts of a day are independent of each other: accepted records are counted when a frame
 * is written, in-flight records from the frames after the acknowledged position, dead letters from
 * the dead letter table. So a loss of records shows as a difference between the counts.
 *
 * <p>Safe for use by many threads; no method blocks.
 */
final class ConsumerState {
  static final int VERSION = 1;

  /** Maximum number of idempotency keys in one line of a snapshot. */
  private static final int KEYS_PER_LINE = 1_000;

  private final DeadLetterTable deadLetterTable;
  private final IdempotencyKeyTable idempotencyKeyTable;

  private boolean initialized;
  private @Nullable LocalDate countsCompleteSince;
  private @Nullable FramePosition ackedPosition;
  private JournalEvent.@Nullable DeliveryStarted openDelivery;
  private long ackedRecords;

  /** Frames that are not delivered and stay in the spool. */
  private final TreeMap<FramePosition, JournalEvent.FrameSkipped> skippedFrames = new TreeMap<>();

  private final TreeMap<FramePosition, JournalEvent.FrameQuarantined> quarantinedFrames =
      new TreeMap<>();

  /** Ids of replayed dead letters by the append id of the replay, until it is acknowledged. */
  private final Map<UUID, Long> replays = new HashMap<>();

  private final UnackedCounts unackedCounts = new UnackedCounts();
  private final TreeMap<LocalDate, Long> purgedByDay = new TreeMap<>();
  private final TreeMap<LocalDate, Long> acceptedByDay = new TreeMap<>();

  /** The last frame in {@link #acceptedByDay}. */
  private @Nullable FramePosition countedPosition;

  /** The values of {@link #acceptedByDay} that the journal contains. */
  private Map<LocalDate, Long> journaledAccepted = Map.of();

  ConsumerState(DeadLetterTable deadLetterTable, IdempotencyKeyTable idempotencyKeyTable) {
    this.deadLetterTable = deadLetterTable;
    this.idempotencyKeyTable = idempotencyKeyTable;
  }

  /** Applies an event that the journal contains. */
  synchronized void apply(JournalEvent event) {
    switch (event) {
      case JournalEvent.Snapshot snapshot -> {
        initialized = true;
        ackedPosition = snapshot.last();
        countedPosition = snapshot.counted();
        ackedRecords = snapshot.records();
        countsCompleteSince = snapshot.since();
        deadLetterTable.advanceLastId(snapshot.letters());
        openDelivery = null;
      }
      case JournalEvent.DeliveryStarted started -> openDelivery = started;
      case JournalEvent.DeliveryAcked acked -> apply(acked);
      case JournalEvent.FrameSkipped skipped -> {
        skippedFrames.put(skipped.position(), skipped);
        removeReplayed(skipped.append());
      }
      case JournalEvent.DeliverySuspended suspended -> {
        suspended.frames().forEach(this::apply);
        ackedPosition = isAfter(suspended.last(), ackedPosition) ? suspended.last() : ackedPosition;
        openDelivery = null;
      }
      case JournalEvent.FrameQuarantined quarantined -> {
        quarantinedFrames.put(quarantined.position(), quarantined);
        skippedFrames.remove(quarantined.position());
      }
      case JournalEvent.DeadLettersPurged purged -> {
        purged.letters().forEach(deadLetterTable::remove);
        purged.days().forEach((day, count) -> purgedByDay.merge(day, count, Long::sum));
      }
      case JournalEvent.ReplayStarted started -> replays.put(started.append(), started.letter());
      case JournalEvent.ReplayCompleted completed -> removeReplayed(completed.append());
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
    var deadLetterId = append == null ? null : replays.get(append);
    if (deadLetterId != null) {
      deadLetterTable.remove(deadLetterId);
    }
  }

  /** Applies an event that is read from the journal, including the counts that it contains. */
  synchronized void restore(JournalEvent event) {
    apply(event);
    if (event instanceof JournalEvent.DeliveryAcked acked) {
      acceptedByDay.putAll(acked.accepted());
      countedPosition = acked.counted() == null ? countedPosition : acked.counted();
      journaledAccepted = Map.copyOf(acceptedByDay);
    }
  }

  /**
   * Returns the position after which the existing frames must be passed to {@link #count} at a
   * start; null for all frames.
   */
  synchronized @Nullable FramePosition countStart() {
    if (countedPosition == null || ackedPosition == null) {
      return null;
    }
    return isAfter(ackedPosition, countedPosition) ? countedPosition : ackedPosition;
  }

  /**
   * Counts a frame of the log. Frames are passed in the order of their positions.
   *
   * @param append the append id of the frame; null when the frame is unreadable
   * @param day the receive day of its records
   */
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

  /**
   * Forgets skipped frames and replays that are not in the log. Called when all frames are counted.
   *
   * @param missing positions of the skipped frames that do not exist
   * @param appends append ids of the replays that exist
   */
  synchronized void dropMissing(Set<FramePosition> missing, Set<UUID> appends) {
    missing.forEach(skippedFrames::remove);
    replays.keySet().retainAll(appends);
  }

  synchronized List<JournalEvent.FrameSkipped> skippedFrames() {
    return List.copyOf(skippedFrames.values());
  }

  /** Returns the number of frames that this release cannot deliver. */
  synchronized int skippedEntries() {
    return (int)
        skippedFrames.values().stream()
            .filter(frame -> frame.skipReason() != JournalEvent.FrameSkipped.SkipReason.DOUBTFUL)
            .count();
  }

  synchronized @Nullable FramePosition ackedPosition() {
    return ackedPosition;
  }

  /** Whether the journal is empty. */
  synchronized boolean isNew() {
    return !initialized;
  }

  /** Returns the last position that this state contains; null when it contains none. */
  synchronized @Nullable FramePosition lastKnownPosition() {
    var known = Stream.of(skippedFrames.navigableKeySet(), quarantinedFrames.navigableKeySet());
    var openPosition = openDelivery == null ? null : openDelivery.last();
    return Stream.concat(
            known.flatMap(Set::stream), Stream.of(ackedPosition, countedPosition, openPosition))
        .filter(Objects::nonNull)
        .max(Comparator.naturalOrder())
        .orElse(null);
  }

  /** Whether the append replays a dead letter. */
  synchronized boolean isReplay(UUID append) {
    return replays.containsKey(append);
  }

  synchronized JournalEvent.@Nullable DeliveryStarted openDelivery() {
    return openDelivery;
  }

  synchronized boolean isSkipped(FramePosition position) {
    return skippedFrames.containsKey(position) || quarantinedFrames.containsKey(position);
  }

  /** Whether the frame is skipped and may be delivered later. */
  synchronized boolean isRetryable(FramePosition position) {
    var skipped = skippedFrames.get(position);
    return skipped != null && skipped.retryable();
  }

  /** Returns the position of the first skipped frame of each segment that has skipped frames. */
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

  /**
   * Returns the event that acknowledges a delivery, without applying it.
   *
   * @param drained whether the other spool has all entries of the delivery
   * @return null when the dead letters exceed the capacity
   */
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
   * Applies the event of {@link #ackEvent} after it is written to the journal.
   *
   * @return number of records that were counted as in flight but are missing from the log
   */
  synchronized long ack(
      JournalEvent.DeliveryAcked acked, List<PositionedEntry> entries, boolean drained) {
    var journaled = new HashMap<>(journaledAccepted);
    journaled.putAll(acked.accepted());
    journaledAccepted = journaled;
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

  /**
   * Removes a frame from the unacknowledged counts. Does nothing for a frame that {@link #count}
   * has not counted yet: it does not add a frame that is skipped or acknowledged by then.
   */
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
      return new DeliveryStatus.Unknown("the frame was not appended here");
    }
    if (quarantinedFrames.containsKey(position)) {
      return new DeliveryStatus.Unknown("the frame is damaged and in quarantine");
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
   * Returns the first day from which on all records are counted by day; null when that day is
   * unknown and no record is counted.
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
    for (var frame : skippedFrames.values()) {
      days.merge(frame.day(), new RecordCounts(0, frame.records(), 0, 0, 0), RecordCounts::plus);
    }
    for (var frame : quarantinedFrames.values()) {
      days.merge(frame.day(), new RecordCounts(0, 0, 0, 0, frame.records()), RecordCounts::plus);
    }
    return new TreeMap<>(days.tailMap(from));
  }

  private static void add(
      Map<LocalDate, RecordCounts> days,
      Map<LocalDate, Long> counts,
      LongFunction<RecordCounts> toRecordCounts) {
    counts.forEach(
        (day, count) -> days.merge(day, toRecordCounts.apply(count), RecordCounts::plus));
  }

  synchronized @Nullable DeadLetter findDeadLetter(long id) {
    return deadLetterTable.find(id);
  }

  /** Returns the dead letters with a higher id than {@code id}, oldest first. */
  synchronized List<DeadLetterQueue.DeadLetterItem> deadLettersAfter(long id, int limit) {
    return deadLetterTable.entriesAfter(id).entrySet().stream()
        .limit(limit)
        .map(
            entry ->
                new DeadLetterQueue.DeadLetterItem(Long.toString(entry.getKey()), entry.getValue()))
        .toList();
  }

  synchronized DeadLetterQueue.Capacity capacity() {
    return new DeadLetterQueue.Capacity(deadLetterTable.size(), deadLetterTable.capacity());
  }

  /** Forgets a replay whose append has failed. */
  synchronized void forgetReplay(UUID append) {
    replays.remove(append);
  }

  /**
   * Returns the complete state as events that can replace the journal. The caller may discard them:
   * the next event of {@link #ackEvent} contains all totals in either case.
   */
  synchronized List<JournalEvent> snapshot() {
    journaledAccepted = Map.of();
    var events = new ArrayList<JournalEvent>();
    events.add(
        new JournalEvent.Snapshot(
            VERSION,
            ackedPosition,
            countedPosition,
            ackedRecords,
            deadLetterTable.lastId(),
            countsCompleteSince));
    events.add(
        new JournalEvent.DeliveryAcked(
            null, 0, List.of(), List.of(), List.of(), acceptedByDay, countedPosition));
    deadLetterTable
        .entriesAfter(0)
        .forEach(
            (id, deadLetter) ->
                events.add(
                    snapshotPart(
                        List.of(JournalEvent.DeadLetterEntry.of(id, deadLetter)), List.of())));
    var keys = idempotencyKeyTable.completedKeys();
    for (int i = 0; i < keys.size(); i += KEYS_PER_LINE) {
      events.add(
          snapshotPart(List.of(), keys.subList(i, Math.min(i + KEYS_PER_LINE, keys.size()))));
    }
    replays.forEach(
        (append, deadLetterId) -> events.add(new JournalEvent.ReplayStarted(deadLetterId, append)));
    events.addAll(skippedFrames.values());
    events.addAll(quarantinedFrames.values());
    events.add(new JournalEvent.DeadLettersPurged(List.of(), purgedByDay));
    if (openDelivery != null) {
      events.add(openDelivery);
    }
    return events;
  }

  private static JournalEvent.DeliveryAcked snapshotPart(
      List<JournalEvent.DeadLetterEntry> deadLetters, List<JournalEvent.CompletedKey> keys) {
    return new JournalEvent.DeliveryAcked(null, 0, deadLetters, keys, List.of(), Map.of(), null);
  }

  static boolean isAfter(FramePosition position, @Nullable FramePosition other) {
    return other == null || position.compareTo(other) > 0;
  }
}
