package dev.sluice.wal;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.ReplayId;
import dev.sluice.core.port.DailyCounts.RecordCounts;
import dev.sluice.core.port.DeliveryStatusReader.DeliveryStatus;
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
 * skipped and quarantined frames, used idempotency keys, and record counts. A change that must
 * survive a restart is written as a {@link JournalEvent} before it is applied.
 *
 * <p>The counts of a day are independent of each other: accepted records are counted when a frame
 * is written, in-flight records from the frames after the acknowledged position. So a loss of
 * records shows as a difference between the counts.
 *
 * <p>Safe for use by many threads; no method blocks.
 */
final class ConsumerState {
  static final int VERSION = 1;

  /** Maximum number of idempotency keys in one line of a snapshot. */
  private static final int KEYS_PER_LINE = 1_000;

  private final OldDeadLetters oldDeadLetters = new OldDeadLetters();
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

  private final UnackedCounts unackedCounts = new UnackedCounts();
  private final TreeMap<LocalDate, Long> acceptedByDay = new TreeMap<>();

  /** The last frame in {@link #acceptedByDay}. */
  private @Nullable FramePosition countedPosition;

  /** The values of {@link #acceptedByDay} that the journal contains. */
  private Map<LocalDate, Long> journaledAccepted = Map.of();

  ConsumerState(IdempotencyKeyTable idempotencyKeyTable) {
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
        oldDeadLetters.advanceLastId(snapshot.letters());
        openDelivery = null;
      }
      case JournalEvent.DeliveryStarted started -> openDelivery = started;
      case JournalEvent.DeliveryAcked acked -> apply(acked);
      case JournalEvent.FrameSkipped skipped -> {
        skippedFrames.put(skipped.position(), skipped);
        oldDeadLetters.removeReplayed(skipped.append());
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
      case JournalEvent.DeadLettersPurged purged -> oldDeadLetters.remove(purged);
      case JournalEvent.ReplayStarted started -> oldDeadLetters.startReplay(started);
      case JournalEvent.ReplayCompleted completed ->
          oldDeadLetters.removeReplayed(completed.append());
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
    acked.letters().forEach(oldDeadLetters::put);
    acked.keys().forEach(idempotencyKeyTable::complete);
    for (var append : acked.replayed()) {
      oldDeadLetters.removeReplayed(append);
      oldDeadLetters.forgetReplay(append);
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
    if (isAfter(position, countedPosition)) {
      if (!isReplay(append)) {
        acceptedByDay.merge(day, (long) records, Long::sum);
      }
      countedPosition = position;
    }
    oldDeadLetters.removeReplayed(append);
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
    oldDeadLetters.retainReplays(appends);
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

  /** Whether the append replays a dead letter, whose record is counted as accepted already. */
  private boolean isReplay(@Nullable UUID append) {
    return append != null && ReplayId.isReplay(append) || oldDeadLetters.isReplay(append);
  }

  /** Whether the append replays a dead letter of an earlier release. */
  synchronized boolean isOldReplay(UUID append) {
    return oldDeadLetters.isReplay(append);
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
   * @param dropped whether another spool has delivered the entries, so that it counts them as
   *     accepted and this one does not
   */
  synchronized JournalEvent.DeliveryAcked ackEvent(
      FramePosition last, List<PositionedEntry> entries, boolean dropped) {
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
      if (oldDeadLetters.isReplay(batch.appendId())) {
        replayed.add(batch.appendId());
      }
      if (dropped) {
        totals.merge(batch.day(), -acceptedRecords(batch), Long::sum);
      } else {
        records += batch.records();
      }
    }
    totals
        .entrySet()
        .removeIf(total -> total.getValue().equals(journaledAccepted.get(total.getKey())));
    return new JournalEvent.DeliveryAcked(
        last, records, List.of(), completedKeys, replayed, totals, countedPosition);
  }

  /**
   * Applies the event of {@link #ackEvent} after it is written to the journal.
   *
   * @return number of records that were counted as in flight but are missing from the log
   */
  synchronized long ack(
      JournalEvent.DeliveryAcked acked, List<PositionedEntry> entries, boolean dropped) {
    var journaled = new HashMap<>(journaledAccepted);
    journaled.putAll(acked.accepted());
    journaledAccepted = journaled;
    for (var entry : entries) {
      var batch = entry.entry().batch();
      if (dropped) {
        acceptedByDay.merge(batch.day(), -acceptedRecords(batch), Long::sum);
      }
      if (!skippedFrames.containsKey(entry.position())) {
        removeUnacked(entry.position(), batch.day(), batch.records());
      }
    }
    apply(acked);
    return ackedPosition == null ? 0 : unackedCounts.dropBefore(ackedPosition);
  }

  /** Returns the number of records that {@link #count} has counted as accepted. */
  private long acceptedRecords(LogBatch batch) {
    return isReplay(batch.appendId()) ? 0 : batch.records();
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

  synchronized void quarantine(JournalEvent.FrameQuarantined frame) {
    boolean wasSkipped = skippedFrames.containsKey(frame.position());
    apply(frame);
    if (!wasSkipped) {
      removeUnacked(frame.position(), frame.day(), frame.records());
    }
  }

  synchronized DeliveryStatus statusOf(FramePosition position) {
    if (isAfter(position, countedPosition)) {
      return new DeliveryStatus.Unknown("the frame was not appended here");
    }
    if (quarantinedFrames.containsKey(position)) {
      return new DeliveryStatus.Unknown("the frame is damaged and in quarantine");
    }
    return isAfter(position, ackedPosition) || skippedFrames.containsKey(position)
        ? new DeliveryStatus.Pending()
        : new DeliveryStatus.Delivered();
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
    add(days, acceptedByDay, count -> new RecordCounts(count, 0, 0));
    add(days, unackedCounts.byDay(), count -> new RecordCounts(0, count, 0));
    add(days, oldDeadLetters.byDay(), count -> new RecordCounts(0, count, 0));
    // purged in an earlier release, whose purged records are nowhere else
    add(days, oldDeadLetters.purgedByDay(), count -> new RecordCounts(-count, 0, 0));
    for (var frame : skippedFrames.values()) {
      days.merge(frame.day(), new RecordCounts(0, frame.records(), 0), RecordCounts::plus);
    }
    for (var frame : quarantinedFrames.values()) {
      days.merge(frame.day(), new RecordCounts(0, 0, frame.records()), RecordCounts::plus);
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

  /** Returns the oldest dead letters that an earlier release kept in the journal. */
  synchronized List<JournalEvent.DeadLetterEntry> oldDeadLetters(int limit) {
    return oldDeadLetters.first(limit);
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
            oldDeadLetters.lastId(),
            countsCompleteSince));
    events.add(
        new JournalEvent.DeliveryAcked(
            null, 0, List.of(), List.of(), List.of(), acceptedByDay, countedPosition));
    events.addAll(oldDeadLetters.snapshot());
    var keys = idempotencyKeyTable.completedKeys();
    for (int i = 0; i < keys.size(); i += KEYS_PER_LINE) {
      events.add(
          new JournalEvent.DeliveryAcked(
              null,
              0,
              List.of(),
              keys.subList(i, Math.min(i + KEYS_PER_LINE, keys.size())),
              List.of(),
              Map.of(),
              null));
    }
    events.addAll(skippedFrames.values());
    events.addAll(quarantinedFrames.values());
    if (openDelivery != null) {
      events.add(openDelivery);
    }
    return events;
  }

  static boolean isAfter(FramePosition position, @Nullable FramePosition other) {
    return other == null || position.compareTo(other) > 0;
  }
}
