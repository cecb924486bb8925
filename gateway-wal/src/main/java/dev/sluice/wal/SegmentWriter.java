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
 * The only thread that changes segments: writes the queued frames batch by batch, starts new
 * segments and deletes old ones. A failure affects only the batch in which it occurs.
 */
final class SegmentWriter implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(SegmentWriter.class);
  private static final int BUFFER_BYTES = 1 << 20;

  /**
   * Maximum number of frames in one segment. It bounds the size of the index, and so the time and
   * memory of its repair, even for very small frames.
   */
  static final int MAX_FRAMES = 100_000;

  /** Disk space that a failed write may need besides its frames: index lines, whole blocks. */
  private static final long WRITE_OVERHEAD_BYTES = 1 << 20;

  private final Path node;
  private final WalSpool.WriteSettings writeSettings;
  private final WalSpool.SegmentSettings segmentSettings;
  private final LogDependencies dependencies;
  private final WriteQueue queue;
  private final SegmentCatalog catalog;

  /** The lock held while files are changed. */
  private final ReentrantLock filesLock = new ReentrantLock();

  private final ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER_BYTES);
  private final Deque<ActiveSegment> segmentsToTruncate = new ArrayDeque<>();
  private final Set<SegmentName> unforced = new HashSet<>();
  private final List<Runnable> completions = new ArrayList<>();
  private @Nullable ActiveSegment activeSegment;
  private volatile @Nullable WriteFailure lastFailure;

  /** The last failure of a write, with its time. */
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

  /**
   * Runs a step under the lock, and completes the results after it: their callbacks run in this
   * thread, may take long, and may need the lock.
   */
  private void withFilesLocked(WriteBatch batch, Runnable step) {
    filesLock.lock();
    try {
      step.run();
    } catch (RuntimeException | Error e) {
      // completes the waiting appends, and continues with the next batch
      LOG.error("WAL writer failed unexpectedly; rejecting the frames of this batch", e);
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
        requireDirectory();
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
    var reason = "WAL cannot be written: " + cause.getMessage();
    if (lastFailure == null) {
      LOG.warn("{}; rejecting the frames of this batch", reason);
    }
    lastFailure = new WriteFailure(reason, dependencies.clock().instant());
    for (var frame : frames) {
      completions.add(
          () -> queue.complete(frame, new FrameWriteResult.Failed(SegmentLog.RETRY_AFTER, reason)));
    }
  }

  private void requireDirectory() throws IOException {
    var reason = missingDirectoryReason();
    if (reason != null) {
      throw new IOException(reason);
    }
  }

  /**
   * Returns why a deleted directory makes writes impossible; null when it exists. Its journal and
   * its lock are deleted, too, so that only a restart can create it again.
   */
  private @Nullable String missingDirectoryReason() {
    return Files.isDirectory(node)
        ? null
        : "the directory of the WAL was deleted: %s does not exist; logs that were only there are lost; restart this process"
            .formatted(node.toAbsolutePath());
  }

  private void requireFreeSpace(List<PendingFrame> frames) throws IOException {
    long bytes = frames.stream().mapToLong(PendingFrame::bytes).sum();
    if (isShortOf(bytes)) {
      freeSpace(bytes);
      if (isShortOf(bytes)) {
        throw new IOException(
            shortageReason() + ", and a batch needs %s".formatted(formatSize(bytes)));
      }
    }
  }

  private boolean isShortOf(long bytes) throws IOException {
    return segmentSettings.minFreeDiskBytes() > 0
        && dependencies.disk().usableSpace(node) - bytes < segmentSettings.minFreeDiskBytes();
  }

  private String shortageReason() throws IOException {
    return "too little free disk space for the WAL in %s: %s free, min-free-disk is %s"
        .formatted(
            node,
            formatSize(dependencies.disk().usableSpace(node)),
            formatSize(segmentSettings.minFreeDiskBytes()));
  }

  private static String formatSize(long bytes) {
    return bytes < 1 << 20 ? bytes + " bytes" : (bytes >> 20) + " MB";
  }

  /**
   * Returns the segment to write to. Starts a new one when the active segment is full, too old, of
   * an earlier day, or failed.
   */
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
        || isDeleted(segment)
        || segment.extent().bytes() >= segmentSettings.segmentBytes()
        || segment.extent().frames() >= MAX_FRAMES
        || !now.isBefore(segment.openedAt().plus(segmentSettings.segmentRollInterval()))
        || today.isAfter(segment.extent().name().day());
  }

  /** Whether the file was deleted; writes to it would succeed, and their frames would be lost. */
  private boolean isDeleted(ActiveSegment segment) {
    var file = segment.extent().name().data(node);
    if (Files.exists(file)) {
      return false;
    }
    LOG.error(
        "WAL segment {} was deleted with up to {} undelivered logs; a new segment starts",
        file,
        segment.extent().records());
    return true;
  }

  /**
   * Returns the end index of the frames that fit into the segment. The first frame always fits.
   *
   * @param from the index of the first frame
   */
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
      completions.add(() -> queue.complete(frame, new FrameWriteResult.FrameWritten(position)));
    }
  }

  /** Makes all written frames durable, in every segment. */
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
      unforced.clear(); // after a failed fsync, a second fsync succeeds without writing the data
      LOG.warn("WAL fsync failed; frames already accepted may not be durable: {}", e.getMessage());
    }
  }

  /** Closes the active segment to writes. Its unforced frames are forced later, with all others. */
  void seal() {
    if (activeSegment != null) {
      if (!truncateAndClose(activeSegment)) {
        segmentsToTruncate.add(activeSegment);
      }
      activeSegment = null;
    }
  }

  /**
   * Closes the file of a segment after it has truncated a partial write.
   *
   * @return false when the truncation failed; then the file stays open
   */
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
      LOG.warn("cannot close WAL segment {}: {}", segment.extent().name(), e.getMessage());
    }
  }

  /** Deletes delivered segments above the watermark, and while free disk space is too low. */
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
      LOG.warn("cannot delete old WAL segments, retrying later: {}", e.getMessage());
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

  /**
   * Deletes delivered segments after a failed write. Without a minimum of free disk space, a full
   * disk is detected only by the failure.
   */
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
      LOG.warn("cannot delete old WAL segments, retrying later: {}", e.getMessage());
    }
  }

  /**
   * Deletes the newest segment when all of its frames are acknowledged: it may be the only one left
   * to delete. The next segment still gets a higher number, also after a restart, because the
   * journal contains the acknowledged position.
   */
  private void deleteNewest() throws IOException {
    var newest = catalog.deletableNewest();
    if (newest != null) {
      seal();
      delete(newest);
    }
  }

  /**
   * Deletes a segment: the data before the index, because recovery deletes an index without data.
   */
  private void delete(Extent extent) throws IOException {
    var name = extent.name();
    Files.deleteIfExists(name.data(node));
    Files.deleteIfExists(name.index(node));
    catalog.remove(name);
    LOG.debug("deleted WAL segment {}: all of its frames are delivered", name);
    try (var remaining = Files.newDirectoryStream(name.directory(node))) {
      if (remaining.iterator().hasNext()) {
        return;
      }
    }
    Files.deleteIfExists(name.directory(node));
  }

  /**
   * Repairs a damaged index. Seals the segment first when it is the active one.
   *
   * @param suspectFrame see {@link Recovery#repair}
   * @return the repaired extent; null when the segment does not exist any more
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
    var missing = missingDirectoryReason();
    if (missing != null) {
      return missing;
    }
    try {
      if (isShortOf(0)) {
        queue.wake(); // the writer may find segments to delete
        return shortageReason();
      }
    } catch (IOException e) {
      return "free disk space of the WAL is unavailable: " + e.getMessage();
    }
    var failure = lastFailure;
    return failure != null && isRecent(failure.at()) ? failure.reason() : null;
  }

  /** Whether a failure is recent. A time in the future, after a clock step, does not count. */
  private boolean isRecent(Instant at) {
    var now = dependencies.clock().instant();
    return !at.isAfter(now) && now.isBefore(at.plus(SegmentLog.RETRY_AFTER));
  }
}
