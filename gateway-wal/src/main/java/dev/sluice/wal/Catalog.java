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
final class Catalog {
  private final ConcurrentSkipListMap<SegmentName, Extent> extents = new ConcurrentSkipListMap<>();
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition grown = lock.newCondition();
  private volatile Settled settled = new Settled(null, Set.of());
  private volatile @Nullable Position known;
  private @Nullable SegmentName newest; // of the writer alone

  /**
   * @param segments with frames that are needed; as positions of frame 0
   */
  private record Settled(@Nullable Position upTo, Set<Position> segments) {}

  Catalog(Collection<Extent> extents) {
    extents.forEach(extent -> this.extents.put(extent.name(), extent));
    newest = this.extents.isEmpty() ? null : this.extents.lastKey();
  }

  void put(Extent extent) {
    extents.put(extent.name(), extent);
    lock.lock();
    try {
      grown.signalAll();
    } finally {
      lock.unlock();
    }
  }

  void remove(SegmentName name) {
    extents.remove(name);
  }

  /** Its records are counted; unless it has changed meanwhile. */
  void counted(Extent extent, long records) {
    extents.replace(extent.name(), extent, extent.withRecords(records));
  }

  /** The last frame there is; null when there is none. */
  @Nullable Position last() {
    for (var extent : extents.descendingMap().values()) {
      if (extent.frames() > 0) {
        return extent.last();
      }
    }
    return null;
  }

  boolean has(SegmentName name) {
    return extents.containsKey(name);
  }

  /** Oldest first. */
  Collection<Extent> all() {
    return extents.values();
  }

  /** From the segment of that position on, oldest first; all for null. */
  Collection<Extent> from(@Nullable Position position) {
    return position == null ? extents.values() : extents.tailMap(firstOf(position), true).values();
  }

  /** The segment in which the position is; null when there is none. */
  @Nullable Extent of(Position position) {
    var entry = extents.ceilingEntry(firstOf(position));
    return entry != null && entry.getKey().holds(position) ? entry.getValue() : null;
  }

  private static SegmentName firstOf(Position position) {
    return new SegmentName(position.day(), position.segment(), Compression.ZSTD);
  }

  /** Waits for a frame behind the position. */
  boolean await(@Nullable Position position, Duration patience) throws InterruptedException {
    long left = patience.toNanos();
    lock.lockInterruptibly();
    try {
      while (!goesBeyond(position)) {
        if (left <= 0) {
          return false;
        }
        left = grown.awaitNanos(left);
      }
      return true;
    } finally {
      lock.unlock();
    }
  }

  private boolean goesBeyond(@Nullable Position position) {
    var last = last();
    return last != null && (position == null || last.compareTo(position) > 0);
  }

  /** There was a frame at that position, whether it is still there or not. */
  void known(Position position) {
    known = position;
  }

  /**
   * Names the next segment, behind all that there are, were settled or are known to have been: a
   * position is never used twice, also when the clock was set back or segments have gone.
   */
  SegmentName next(LocalDate today, Compression compression) {
    var day = today;
    int number = 0;
    for (var used : new @Nullable Position[] {newest(), settled.upTo(), known}) {
      if (used != null && used.day().compareTo(day) >= 0) {
        number = used.day().equals(day) ? Math.max(number, used.segment()) : used.segment();
        day = used.day();
      }
    }
    newest = new SegmentName(day, number + 1, compression);
    return newest;
  }

  private @Nullable Position newest() {
    return newest == null ? null : newest.frame(0);
  }

  void settled(Position upTo, Collection<Position> needed) {
    settled =
        new Settled(
            upTo,
            needed.stream()
                .map(position -> new Position(position.day(), position.segment(), 0))
                .collect(Collectors.toUnmodifiableSet()));
  }

  boolean isSettled(Extent extent) {
    var now = settled;
    return now.upTo() != null
        && extent.last().compareTo(now.upTo()) <= 0
        && !now.segments().contains(extent.name().frame(0));
  }

  /** What may be deleted at any time, oldest first; never the newest, which is written to. */
  List<Extent> dispensable() {
    var dispensable = new ArrayList<Extent>();
    for (var extent : extents.values()) {
      if (isSettled(extent) && !extent.name().equals(extents.lastKey())) {
        dispensable.add(extent);
      }
    }
    return dispensable;
  }

  /** The newest, when all that it holds may be deleted; it must not be written to any more then. */
  @Nullable Extent dispensableNewest() {
    var entry = extents.lastEntry();
    return entry != null && entry.getValue().frames() > 0 && isSettled(entry.getValue())
        ? entry.getValue()
        : null;
  }
}
