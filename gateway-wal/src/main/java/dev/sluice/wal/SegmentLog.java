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

/**
 * The files of one node: segments of frames and their indexes, written by one thread, in the order
 * of {@link #append}. Knows frames as bytes; what they hold is not its affair.
 *
 * <p>Safe for use by many threads.
 */
final class SegmentLog implements AutoCloseable {

  /** What became of an append. */
  sealed interface FrameWriteResult {
    /** As durable as the policy has it. */
    record Written(FramePosition position) implements FrameWriteResult {}

    /** Not written; nothing of it is left. */
    record Failed(Duration retryAfter, String reason) implements FrameWriteResult {}
  }

  /**
   * A frame and where it is: a line of the index.
   *
   * @param offset of its first byte in the segment
   * @param length compressed bytes
   * @param firstNanos see {@link Frame}
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

    /** Where the next one begins. */
    long end() {
      return offset + length;
    }

    /** Whether it can be the next one behind that; null stands for the beginning of a segment. */
    boolean follows(@Nullable IndexEntry before) {
      return before == null
          ? offset == 0 && position.frame() == 1
          : offset == before.end() && position.frame() == before.position().frame() + 1;
    }
  }

  /**
   * One segment for those who look after it.
   *
   * @param file below the node's folder, such as {@code 2026-11-22/seg-000001.wal.zst}
   * @param frames that are durable
   * @param acked whether nothing in it is needed any more
   */
  record SegmentInfo(
      String file,
      LocalDate day,
      int number,
      long bytes,
      long frames,
      long records,
      boolean acked) {}

  /** When an append that was not taken is worth another try. */
  static final Duration RETRY_AFTER = Duration.ofSeconds(1);

  private static final Scheduler SCHEDULER =
      (delay, task) ->
          CompletableFuture.delayedExecutor(delay.toNanos(), NANOSECONDS).execute(task);

  /** What is not the log's own. */
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
   * Takes the node's folder for this process alone and puts it in order: what a crash has torn off
   * is cut off, index lines that are missing are written again.
   *
   * @param node folder {@code log.wal/node-<id>}, made when it is not there
   * @throws IOException when it cannot be used; says which folder, and that another process has it
   *     when that is why
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

  /** As above, with all that tests put in. */
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
   * Counts bytes that an append is about to hold, from before it is encoded.
   *
   * @return why not, when all together would hold more than may be, and then nothing is counted;
   *     else null
   */
  @Nullable String reserve(long bytes) {
    return queue.reserve(bytes);
  }

  /** Counts them off; the frame itself is counted by {@link #append}. */
  void release(long bytes) {
    queue.release(bytes);
  }

  /**
   * Writes a frame after all that came before it. Never fails, never blocks.
   *
   * @param awaited whether to write as soon as possible; else it may lie in memory until others are
   *     written, it has grown old, or much has come together
   */
  CompletionStage<FrameWriteResult> append(Frame frame, boolean awaited) {
    return queue.append(frame, awaited);
  }

  /**
   * Durable frames behind a position, in their order.
   *
   * @param position null for the very beginning
   * @param limit how many at most
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
   * Waits until there is a frame behind the position.
   *
   * @return whether there is
   */
  boolean await(@Nullable FramePosition position, Duration timeout) throws InterruptedException {
    return catalog.await(position, timeout);
  }

  /** A frame's compressed bytes; whether they are intact is not looked at. */
  byte[] read(IndexEntry frame) throws IOException {
    var segment = catalog.find(frame.position());
    if (segment == null) {
      throw new NoSuchFileException("the segment of " + frame.position());
    }
    var bytes = ByteBuffer.allocate(frame.length());
    try (var channel = FileChannel.open(segment.name().data(node))) {
      while (bytes.hasRemaining()) {
        if (channel.read(bytes, frame.offset() + bytes.position()) < 0) {
          throw new EOFException(segment.name() + " ends within " + frame.position());
        }
      }
    }
    return bytes.array();
  }

  /** The frame at that very position; null when there is none. */
  @Nullable IndexEntry find(FramePosition position) throws IOException {
    var segment = catalog.find(position);
    if (segment == null || position.frame() < 1 || position.frame() > segment.frames()) {
      return null;
    }
    var next = readIndex(segment, position.frame() - 1, 1);
    return !next.isEmpty() && next.getFirst().position().equals(position) ? next.getFirst() : null;
  }

  /**
   * Writes the line of a frame again that is not what the line says, if it is the line that is
   * wrong.
   *
   * @return the line that it has now; the same when nothing was wrong with it
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
   * Nothing up to that position, itself included, is needed any more but the frames named: whole
   * segments of it may be pruned when the disk asks for it.
   *
   * @param retained positions at or before it that are
   */
  void markAcked(FramePosition upTo, List<FramePosition> retained) {
    catalog.markAcked(upTo, retained);
    queue.wake();
  }

  /**
   * There was a frame at that position, whether it is still there or not: what is appended from now
   * on comes behind it.
   */
  void advancePast(FramePosition position) {
    catalog.advancePast(position);
  }

  /** The last frame there is; null when there is none. */
  @Nullable FramePosition lastPosition() {
    return catalog.lastPosition();
  }

  /** Keeps a copy of a damaged frame, under its name, where pruning does not get at it. */
  Path quarantine(IndexEntry frame) throws IOException {
    var segment = catalog.find(frame.position());
    var bytes = read(frame);
    if (segment == null) {
      throw new NoSuchFileException("the segment of " + frame.position());
    }
    var folder = Files.createDirectories(node.resolve("quarantine"));
    var copy =
        folder.resolve(
            "%s-seg-%06d-%d.wal.%s"
                .formatted(
                    frame.position().day(),
                    frame.position().segment(),
                    frame.position().frame(),
                    segment.name().compression().suffix()));
    var fresh = copy.resolveSibling(copy.getFileName() + ".tmp");
    Files.write(fresh, bytes);
    Disk.REAL.force(fresh);
    Files.move(fresh, copy, ATOMIC_MOVE);
    Disk.REAL.force(folder);
    return copy;
  }

  /** Why nothing can be appended at the moment; null when it can. */
  @Nullable String unavailableReason() {
    return writer.unavailableReason();
  }

  /** All there are, oldest first. */
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

  /** Writes what is in memory, makes it durable whatever the policy, and takes nothing any more. */
  @Override
  public void close() {
    queue.close();
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException _) {
        interrupted = true; // what is taken is written, however long it takes
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

  /** Lines of one segment; mends its index when it is damaged. */
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
      throw new UncheckedIOException(e);
    }
  }
}
