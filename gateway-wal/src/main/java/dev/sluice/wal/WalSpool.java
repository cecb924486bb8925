package dev.sluice.wal;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.DeadLetterQueue;
import dev.sluice.core.port.FallbackSpoolConsumer;
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
import org.jspecify.annotations.Nullable;

/**
 * The spool on the local disk.
 *
 * <p>Safe for use by many threads.
 */
public final class WalSpool implements Spool, IdempotencyStore, Backlog, AutoCloseable {

  /** When what was written is forced to the disk. */
  public enum Fsync {
    /** Before it counts as safe. */
    FLUSH,
    /** Now and then; what was written in between survives the process, not a power failure. */
    INTERVAL,
    /** When the system likes; survives the process, not a power failure. */
    NEVER
  }

  /**
   * How frames get to the disk.
   *
   * @param compression of new segments
   * @param fsync when they are forced to it, index and all
   * @param fsyncInterval how often, where it is {@link Fsync#INTERVAL}
   * @param flushInterval how long what nobody waits for lies in memory at most
   * @param flushBytes how much of it, before compression
   * @param queueBytes how much all that is not yet written may hold, whoever waits for it, copies
   *     included
   */
  public record WriteSettings(
      Compression compression,
      Fsync fsync,
      Duration fsyncInterval,
      Duration flushInterval,
      long flushBytes,
      long queueBytes) {}

  /**
   * How segments are kept.
   *
   * @param segmentBytes at which a new one is begun
   * @param segmentRollInterval at which a new one is begun; one is begun each day (UTC) too
   * @param retainedBytesHighWatermark bytes of segments all of whose logs are delivered, from which
   *     on the oldest are pruned
   * @param retainedBytesLowWatermark bytes of such segments at which that ends
   * @param minFreeDiskBytes bytes of the disk that are left free, so that what is there can be
   *     delivered
   */
  public record SegmentSettings(
      long segmentBytes,
      Duration segmentRollInterval,
      long retainedBytesHighWatermark,
      long retainedBytesLowWatermark,
      long minFreeDiskBytes) {}

  /**
   * What the spool needs to know.
   *
   * @param directory below which {@code log.wal} lies
   * @param node this process's own folder there, {@code node-<id>}
   * @param deliveryLimits of one delivery
   * @param deadLetters that are kept at most
   * @param idempotencyKeys idempotency keys remembered at most; the oldest is forgotten first
   * @param idempotencyRetention how long a key is remembered
   */
  public record Settings(
      Path directory,
      String node,
      WriteSettings writeSettings,
      SegmentSettings segmentSettings,
      SpoolConsumer.DeliveryLimits deliveryLimits,
      int deadLetters,
      int idempotencyKeys,
      Duration idempotencyRetention) {}

  /**
   * How the log is, for those who look after it.
   *
   * @param segments oldest first
   * @param quarantined oldest first
   * @param skippedEntries entries that are passed over since this release cannot deliver them
   * @param unavailableReason why nothing can be appended; null when it can
   */
  public record Status(
      List<SegmentStatus> segments,
      List<DamagedFrame> quarantined,
      Depth backlog,
      long pendingRecords,
      int skippedEntries,
      @Nullable String unavailableReason) {}

  /** One segment; see {@link Status}. */
  public record SegmentStatus(
      String file, long bytes, long frames, long records, boolean delivered) {}

  /**
   * A damaged frame.
   *
   * @param frame its position
   * @param copy where its bytes are
   */
  public record DamagedFrame(String frame, Path copy, int records, String reason, Instant at) {}

  /**
   * What came of looking at every frame of a segment.
   *
   * @param faults one for each frame that is not what its index line says
   */
  public record Verification(String file, long frames, long records, List<String> faults) {}

  /** The oldest frame that waits, and when its logs were received. */
  private record OldestFrame(FramePosition position, long receivedNanos) {}

  private static final int PAGE_SIZE = 1_000;
  private static final Duration RETRY_AFTER = Duration.ofSeconds(5);

  private final Settings settings;
  private final InstantSource clock;
  private final SegmentLog segmentLog;
  private final IdempotencyKeyTable idempotencyKeyTable;
  private final ConsumerState consumerState;
  private final DedupingAppender appender;
  private final ConsumerStateJournal stateJournal;
  private volatile @Nullable OldestFrame oldestFrame;

  private WalSpool(
      Settings settings, Path node, InstantSource clock, Journal.WriteFunction writeFunction)
      throws IOException {
    this.settings = settings;
    this.clock = clock;
    this.segmentLog =
        SegmentLog.open(node, settings.writeSettings(), settings.segmentSettings(), clock);
    this.idempotencyKeyTable =
        new IdempotencyKeyTable(settings.idempotencyKeys(), settings.idempotencyRetention(), clock);
    this.consumerState =
        new ConsumerState(new DeadLetterTable(settings.deadLetters()), idempotencyKeyTable);
    var codec = new FrameCodec(settings.writeSettings().compression());
    this.appender =
        new DedupingAppender(segmentLog, codec, consumerState, idempotencyKeyTable, clock);
    try {
      this.stateJournal =
          ConsumerStateJournal.open(
              node.resolve("journal"),
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
   * Takes the node's folder and puts it in order.
   *
   * @throws NodeLockedException when another process has it
   * @throws IOException when it cannot be used for another reason, which it says
   */
  public static WalSpool open(Settings settings, InstantSource clock) throws IOException {
    return open(settings, clock, RandomAccessFile::write);
  }

  static WalSpool open(Settings settings, InstantSource clock, Journal.WriteFunction writeFunction)
      throws IOException {
    return new WalSpool(settings, node(settings), clock, writeFunction);
  }

  /**
   * Log records that lie undelivered in the folders of other nodes, about, by node. Whether a
   * process has such a folder, and will deliver them, is not looked at.
   *
   * @param directory as in the settings
   * @param own node that is not looked at; null for none
   * @throws IOException when the folder cannot be listed
   */
  public static SortedMap<String, Long> orphanedRecords(Path directory, @Nullable String own)
      throws IOException {
    return OrphanedNodeScanner.scan(directory.resolve("log.wal"), own);
  }

  private static Path node(Settings settings) {
    return settings.directory().resolve("log.wal").resolve("node-" + settings.node());
  }

  /** A frame from before the start. */
  private void restoreUnacked(FramePosition position, WalEntry entry) {
    var batch = entry.batch();
    appender.remember(batch.appendId(), position);
    if (entry.key() != null) {
      idempotencyKeyTable.complete(
          IdempotencyKeyTable.completedKey(entry.key(), batch.receivedNanos()));
    }
  }

  /** The other end; the one before it, if any, is used no more. */
  public FallbackSpoolConsumer newConsumer() {
    return new WalSpoolConsumer(settings.deliveryLimits(), segmentLog, consumerState, stateJournal);
  }

  public DeadLetterQueue deadLetters() {
    return new WalDeadLetterQueue(consumerState, stateJournal, appender);
  }

  public Status status() {
    var all =
        segmentLog.segments().stream()
            .map(
                one ->
                    new SegmentStatus(
                        one.file(), one.bytes(), one.frames(), one.records(), one.acked()))
            .toList();
    return new Status(
        all,
        consumerState.quarantinedFrames(),
        depth(),
        consumerState.pendingRecords(),
        consumerState.skippedEntries(),
        segmentLog.unavailableReason());
  }

  /**
   * Reads every frame of a segment.
   *
   * @param segment number on that day, from 1
   * @throws java.nio.file.NoSuchFileException when there is none
   */
  public Verification verify(LocalDate day, int segment) throws IOException {
    var info =
        segmentLog.segments().stream()
            .filter(one -> one.day().equals(day) && one.number() == segment)
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

  /** Of the same segment, behind that one. */
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
      WalSpoolConsumer.read(segmentLog, frame);
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
  public CompletionStage<DeliveryStatus> statusOf(Receipt receipt, LogId firstId, int records) {
    DeliveryStatus status;
    try {
      status =
          receipt.shard() == 0
              ? consumerState.statusOf(FramePosition.of(receipt.entryId()), firstId, records)
              : new DeliveryStatus.Unknown("there is no shard " + receipt.shard());
    } catch (IllegalArgumentException | DateTimeException e) {
      status = new DeliveryStatus.Unknown(String.valueOf(e.getMessage()));
    }
    return CompletableFuture.completedStage(status);
  }

  @Override
  public CompletionStage<SpoolStatus> spoolStatus() {
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

  /** Makes everything durable; what is unsettled stays. Appends after it are answered as busy. */
  @Override
  public void close() {
    appender.close();
    segmentLog.close();
    stateJournal.close();
  }
}
