package dev.sluice.wal;

import java.time.Duration;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The segments of a node, with their extents, and the acknowledged position. Safe for use by many
 * threads.
 */
final class SegmentCatalog {
  private final ConcurrentSkipListMap<SegmentName, Extent> extents = new ConcurrentSkipListMap<>();
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition frameAppended = lock.newCondition();
  private volatile AckState ackState = new AckState(null, Set.of());
  private volatile @Nullable FramePosition lastKnown;
  private @Nullable SegmentName newest; // used by the writer thread only

  /**
   * The acknowledged position.
   *
   * @param upTo the acknowledged position; null when nothing is acknowledged
   * @param retainedSegments segments up to it with frames that are still needed, as positions with
   *     frame number 0
   */
  private record AckState(@Nullable FramePosition upTo, Set<FramePosition> retainedSegments) {}

  SegmentCatalog(Collection<Extent> extents) {
    extents.forEach(extent -> this.extents.put(extent.name(), extent));
    newest = this.extents.isEmpty() ? null : this.extents.lastKey();
  }

  void put(Extent extent) {
    extents.put(extent.name(), extent);
    lock.lock();
    try {
      frameAppended.signalAll();
    } finally {
      lock.unlock();
    }
  }

  void remove(SegmentName name) {
    extents.remove(name);
  }

  /** Stores the record count of an extent, unless the extent has changed since it was read. */
  void updateRecords(Extent extent, long records) {
    extents.replace(extent.name(), extent, extent.withRecords(records));
  }

  /** Returns the position of the last frame; null when there is no frame. */
  @Nullable FramePosition lastPosition() {
    for (var extent : extents.descendingMap().values()) {
      if (extent.frames() > 0) {
        return extent.lastPosition();
      }
    }
    return null;
  }

  boolean contains(SegmentName name) {
    return extents.containsKey(name);
  }

  /** Returns all segments, oldest first. */
  Collection<Extent> all() {
    return extents.values();
  }

  /** Returns the segments from that of a position on, oldest first; all segments for null. */
  Collection<Extent> startingAt(@Nullable FramePosition position) {
    return position == null
        ? extents.values()
        : extents.tailMap(firstName(position), true).values();
  }

  /** Returns the segment of a position; null when it does not exist. */
  @Nullable Extent find(FramePosition position) {
    var entry = extents.ceilingEntry(firstName(position));
    return entry != null && entry.getKey().contains(position) ? entry.getValue() : null;
  }

  private static SegmentName firstName(FramePosition position) {
    return new SegmentName(position.day(), position.segment(), Compression.ZSTD);
  }

  /** Waits for a frame after a position; false after the timeout. */
  boolean await(@Nullable FramePosition position, Duration timeout) throws InterruptedException {
    long left = timeout.toNanos();
    lock.lockInterruptibly();
    try {
      while (!hasFramesAfter(position)) {
        if (left <= 0) {
          return false;
        }
        left = frameAppended.awaitNanos(left);
      }
      return true;
    } finally {
      lock.unlock();
    }
  }

  private boolean hasFramesAfter(@Nullable FramePosition position) {
    var last = lastPosition();
    return last != null && (position == null || last.compareTo(position) > 0);
  }

  /** Makes {@link #nextName} follow a position, even when it has no frame any more. */
  void advancePast(FramePosition position) {
    lastKnown = position;
  }

  /**
   * Returns the name of the next segment, which follows all existing, acknowledged and known
   * positions: a position is never reused, even after a backward clock step or the loss of
   * segments.
   */
  SegmentName nextName(LocalDate today, Compression compression) {
    var day = today;
    int number = 0;
    for (var used : new @Nullable FramePosition[] {newest(), ackState.upTo(), lastKnown}) {
      if (used != null && used.day().compareTo(day) >= 0) {
        number = used.day().equals(day) ? Math.max(number, used.segment()) : used.segment();
        day = used.day();
      }
    }
    newest = new SegmentName(day, number + 1, compression);
    return newest;
  }

  private @Nullable FramePosition newest() {
    return newest == null ? null : newest.position(0);
  }

  void markAcked(FramePosition upTo, Collection<FramePosition> retained) {
    ackState =
        new AckState(
            upTo,
            retained.stream()
                .map(position -> new FramePosition(position.day(), position.segment(), 0))
                .collect(Collectors.toUnmodifiableSet()));
  }

  boolean isAcked(Extent extent) {
    var state = ackState;
    return state.upTo() != null
        && extent.lastPosition().compareTo(state.upTo()) <= 0
        && !state.retainedSegments().contains(extent.name().position(0));
  }

  /**
   * Returns the segments that may be deleted, oldest first; never the newest, which may be active.
   */
  List<Extent> deletable() {
    var deletable = new ArrayList<Extent>();
    for (var extent : extents.values()) {
      if (isAcked(extent) && !extent.name().equals(extents.lastKey())) {
        deletable.add(extent);
      }
    }
    return deletable;
  }

  /**
   * Returns the newest segment when all of its frames are acknowledged; else null. The caller must
   * seal the segment before it deletes it.
   */
  @Nullable Extent deletableNewest() {
    var entry = extents.lastEntry();
    return entry != null && entry.getValue().frames() > 0 && isAcked(entry.getValue())
        ? entry.getValue()
        : null;
  }
}
