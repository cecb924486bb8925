package dev.sluice.wal;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.DailyCounts;
import dev.sluice.core.port.DeliveryStatusReader;
import dev.sluice.core.port.FallbackDuplicateCheck;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.SpoolConsumer;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A spool on the local disk, written as a write-ahead log (WAL).
 *
 * <p>Safe for use by many threads.
 */
public final class WalSpool
    implements Spool, IdempotencyStore, DeliveryStatusReader, DailyCounts, Backlog, AutoCloseable {

  /** The fsync policy: when written frames are forced to the disk. */
  public enum Fsync {
    /** Before an append is accepted. Accepted records survive a power failure. */
    FLUSH,
    /**
     * At a fixed interval. Frames written since the last fsync survive the end of the process, but
     * not a power failure.
     */
    INTERVAL,
    /**
     * At a time that the operating system chooses. Frames survive the end of the process, but not a
     * power failure.
     */
    NEVER
  }

  /**
   * Settings of the write path.
   *
   * @param compression the compression of new segments
   * @param fsync the fsync policy of segments and their indexes
   * @param fsyncInterval the interval between two fsyncs, for {@link Fsync#INTERVAL}
   * @param flushInterval maximum time that frames without a waiting client stay in memory
   * @param flushBytes size of such frames before compression, in bytes, at which they are written
   * @param queueBytes maximum memory of all appends that are not written yet, in bytes, including
   *     the copies made for encoding
   */
  public record WriteSettings(
      Compression compression,
      Fsync fsync,
      Duration fsyncInterval,
      Duration flushInterval,
      long flushBytes,
      long queueBytes) {}

  /**
   * Settings of the segments.
   *
   * @param segmentBytes size in bytes at which a new segment starts
   * @param segmentRollInterval age at which a new segment starts; each day (UTC) starts one too
   * @param retainedBytesHighWatermark total size in bytes of fully delivered segments at which the
   *     deletion of the oldest ones starts
   * @param retainedBytesLowWatermark total size in bytes of such segments at which it stops
   * @param minFreeDiskBytes free disk space in bytes that appends leave, so that delivery can write
   *     its state; 0 for no limit
   */
  public record SegmentSettings(
      long segmentBytes,
      Duration segmentRollInterval,
      long retainedBytesHighWatermark,
      long retainedBytesLowWatermark,
      long minFreeDiskBytes) {}

  /**
   * Settings of the spool.
   *
   * @param directory the directory that contains {@code log.wal}
   * @param node the id of this process, whose directory is {@code log.wal/node-<id>}
   * @param writeSettings the settings of the write path
   * @param segmentSettings the settings of the segments
   * @param deliveryLimits the size limits of one delivery
   * @param idempotencyKeys maximum number of idempotency keys; the oldest key is forgotten first
   * @param idempotencyRetention retention of an idempotency key
   */
  public record WalSpoolSettings(
      Path directory,
      String node,
      WriteSettings writeSettings,
      SegmentSettings segmentSettings,
      SpoolConsumer.DeliveryLimits deliveryLimits,
      int idempotencyKeys,
      Duration idempotencyRetention) {}

  /**
   * The status of the WAL for an operator.
   *
   * @param segments the segments, oldest first
   * @param quarantined the damaged frames in quarantine, oldest first
   * @param backlog the number and the age of the frames that are not delivered
   * @param pendingRecords number of records that are not delivered
   * @param skippedEntries number of frames that are skipped because this release cannot deliver
   *     them
   * @param unavailableReason the reason why nothing can be appended; null when appends are possible
   */
  public record WalStatus(
      List<SegmentStatus> segments,
      List<DamagedFrame> quarantined,
      Depth backlog,
      long pendingRecords,
      int skippedEntries,
      @Nullable String unavailableReason) {}

  /**
   * The status of one segment.
   *
   * @param file the file of the segment, relative to the node directory
   * @param bytes size of its frames in bytes
   * @param frames number of its frames
   * @param records number of its records; 0 when they cannot be counted because a file is missing
   * @param delivered whether all of its frames are delivered
   */
  public record SegmentStatus(
      String file, long bytes, long frames, long records, boolean delivered) {}

  /**
   * A damaged frame in quarantine.
   *
   * @param frame the position of the frame
   * @param copy the file that contains a copy of its bytes
   * @param records number of its records
   * @param reason the damage
   * @param at the time of the detection
   */
  public record DamagedFrame(String frame, Path copy, int records, String reason, Instant at) {}

  /**
   * The result of the verification of a segment.
   *
   * @param file the file of the segment, relative to the node directory
   * @param frames number of frames read
   * @param records number of records in them
   * @param faults one message for each frame that differs from its index line
   */
  public record Verification(String file, long frames, long records, List<String> faults) {}

  /** The oldest frame that is not delivered, with the receive time of its records. */
  private record OldestFrame(FramePosition position, long receivedNanos) {}

  private static final int PAGE_SIZE = 1_000;
  private static final Duration RETRY_AFTER = Duration.ofSeconds(5);

  private final WalSpoolSettings settings;
  private final InstantSource clock;
  private final SegmentLog segmentLog;
  private final IdempotencyKeyTable idempotencyKeyTable;
  private final ConsumerState consumerState;
  private final DedupingAppender appender;
  private final ConsumerStateJournal stateJournal;
  private volatile @Nullable OldestFrame oldestFrame;

  private WalSpool(
      WalSpoolSettings settings,
      Path nodeDirectory,
      InstantSource clock,
      Journal.WriteFunction writeFunction)
      throws IOException {
    this.settings = settings;
    this.clock = clock;
    this.segmentLog =
        SegmentLog.open(nodeDirectory, settings.writeSettings(), settings.segmentSettings(), clock);
    this.idempotencyKeyTable =
        new IdempotencyKeyTable(settings.idempotencyKeys(), settings.idempotencyRetention(), clock);
    this.consumerState = new ConsumerState(idempotencyKeyTable);
    var codec = new FrameCodec(settings.writeSettings().compression());
    this.appender =
        new DedupingAppender(segmentLog, codec, consumerState, idempotencyKeyTable, clock);
    try {
      this.stateJournal =
          ConsumerStateJournal.open(
              nodeDirectory.resolve("journal"),
              segmentLog,
              consumerState,
              clock,
              writeFunction,
              this::restoreUnacked);
    } catch (IOException | RuntimeException e) {
      segmentLog.close();
      throw e;
    }
  }

  /**
   * Opens the WAL: locks the node directory and recovers its files.
   *
   * @throws NodeLockedException when another process has locked the node directory
   * @throws IOException when the node directory cannot be used for another reason, which the
   *     message gives
   */
  public static WalSpool open(WalSpoolSettings settings, InstantSource clock) throws IOException {
    return open(settings, clock, RandomAccessFile::write);
  }

  static WalSpool open(
      WalSpoolSettings settings, InstantSource clock, Journal.WriteFunction writeFunction)
      throws IOException {
    return new WalSpool(settings, nodeDirectory(settings), clock, writeFunction);
  }

  /**
   * Returns the approximate number of undelivered records in the directories of other nodes, by
   * node id. Does not check whether a process uses such a directory and will deliver the records.
   *
   * @param directory the directory of {@link WalSpoolSettings#directory}
   * @param own the node id to exclude; null for none
   * @throws IOException when the directory cannot be listed
   */
  public static SortedMap<String, Long> orphanedRecords(Path directory, @Nullable String own)
      throws IOException {
    return OrphanedNodeScanner.scan(directory.resolve("log.wal"), own);
  }

  private static Path nodeDirectory(WalSpoolSettings settings) {
    return settings.directory().resolve("log.wal").resolve("node-" + settings.node());
  }

  /** Restores the append id and the idempotency key of an unacknowledged frame after a restart. */
  private void restoreUnacked(FramePosition position, WalEntry entry) {
    var batch = entry.batch();
    appender.remember(batch.appendId(), position);
    if (entry.key() != null) {
      idempotencyKeyTable.complete(
          IdempotencyKeyTable.completedKey(entry.key(), batch.receivedNanos()));
    }
  }

  /**
   * Returns a consumer of a spool that is not a fallback, see {@link
   * #newConsumer(FallbackDuplicateCheck)}.
   */
  public SpoolConsumer newConsumer() {
    return newConsumer(null);
  }

  /**
   * Returns a consumer of this spool. An earlier consumer must no longer be in use.
   *
   * @param duplicateCheck the check of batches that the primary spool may have; null when this
   *     spool is not a fallback
   */
  public SpoolConsumer newConsumer(@Nullable FallbackDuplicateCheck duplicateCheck) {
    return new WalSpoolConsumer(
        settings.deliveryLimits(), segmentLog, consumerState, stateJournal, duplicateCheck);
  }

  /**
   * Returns the number of frames that this release cannot read or that are set aside; they stay in
   * the WAL.
   */
  public int skippedEntries() {
    return consumerState.skippedEntries();
  }

  /**
   * Moves the dead letters that an earlier release kept in the journal, and deletes those that are
   * written. Blocks.
   *
   * @param writer writes dead letters to their new place, and returns whether all are written
   * @return whether every dead letter is moved
   * @throws UncheckedIOException when the journal cannot be written
   */
  public boolean moveDeadLetters(Predicate<List<DeadLetter>> writer) {
    try {
      return stateJournal.moveDeadLetters(writer);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns the status of the WAL. Blocks: reads the indexes of segments not yet counted. */
  public WalStatus walStatus() {
    var segments =
        segmentLog.segments().stream()
            .map(
                info ->
                    new SegmentStatus(
                        info.file(), info.bytes(), info.frames(), info.records(), info.acked()))
            .toList();
    return new WalStatus(
        segments,
        consumerState.quarantinedFrames(),
        depthOrZeroAge(),
        consumerState.pendingRecords(),
        consumerState.skippedEntries(),
        segmentLog.unavailableReason());
  }

  /**
   * Verifies a segment: reads every frame and compares it with its index line. Blocks.
   *
   * @param day the day (UTC) of the segment
   * @param segment the number of the segment on that day, from 1
   * @throws java.nio.file.NoSuchFileException when the segment does not exist
   */
  public Verification verify(LocalDate day, int segment) throws IOException {
    var info =
        segmentLog.segments().stream()
            .filter(candidate -> candidate.day().equals(day) && candidate.number() == segment)
            .findFirst()
            .orElseThrow(() -> new NoSuchFileException(day + ", segment " + segment));
    var faults = new ArrayList<String>();
    long frames = 0;
    long records = 0;
    var from = new FramePosition(day, segment, 0);
    for (var page = segmentFrames(from); !page.isEmpty(); page = segmentFrames(from)) {
      for (var frame : page) {
        var fault = findFault(frame);
        if (fault != null) {
          faults.add("frame %d: %s".formatted(frame.position().frame(), fault));
        }
        frames++;
        records += frame.records();
        from = frame.position();
      }
    }
    return new Verification(info.file(), frames, records, faults);
  }

  /** Returns the next frames of the same segment. */
  private List<SegmentLog.IndexEntry> segmentFrames(FramePosition from) throws IOException {
    return segmentLog.entriesAfter(from, PAGE_SIZE).stream()
        .filter(
            frame ->
                frame.position().day().equals(from.day())
                    && frame.position().segment() == from.segment())
        .toList();
  }

  private @Nullable String findFault(SegmentLog.IndexEntry frame) throws IOException {
    try {
      WalSpoolConsumer.readFrame(segmentLog, frame);
      return null;
    } catch (UnreadableFrameException e) {
      return e.getMessage();
    }
  }

  @Override
  public CompletionStage<AppendResult> append(LogBatch batch, AppendMode mode) {
    return appender.append(
        batch, mode != AppendMode.LAZY, mode == AppendMode.POSSIBLE_DUPLICATE, null);
  }

  @Override
  public CompletionStage<DeliveryStatus> statusOf(Receipt receipt) {
    DeliveryStatus status;
    try {
      status =
          receipt.shard() == 0
              ? consumerState.statusOf(FramePosition.of(receipt.entryId()))
              : new DeliveryStatus.Unknown("shard " + receipt.shard() + " does not exist");
    } catch (IllegalArgumentException | DateTimeException e) {
      status = new DeliveryStatus.Unknown(String.valueOf(e.getMessage()));
    }
    return CompletableFuture.completedStage(status);
  }

  @Override
  public CompletionStage<SpoolStatus> status() {
    return CompletableFuture.completedStage(
        new SpoolStatus(
            segmentLog.unavailableReason(),
            null,
            consumerState.pendingRecords(),
            consumerState.ackedRecords()));
  }

  @Override
  public SortedMap<LocalDate, RecordCounts> recordCounts(LocalDate from) {
    return consumerState.recordCounts(from);
  }

  @Override
  public LocalDate countsCompleteSince() {
    var since = consumerState.countsCompleteSince();
    return since == null ? LocalDate.ofInstant(clock.instant(), ZoneOffset.UTC) : since;
  }

  @Override
  public CompletionStage<ClaimResult> claim(IdempotencyKey key) {
    var reason = segmentLog.unavailableReason();
    return CompletableFuture.completedStage(
        reason == null
            ? idempotencyKeyTable.claim(key)
            : new ClaimResult.Unavailable(RETRY_AFTER, reason));
  }

  @Override
  public Optional<ClaimResult> cachedResult(IdempotencyKey key) {
    return idempotencyKeyTable.completedKey(key);
  }

  @Override
  public List<UsedKey> usedKeys() {
    return idempotencyKeyTable.completedKeys().stream()
        .map(key -> new UsedKey(key.digest(), key.request(), key.at()))
        .toList();
  }

  @Override
  public CompletionStage<AppendResult> append(LogBatch batch, Claim claim, AppendMode mode) {
    return appender.append(
        batch, mode != AppendMode.LAZY, mode == AppendMode.POSSIBLE_DUPLICATE, claim);
  }

  @Override
  public CompletionStage<Void> release(Claim claim) {
    idempotencyKeyTable.release(claim);
    return CompletableFuture.completedStage(null);
  }

  @Override
  public Depth depth() {
    long frames = consumerState.pendingFrames();
    return frames == 0 ? new Depth(0, Duration.ZERO) : new Depth(frames, oldestAge());
  }

  /**
   * Returns the depth with age zero when the oldest frame cannot be read, such as a deleted one.
   */
  private Depth depthOrZeroAge() {
    try {
      return depth();
    } catch (UncheckedIOException _) {
      return new Depth(consumerState.pendingFrames(), Duration.ZERO);
    }
  }

  private Duration oldestAge() {
    var now = clock.instant();
    long nanos = now.getEpochSecond() * 1_000_000_000L + now.getNano();
    long oldestSkipped =
        consumerState.skippedFrames().stream()
            .mapToLong(JournalEvent.FrameSkipped::receivedNanos)
            .min()
            .orElse(nanos);
    return Duration.ofNanos(
        Math.max(0, nanos - Math.min(oldestSkipped, oldestUnackedNanos(nanos))));
  }

  private long oldestUnackedNanos(long now) {
    try {
      var frames = segmentLog.entriesAfter(consumerState.ackedPosition(), 1);
      if (frames.isEmpty()) {
        return now;
      }
      var frame = frames.getFirst();
      var cached = oldestFrame;
      if (cached == null || !cached.position().equals(frame.position())) {
        cached = new OldestFrame(frame.position(), receivedNanos(frame));
        oldestFrame = cached;
      }
      return cached.receivedNanos();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private long receivedNanos(SegmentLog.IndexEntry frame) throws IOException {
    try {
      return FrameCodec.decodeHeader(segmentLog.read(frame)).batch().receivedNanos();
    } catch (UnreadableFrameException _) {
      return frame.firstNanos();
    }
  }

  /**
   * Writes all queued frames and makes them durable; unacknowledged frames stay in the spool. Later
   * appends return {@link AppendResult.Unavailable}.
   */
  @Override
  public void close() {
    appender.close();
    segmentLog.close();
    stateJournal.close();
  }
}
