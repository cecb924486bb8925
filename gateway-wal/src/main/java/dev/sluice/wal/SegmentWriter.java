package dev.sluice.wal;

import dev.sluice.wal.Segments.Outside;
import dev.sluice.wal.Segments.Written;
import dev.sluice.wal.WalSpool.Fsync;
import dev.sluice.wal.WriteQueue.Group;
import dev.sluice.wal.WriteQueue.Pending;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one thread that changes segments: writes what waits, group by group, begins new ones and
 * deletes old ones. A failure costs the group that met it, and no other.
 */
final class SegmentWriter implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(SegmentWriter.class);
  private static final int BUFFER = 1 << 20;

  /**
   * In one segment: its index stays below some twenty megabytes, so that mending it costs little
   * time and memory however small the frames are.
   */
  static final int MAX_FRAMES = 100_000;

  /** Room that a failed write may have wanted beside its frames: index lines, whole blocks. */
  private static final long MARGIN = 1 << 20;

  private final Path node;
  private final WalSpool.Writing writing;
  private final WalSpool.Filing filing;
  private final Outside outside;
  private final WriteQueue queue;
  private final Catalog catalog;

  /** Held while files are changed. */
  private final ReentrantLock files = new ReentrantLock();

  private final ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER);
  private final Deque<OpenSegment> torn = new ArrayDeque<>();
  private final Set<SegmentName> unforced = new HashSet<>();
  private final List<Runnable> answers = new ArrayList<>();
  private @Nullable OpenSegment open;
  private volatile @Nullable Trouble trouble;

  /** A failure that was met lately. */
  private record Trouble(String reason, Instant at) {}

  SegmentWriter(
      Path node,
      WalSpool.Writing writing,
      WalSpool.Filing filing,
      Outside outside,
      WriteQueue queue,
      Catalog catalog) {
    this.node = node;
    this.writing = writing;
    this.filing = filing;
    this.outside = outside;
    this.queue = queue;
    this.catalog = catalog;
  }

  @Override
  public void run() {
    for (boolean last = false; !last; ) {
      var group = queue.take();
      last = group.last();
      holdingFiles(group, () -> write(group.frames()));
      holdingFiles(group, () -> serve(group));
    }
  }

  /** Whoever waits is told afterwards: he may do much in this thread, and may want the files. */
  private void holdingFiles(Group group, Runnable step) {
    files.lock();
    try {
      step.run();
    } catch (RuntimeException | Error e) {
      // whatever it is, those who wait are told, and the next group has its chance
      LOG.error("the write-ahead log met a fault of its own", e);
      refuse(group.frames(), e);
    } finally {
      files.unlock();
    }
    answers.forEach(Runnable::run);
    answers.clear();
  }

  private void serve(Group group) {
    prune();
    if (group.force() || group.last()) {
      force();
    }
    if (group.last()) {
      seal();
      torn.forEach(this::close);
    }
  }

  private void write(List<Pending> frames) {
    torn.removeIf(this::cutAndClose);
    int from = 0;
    try {
      if (!frames.isEmpty()) {
        requireRoom(frames);
      }
      while (from < frames.size()) {
        var segment = segment();
        int to = portion(segment, frames, from);
        commit(segment, frames.subList(from, to));
        from = to;
      }
    } catch (IOException e) {
      var rest = frames.subList(from, frames.size());
      refuse(rest, e);
      makeRoomWhenFull(rest);
    }
  }

  private void refuse(List<Pending> frames, Throwable cause) {
    var reason = "the write-ahead log cannot be written: " + cause.getMessage();
    if (trouble == null) {
      LOG.warn(reason);
    }
    trouble = new Trouble(reason, outside.clock().instant());
    for (var frame : frames) {
      answers.add(() -> queue.answer(frame, new Written.Not(Segments.RETRY, reason)));
    }
  }

  private void requireRoom(List<Pending> frames) throws IOException {
    long bytes = frames.stream().mapToLong(Pending::bytes).sum();
    if (shortOf(bytes)) {
      makeRoom(bytes);
      if (shortOf(bytes)) {
        throw new IOException(shortage() + ", and %s are to be written".formatted(size(bytes)));
      }
    }
  }

  private boolean shortOf(long bytes) throws IOException {
    return filing.headroom() > 0 && outside.disk().usable(node) - bytes < filing.headroom();
  }

  private String shortage() throws IOException {
    return "the disk of %s has %s free, a headroom of %s is kept"
        .formatted(node, size(outside.disk().usable(node)), size(filing.headroom()));
  }

  private static String size(long bytes) {
    return bytes < 1 << 20 ? bytes + " bytes" : (bytes >> 20) + " MB";
  }

  /** The segment to write to: the open one unless it is full, old, of yesterday or in doubt. */
  private OpenSegment segment() throws IOException {
    var now = outside.clock().instant();
    var today = LocalDate.ofInstant(now, ZoneOffset.UTC);
    if (open != null && isDone(open, now, today)) {
      seal();
    }
    if (open == null) {
      var name = catalog.next(today, writing.compression());
      open = OpenSegment.begin(node, name, outside.disk(), now, buffer);
      catalog.put(open.extent());
    }
    return open;
  }

  private boolean isDone(OpenSegment segment, Instant now, LocalDate today) {
    return segment.isDoubtful()
        || segment.extent().bytes() >= filing.segmentBytes()
        || segment.extent().frames() >= MAX_FRAMES
        || !now.isBefore(segment.begun().plus(filing.segmentAge()))
        || today.isAfter(segment.extent().name().day());
  }

  /** How many of the frames still go into the segment; the first does always. */
  private int portion(OpenSegment segment, List<Pending> frames, int from) {
    long left = filing.segmentBytes() - segment.extent().bytes();
    int end = Math.min(frames.size(), from + MAX_FRAMES - segment.extent().frames());
    int to = from;
    do {
      left -= frames.get(to++).bytes();
    } while (to < end && left > 0);
    return to;
  }

  private void commit(OpenSegment segment, List<Pending> frames) throws IOException {
    boolean force = writing.fsync() == Fsync.FLUSH;
    segment.append(frames.stream().map(Pending::frame).toList(), force);
    catalog.put(segment.extent());
    if (!force) {
      unforced.add(segment.extent().name());
      if (writing.fsync() == Fsync.INTERVAL) {
        queue.forceLater();
      }
    }
    trouble = null;
    int number = segment.extent().frames() - frames.size();
    for (var frame : frames) {
      var position = segment.extent().name().frame(++number);
      answers.add(() -> queue.answer(frame, new Written.At(position)));
    }
  }

  /** Makes durable what is not, in whatever segment it is. */
  private void force() {
    try {
      if (open != null && !open.isDoubtful()) {
        open.force();
        unforced.remove(open.extent().name());
      }
      for (var name : List.copyOf(unforced)) {
        if (catalog.has(name)) {
          outside.disk().force(name.data(node));
          outside.disk().force(name.index(node));
        }
        unforced.remove(name);
      }
    } catch (IOException e) {
      unforced.clear(); // what the system has forgotten cannot be had by asking again
      LOG.warn("what the write-ahead log has written is perhaps not durable: {}", e.getMessage());
    }
  }

  /** Ends the open segment; what is not durable in it is forced with all else. */
  void seal() {
    if (open != null) {
      if (!cutAndClose(open)) {
        torn.add(open);
      }
      open = null;
    }
  }

  /** False when something of a failed append is left in it; then it stays open. */
  private boolean cutAndClose(OpenSegment segment) {
    boolean cut = segment.cut();
    if (cut) {
      close(segment);
    }
    return cut;
  }

  private void close(OpenSegment segment) {
    try {
      segment.close();
    } catch (IOException e) {
      LOG.warn("{} was not closed well: {}", segment.extent().name(), e.getMessage());
    }
  }

  /** By the watermarks, and when the disk is short of room. */
  private void prune() {
    var dispensable = catalog.dispensable();
    long kept = dispensable.stream().mapToLong(Extent::bytes).sum();
    try {
      if (kept >= filing.keepHigh()) {
        for (var oldest : dispensable) {
          if (kept <= filing.keepLow()) {
            break;
          }
          delete(oldest);
          kept -= oldest.bytes();
        }
      }
      makeRoom(0);
    } catch (IOException e) {
      LOG.warn("old segments were not deleted: {}", e.getMessage());
    }
  }

  private void makeRoom(long bytes) throws IOException {
    for (var oldest : catalog.dispensable()) {
      if (!shortOf(bytes)) {
        return;
      }
      delete(oldest);
    }
    if (shortOf(bytes)) {
      deleteNewest();
    }
  }

  /** Without a headroom it is only known when it has happened. */
  private void makeRoomWhenFull(List<Pending> refused) {
    long wanted = refused.stream().mapToLong(Pending::bytes).sum() + MARGIN;
    try {
      for (var oldest : catalog.dispensable()) {
        if (outside.disk().usable(node) >= wanted) {
          return;
        }
        delete(oldest);
      }
      if (outside.disk().usable(node) < wanted) {
        deleteNewest();
      }
    } catch (IOException e) {
      LOG.warn("old segments were not deleted: {}", e.getMessage());
    }
  }

  /**
   * All that is left may be in the segment that is written to. What comes next is named behind it
   * all the same, also after a restart: that it is settled is written elsewhere.
   */
  private void deleteNewest() throws IOException {
    var newest = catalog.dispensableNewest();
    if (newest != null) {
      seal();
      delete(newest);
    }
  }

  /** The data first: an index without data is dropped at the next start, and means nothing. */
  private void delete(Extent extent) throws IOException {
    var name = extent.name();
    Files.deleteIfExists(name.data(node));
    Files.deleteIfExists(name.index(node));
    catalog.remove(name);
    LOG.debug("deleted {}, all of which is delivered", name);
    try (var rest = Files.newDirectoryStream(name.folder(node))) {
      if (rest.iterator().hasNext()) {
        return;
      }
    }
    Files.deleteIfExists(name.folder(node));
  }

  /**
   * Has an index mended that was found damaged. What is written to at the moment is ended first.
   *
   * @param doubted see {@link Recovery#mend}
   * @return null when the segment has gone
   */
  @Nullable Extent mend(SegmentName name, int doubted, Recovery recovery) throws IOException {
    files.lock();
    try {
      if (!catalog.has(name)) {
        return null;
      }
      if (open != null && open.extent().name().equals(name)) {
        seal();
      }
      var mended = recovery.mend(name, doubted);
      catalog.put(mended);
      return mended;
    } finally {
      files.unlock();
    }
  }

  /** See {@link Segments#obstacle}. */
  @Nullable String obstacle() {
    try {
      if (shortOf(0)) {
        queue.wake(); // there may be something to delete
        return shortage();
      }
    } catch (IOException e) {
      return "the disk of the write-ahead log does not answer: " + e.getMessage();
    }
    var lately = trouble;
    return lately != null && isLately(lately.at()) ? lately.reason() : null;
  }

  /** Not what lies ahead: the clock was set back since. */
  private boolean isLately(Instant at) {
    var now = outside.clock().instant();
    return !at.isAfter(now) && now.isBefore(at.plus(Segments.RETRY));
  }
}
