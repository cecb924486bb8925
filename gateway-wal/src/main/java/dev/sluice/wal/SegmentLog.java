package dev.sluice.wal;

import static java.nio.file.StandardCopyOption.ATOMIC_MOVE;
import static java.util.Objects.requireNonNullElse;
import static java.util.concurrent.TimeUnit.NANOSECONDS;

import dev.sluice.core.port.Scheduler;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The segments of one node and their indexes. One thread writes them, in the order of the {@link
 * #append} calls. Frames are opaque bytes to this class.
 *
 * <p>Safe for use by many threads.
 */
final class SegmentLog implements AutoCloseable {

  /** The result of an append. */
  sealed interface FrameWriteResult {
    /** The frame is written, and as durable as the fsync policy requires. */
    record FrameWritten(FramePosition position) implements FrameWriteResult {}

    /** The frame is not written, and no part of it remains in the segment. */
    record Failed(Duration retryAfter, String reason) implements FrameWriteResult {}
  }

  /**
   * The description of a frame: one line of the index.
   *
   * @param position the position of the frame
   * @param offset the offset of its first byte in the segment
   * @param length compressed size in bytes
   * @param records number of its records
   * @param firstNanos see {@link Frame}
   * @param lastNanos see {@link Frame}
   * @param crc32 see {@link Frame}
   */
  record IndexEntry(
      FramePosition position,
      long offset,
      int length,
      int records,
      long firstNanos,
      long lastNanos,
      long crc32) {

    /** Returns the offset of the next frame. */
    long end() {
      return offset + length;
    }

    /**
     * Whether this frame can be the next one after another frame.
     *
     * @param before the other frame; null for the start of a segment
     */
    boolean follows(@Nullable IndexEntry before) {
      return before == null
          ? offset == 0 && position.frame() == 1
          : offset == before.end() && position.frame() == before.position().frame() + 1;
    }
  }

  /**
   * A description of one segment for an operator.
   *
   * @param file the file relative to the node directory, such as {@code
   *     2026-11-22/seg-000001.wal.zst}
   * @param day the day (UTC) of its directory
   * @param number its number on that day, from 1
   * @param bytes size of its frames in bytes
   * @param frames number of its frames
   * @param records number of its records
   * @param acked whether none of its frames is needed any more
   */
  record SegmentInfo(
      String file,
      LocalDate day,
      int number,
      long bytes,
      long frames,
      long records,
      boolean acked) {}

  private static final Logger LOG = LoggerFactory.getLogger(SegmentLog.class);

  /** Time after which a failed append is worth a retry. */
  static final Duration RETRY_AFTER = Duration.ofSeconds(1);

  private static final Scheduler SCHEDULER =
      (delay, task) ->
          CompletableFuture.delayedExecutor(delay.toNanos(), NANOSECONDS).execute(task);

  /** The dependencies of a segment log, which tests replace. */
  record LogDependencies(InstantSource clock, Scheduler scheduler, Disk disk, FrameFormat format) {}

  private final Path node;
  private final NodeLock lock;
  private final Recovery recovery;
  private final SegmentCatalog catalog;
  private final WriteQueue queue;
  private final SegmentWriter writer;
  private final Thread thread;

  private SegmentLog(
      Path node,
      NodeLock lock,
      WalSpool.WriteSettings writeSettings,
      WalSpool.SegmentSettings segmentSettings,
      LogDependencies dependencies)
      throws IOException {
    this.node = node;
    this.lock = lock;
    this.recovery = new Recovery(node, dependencies.disk(), dependencies.format());
    this.catalog = new SegmentCatalog(recovery.recover());
    this.queue = new WriteQueue(writeSettings, dependencies.scheduler());
    this.writer =
        new SegmentWriter(node, writeSettings, segmentSettings, dependencies, queue, catalog);
    this.thread = Thread.ofPlatform().name("wal-writer").daemon().unstarted(writer);
  }

  /**
   * Opens the log: locks the node directory for this process and recovers its files. Truncates
   * incomplete frames of a crash, and writes missing index lines.
   *
   * @param node the directory {@code log.wal/node-<id>}, created when it does not exist
   * @throws NodeLockedException when another process has locked the directory
   * @throws IOException when the directory cannot be used for another reason; the message names the
   *     directory
   */
  static SegmentLog open(
      Path node,
      WalSpool.WriteSettings writeSettings,
      WalSpool.SegmentSettings segmentSettings,
      InstantSource clock)
      throws IOException {
    return open(
        node,
        writeSettings,
        segmentSettings,
        new LogDependencies(clock, SCHEDULER, Disk.REAL, FrameFormat.CODEC));
  }

  /** Opens the log with the given dependencies, for tests. */
  static SegmentLog open(
      Path node,
      WalSpool.WriteSettings writeSettings,
      WalSpool.SegmentSettings segmentSettings,
      LogDependencies dependencies)
      throws IOException {
    var lock = NodeLock.acquire(node, dependencies.disk());
    try {
      var segmentLog = new SegmentLog(node, lock, writeSettings, segmentSettings, dependencies);
      segmentLog.thread.start();
      return segmentLog;
    } catch (IOException | RuntimeException e) {
      lock.close();
      throw e;
    }
  }

  /**
   * Reserves memory for an append before it is encoded.
   *
   * @param bytes the memory that the append needs, in bytes
   * @return null when the memory is reserved; else the reason why the limit would be exceeded, and
   *     nothing is reserved
   */
  @Nullable String reserve(long bytes) {
    return queue.reserve(bytes);
  }

  /** Releases reserved memory; {@link #append} counts the frame itself. */
  void release(long bytes) {
    queue.release(bytes);
  }

  /**
   * Writes a frame after all frames of earlier calls. Never blocks, and the stage never fails.
   *
   * @param awaited whether a client waits for the frame, which is then written as soon as possible;
   *     else it may stay in memory until another frame is written, or until the flush interval or
   *     the flush size is reached
   */
  CompletionStage<FrameWriteResult> append(Frame frame, boolean awaited) {
    return queue.append(frame, awaited);
  }

  /**
   * Returns the written frames after a position, in write order.
   *
   * @param position the position; null for the start of the log
   * @param limit maximum number of frames
   */
  List<IndexEntry> entriesAfter(@Nullable FramePosition position, int limit) throws IOException {
    var frames = new ArrayList<IndexEntry>();
    for (var extent : catalog.startingAt(position)) {
      int after = position != null && extent.name().contains(position) ? position.frame() : 0;
      if (after < extent.frames() && frames.size() < limit) {
        frames.addAll(readIndex(extent, after, limit - frames.size()));
      }
    }
    return frames;
  }

  /**
   * Waits for a frame after the position.
   *
   * @return whether such a frame exists
   */
  boolean await(@Nullable FramePosition position, Duration timeout) throws InterruptedException {
    return catalog.await(position, timeout);
  }

  /** Reads the compressed bytes of a frame, without a check of their checksum. */
  byte[] read(IndexEntry frame) throws IOException {
    var segment = catalog.find(frame.position());
    if (segment == null) {
      throw new NoSuchFileException("segment of frame " + frame.position());
    }
    var bytes = ByteBuffer.allocate(frame.length());
    try (var channel = FileChannel.open(segment.name().data(node))) {
      while (bytes.hasRemaining()) {
        if (channel.read(bytes, frame.offset() + bytes.position()) < 0) {
          throw new EOFException(segment.name() + " ends within frame " + frame.position());
        }
      }
    }
    return bytes.array();
  }

  /** Returns the frame at a position; null when the position has no frame. */
  @Nullable IndexEntry find(FramePosition position) throws IOException {
    var segment = catalog.find(position);
    if (segment == null || position.frame() < 1 || position.frame() > segment.frames()) {
      return null;
    }
    var next = readIndex(segment, position.frame() - 1, 1);
    return !next.isEmpty() && next.getFirst().position().equals(position) ? next.getFirst() : null;
  }

  /**
   * Repairs the index line of a frame that differs from its line, when the line is wrong and the
   * frame is readable.
   *
   * @return the current line of the frame; equal to {@code frame} when the line is not the cause
   */
  IndexEntry repairIndexLine(IndexEntry frame) throws IOException {
    var segment = catalog.find(frame.position());
    if (segment == null || !recovery.isReadable(segment.name(), frame)) {
      return frame;
    }
    var _ = writer.repair(segment.name(), frame.position().frame(), recovery);
    return requireNonNullElse(find(frame.position()), frame);
  }

  /**
   * Marks all frames up to a position as acknowledged: segments that contain only such frames may
   * be pruned.
   *
   * @param upTo the position, inclusive
   * @param retained positions up to {@code upTo} whose frames are still needed
   */
  void markAcked(FramePosition upTo, List<FramePosition> retained) {
    catalog.markAcked(upTo, retained);
    queue.wake();
  }

  /** Makes all later appends follow a position, even when the log has no frame there any more. */
  void advancePast(FramePosition position) {
    catalog.advancePast(position);
  }

  /** Returns the position of the last frame; null when the log has no frame. */
  @Nullable FramePosition lastPosition() {
    return catalog.lastPosition();
  }

  /**
   * Copies a damaged frame into the directory {@code quarantine}, which pruning does not touch.
   *
   * @return the file of the copy, whose name contains the position
   */
  Path quarantine(IndexEntry frame) throws IOException {
    var segment = catalog.find(frame.position());
    var bytes = read(frame);
    if (segment == null) {
      throw new NoSuchFileException("segment of frame " + frame.position());
    }
    var directory = node.resolve("quarantine");
    OwnerOnly.createDirectories(directory);
    var copy =
        directory.resolve(
            "%s-seg-%06d-%d.wal.%s"
                .formatted(
                    frame.position().day(),
                    frame.position().segment(),
                    frame.position().frame(),
                    segment.name().compression().suffix()));
    var temporary = copy.resolveSibling(copy.getFileName() + ".tmp");
    OwnerOnly.createFile(temporary);
    Files.write(temporary, bytes);
    Disk.REAL.force(temporary);
    Files.move(temporary, copy, ATOMIC_MOVE);
    Disk.REAL.force(directory);
    return copy;
  }

  /** Returns the reason why nothing can be appended now; null when appends are possible. */
  @Nullable String unavailableReason() {
    return writer.unavailableReason();
  }

  /** Returns all segments, oldest first. */
  List<SegmentInfo> segments() {
    var segments = new ArrayList<SegmentInfo>();
    for (var extent : catalog.all()) {
      segments.add(
          new SegmentInfo(
              extent.name().toString(),
              extent.name().day(),
              extent.name().number(),
              extent.bytes(),
              extent.frames(),
              extent.records() >= 0 ? extent.records() : countRecords(extent),
              catalog.isAcked(extent)));
    }
    return segments;
  }

  /**
   * Closes the log: rejects further appends, writes all queued frames, and makes them durable under
   * every fsync policy. Waits for that even when interrupted.
   */
  @Override
  public void close() {
    queue.close();
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException _) {
        interrupted = true; // accepted frames are written, however long it takes
      }
    }
    try {
      lock.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Reads lines of the index of one segment; repairs the index when it is damaged. */
  private List<IndexEntry> readIndex(Extent extent, int after, int limit) throws IOException {
    try (var index = new IndexFile(node, extent)) {
      return index.entriesAfter(after, limit);
    } catch (IndexFile.DamagedIndexException | NoSuchFileException _) {
      var repaired = writer.repair(extent.name(), 0, recovery);
      if (repaired == null) {
        return List.of();
      }
      try (var index = new IndexFile(node, repaired)) {
        return index.entriesAfter(after, limit);
      }
    }
  }

  private long countRecords(Extent extent) {
    try {
      long records = 0;
      int after = 0;
      for (var lines = readIndex(extent, after, 1000);
          !lines.isEmpty();
          lines = readIndex(extent, after, 1000)) {
        records += lines.stream().mapToLong(IndexEntry::records).sum();
        after = lines.getLast().position().frame();
      }
      catalog.updateRecords(extent, records);
      return records;
    } catch (IOException e) {
      LOG.warn("cannot count the records of WAL segment {}: {}", extent.name(), e.toString());
      return 0;
    }
  }
}
