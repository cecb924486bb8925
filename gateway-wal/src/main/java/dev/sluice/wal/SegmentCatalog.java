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

/** Which segments there are, how far they go, and which of them are needed. */
final class SegmentCatalog {
  private final ConcurrentSkipListMap<SegmentName, Extent> extents = new ConcurrentSkipListMap<>();
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition frameAppended = lock.newCondition();
  private volatile AckState ackState = new AckState(null, Set.of());
  private volatile @Nullable FramePosition lastKnown;
  private @Nullable SegmentName newest; // of the writer alone

  /**
   * @param retainedSegments with frames that are needed; as positions of frame 0
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

  /** Its records are counted; unless it has changed meanwhile. */
  void updateRecords(Extent extent, long records) {
    extents.replace(extent.name(), extent, extent.withRecords(records));
  }

  /** The last frame there is; null when there is none. */
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

  /** Oldest first. */
  Collection<Extent> all() {
    return extents.values();
  }

  /** From the segment of that position on, oldest first; all for null. */
  Collection<Extent> startingAt(@Nullable FramePosition position) {
    return position == null
        ? extents.values()
        : extents.tailMap(firstName(position), true).values();
  }

  /** The segment in which the position is; null when there is none. */
  @Nullable Extent find(FramePosition position) {
    var entry = extents.ceilingEntry(firstName(position));
    return entry != null && entry.getKey().contains(position) ? entry.getValue() : null;
  }

  private static SegmentName firstName(FramePosition position) {
    return new SegmentName(position.day(), position.segment(), Compression.ZSTD);
  }

  /** Waits for a frame behind the position. */
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

  /** There was a frame at that position, whether it is still there or not. */
  void advancePast(FramePosition position) {
    lastKnown = position;
  }

  /**
   * Names the next segment, behind all that there are, were settled or are known to have been: a
   * position is never used twice, also when the clock was set back or segments have gone.
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

  /** What may be deleted at any time, oldest first; never the newest, which is written to. */
  List<Extent> deletable() {
    var deletable = new ArrayList<Extent>();
    for (var extent : extents.values()) {
      if (isAcked(extent) && !extent.name().equals(extents.lastKey())) {
        deletable.add(extent);
      }
    }
    return deletable;
  }

  /** The newest, when all that it holds may be deleted; it must not be written to any more then. */
  @Nullable Extent deletableNewest() {
    var entry = extents.lastEntry();
    return entry != null && entry.getValue().frames() > 0 && isAcked(entry.getValue())
        ? entry.getValue()
        : null;
  }
}
