package dev.sluice.wal;

import dev.sluice.wal.SegmentLog.FrameWriteResult;
import dev.sluice.wal.SegmentLog.LogDependencies;
import dev.sluice.wal.WalSpool.Fsync;
import dev.sluice.wal.WriteQueue.PendingFrame;
import dev.sluice.wal.WriteQueue.WriteBatch;
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
  private static final int BUFFER_BYTES = 1 << 20;

  /**
   * In one segment: its index stays below some twenty megabytes, so that mending it costs little
   * time and memory however small the frames are.
   */
  static final int MAX_FRAMES = 100_000;

  /** Room that a failed write may have wanted beside its frames: index lines, whole blocks. */
  private static final long WRITE_OVERHEAD_BYTES = 1 << 20;

  private final Path node;
  private final WalSpool.WriteSettings writeSettings;
  private final WalSpool.SegmentSettings segmentSettings;
  private final LogDependencies dependencies;
  private final WriteQueue queue;
  private final SegmentCatalog catalog;

  /** Held while files are changed. */
  private final ReentrantLock filesLock = new ReentrantLock();

  private final ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER_BYTES);
  private final Deque<ActiveSegment> segmentsToTruncate = new ArrayDeque<>();
  private final Set<SegmentName> unforced = new HashSet<>();
  private final List<Runnable> completions = new ArrayList<>();
  private @Nullable ActiveSegment activeSegment;
  private volatile @Nullable WriteFailure lastFailure;

  /** A failure that was met lately. */
  private record WriteFailure(String reason, Instant at) {}

  SegmentWriter(
      Path node,
      WalSpool.WriteSettings writeSettings,
      WalSpool.SegmentSettings segmentSettings,
      LogDependencies dependencies,
      WriteQueue queue,
      SegmentCatalog catalog) {
    this.node = node;
    this.writeSettings = writeSettings;
    this.segmentSettings = segmentSettings;
    this.dependencies = dependencies;
    this.queue = queue;
    this.catalog = catalog;
  }

  @Override
  public void run() {
    for (boolean last = false; !last; ) {
      var batch = queue.take();
      last = batch.last();
      withFilesLocked(batch, () -> write(batch.frames()));
      withFilesLocked(batch, () -> maintain(batch));
    }
  }

  /** Whoever waits is told afterwards: he may do much in this thread, and may want the files. */
  private void withFilesLocked(WriteBatch batch, Runnable step) {
    filesLock.lock();
    try {
      step.run();
    } catch (RuntimeException | Error e) {
      // whatever it is, those who wait are told, and the next group has its chance
      LOG.error("the write-ahead log met a fault of its own", e);
      fail(batch.frames(), e);
    } finally {
      filesLock.unlock();
    }
    completions.forEach(Runnable::run);
    completions.clear();
  }

  private void maintain(WriteBatch batch) {
    prune();
    if (batch.force() || batch.last()) {
      force();
    }
    if (batch.last()) {
      seal();
      segmentsToTruncate.forEach(this::close);
    }
  }

  private void write(List<PendingFrame> frames) {
    segmentsToTruncate.removeIf(this::truncateAndClose);
    int from = 0;
    try {
      if (!frames.isEmpty()) {
        requireFreeSpace(frames);
      }
      while (from < frames.size()) {
        var segment = rollIfNeeded();
        int to = endOfSegment(segment, frames, from);
        commit(segment, frames.subList(from, to));
        from = to;
      }
    } catch (IOException e) {
      var rest = frames.subList(from, frames.size());
      fail(rest, e);
      freeSpaceAfterFailure(rest);
    }
  }

  private void fail(List<PendingFrame> frames, Throwable cause) {
    var reason = "the write-ahead log cannot be written: " + cause.getMessage();
    if (lastFailure == null) {
      LOG.warn(reason);
    }
    lastFailure = new WriteFailure(reason, dependencies.clock().instant());
    for (var frame : frames) {
      completions.add(
          () -> queue.complete(frame, new FrameWriteResult.Failed(SegmentLog.RETRY_AFTER, reason)));
    }
  }

  private void requireFreeSpace(List<PendingFrame> frames) throws IOException {
    long bytes = frames.stream().mapToLong(PendingFrame::bytes).sum();
    if (isShortOf(bytes)) {
      freeSpace(bytes);
      if (isShortOf(bytes)) {
        throw new IOException(
            shortageReason() + ", and %s are to be written".formatted(formatSize(bytes)));
      }
    }
  }

  private boolean isShortOf(long bytes) throws IOException {
    return segmentSettings.minFreeDiskBytes() > 0
        && dependencies.disk().usableSpace(node) - bytes < segmentSettings.minFreeDiskBytes();
  }

  private String shortageReason() throws IOException {
    return "the disk of %s has %s free, a headroom of %s is kept"
        .formatted(
            node,
            formatSize(dependencies.disk().usableSpace(node)),
            formatSize(segmentSettings.minFreeDiskBytes()));
  }

  private static String formatSize(long bytes) {
    return bytes < 1 << 20 ? bytes + " bytes" : (bytes >> 20) + " MB";
  }

  /** The segment to write to: the open one unless it is full, old, of yesterday or in doubt. */
  private ActiveSegment rollIfNeeded() throws IOException {
    var now = dependencies.clock().instant();
    var today = LocalDate.ofInstant(now, ZoneOffset.UTC);
    if (activeSegment != null && needsRoll(activeSegment, now, today)) {
      seal();
    }
    if (activeSegment == null) {
      var name = catalog.nextName(today, writeSettings.compression());
      activeSegment = ActiveSegment.create(node, name, dependencies.disk(), now, buffer);
      catalog.put(activeSegment.extent());
    }
    return activeSegment;
  }

  private boolean needsRoll(ActiveSegment segment, Instant now, LocalDate today) {
    return segment.isFailed()
        || segment.extent().bytes() >= segmentSettings.segmentBytes()
        || segment.extent().frames() >= MAX_FRAMES
        || !now.isBefore(segment.openedAt().plus(segmentSettings.segmentRollInterval()))
        || today.isAfter(segment.extent().name().day());
  }

  /** How many of the frames still go into the segment; the first does always. */
  private int endOfSegment(ActiveSegment segment, List<PendingFrame> frames, int from) {
    long left = segmentSettings.segmentBytes() - segment.extent().bytes();
    int end = Math.min(frames.size(), from + MAX_FRAMES - segment.extent().frames());
    int to = from;
    do {
      left -= frames.get(to++).bytes();
    } while (to < end && left > 0);
    return to;
  }

  private void commit(ActiveSegment segment, List<PendingFrame> frames) throws IOException {
    boolean force = writeSettings.fsync() == Fsync.FLUSH;
    segment.append(frames.stream().map(PendingFrame::frame).toList(), force);
    catalog.put(segment.extent());
    if (!force) {
      unforced.add(segment.extent().name());
      if (writeSettings.fsync() == Fsync.INTERVAL) {
        queue.scheduleForce();
      }
    }
    lastFailure = null;
    int number = segment.extent().frames() - frames.size();
    for (var frame : frames) {
      var position = segment.extent().name().position(++number);
      completions.add(() -> queue.complete(frame, new FrameWriteResult.Written(position)));
    }
  }

  /** Makes durable what is not, in whatever segment it is. */
  private void force() {
    try {
      if (activeSegment != null && !activeSegment.isFailed()) {
        activeSegment.force();
        unforced.remove(activeSegment.extent().name());
      }
      for (var name : List.copyOf(unforced)) {
        if (catalog.contains(name)) {
          dependencies.disk().force(name.data(node));
          dependencies.disk().force(name.index(node));
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
    if (activeSegment != null) {
      if (!truncateAndClose(activeSegment)) {
        segmentsToTruncate.add(activeSegment);
      }
      activeSegment = null;
    }
  }

  /** False when something of a failed append is left in it; then it stays open. */
  private boolean truncateAndClose(ActiveSegment segment) {
    boolean truncated = segment.truncatePartialWrite();
    if (truncated) {
      close(segment);
    }
    return truncated;
  }

  private void close(ActiveSegment segment) {
    try {
      segment.close();
    } catch (IOException e) {
      LOG.warn("{} was not closed well: {}", segment.extent().name(), e.getMessage());
    }
  }

  /** By the watermarks, and when the disk is short of room. */
  private void prune() {
    var deletable = catalog.deletable();
    long retainedBytes = deletable.stream().mapToLong(Extent::bytes).sum();
    try {
      if (retainedBytes >= segmentSettings.retainedBytesHighWatermark()) {
        for (var oldest : deletable) {
          if (retainedBytes <= segmentSettings.retainedBytesLowWatermark()) {
            break;
          }
          delete(oldest);
          retainedBytes -= oldest.bytes();
        }
      }
      freeSpace(0);
    } catch (IOException e) {
      LOG.warn("old segments were not deleted: {}", e.getMessage());
    }
  }

  private void freeSpace(long bytes) throws IOException {
    for (var oldest : catalog.deletable()) {
      if (!isShortOf(bytes)) {
        return;
      }
      delete(oldest);
    }
    if (isShortOf(bytes)) {
      deleteNewest();
    }
  }

  /** Without a headroom it is only known when it has happened. */
  private void freeSpaceAfterFailure(List<PendingFrame> failed) {
    long required = failed.stream().mapToLong(PendingFrame::bytes).sum() + WRITE_OVERHEAD_BYTES;
    try {
      for (var oldest : catalog.deletable()) {
        if (dependencies.disk().usableSpace(node) >= required) {
          return;
        }
        delete(oldest);
      }
      if (dependencies.disk().usableSpace(node) < required) {
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
    var newest = catalog.deletableNewest();
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
   * @param suspectFrame see {@link Recovery#repair}
   * @return null when the segment has gone
   */
  @Nullable Extent repair(SegmentName name, int suspectFrame, Recovery recovery)
      throws IOException {
    filesLock.lock();
    try {
      if (!catalog.contains(name)) {
        return null;
      }
      if (activeSegment != null && activeSegment.extent().name().equals(name)) {
        seal();
      }
      var repaired = recovery.repair(name, suspectFrame);
      catalog.put(repaired);
      return repaired;
    } finally {
      filesLock.unlock();
    }
  }

  /** See {@link SegmentLog#unavailableReason}. */
  @Nullable String unavailableReason() {
    try {
      if (isShortOf(0)) {
        queue.wake(); // there may be something to delete
        return shortageReason();
      }
    } catch (IOException e) {
      return "the disk of the write-ahead log does not answer: " + e.getMessage();
    }
    var failure = lastFailure;
    return failure != null && isRecent(failure.at()) ? failure.reason() : null;
  }

  /** Not what lies ahead: the clock was set back since. */
  private boolean isRecent(Instant at) {
    var now = dependencies.clock().instant();
    return !at.isAfter(now) && now.isBefore(at.plus(SegmentLog.RETRY_AFTER));
  }
}
