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
   * @param flushAfter how long what nobody waits for lies in memory at most
   * @param flushBytes how much of it, before compression
   * @param queueBytes how much all that is not yet written may hold, whoever waits for it, copies
   *     included
   */
  public record Writing(
      Compression compression,
      Fsync fsync,
      Duration fsyncInterval,
      Duration flushAfter,
      long flushBytes,
      long queueBytes) {}

  /**
   * How segments are kept.
   *
   * @param segmentBytes at which a new one is begun
   * @param segmentAge at which a new one is begun; one is begun each day (UTC) too
   * @param keepHigh bytes of segments all of whose logs are delivered, from which on the oldest are
   *     pruned
   * @param keepLow bytes of such segments at which that ends
   * @param headroom bytes of the disk that are left free, so that what is there can be delivered
   */
  public record Filing(
      long segmentBytes, Duration segmentAge, long keepHigh, long keepLow, long headroom) {}

  /**
   * What the spool needs to know.
   *
   * @param directory below which {@code log.wal} lies
   * @param node this process's own folder there, {@code node-<id>}
   * @param bounds of one delivery
   * @param deadLetters that are kept at most
   * @param keys idempotency keys remembered at most; the oldest is forgotten first
   * @param keyRetention how long a key is remembered
   */
  public record Settings(
      Path directory,
      String node,
      Writing writing,
      Filing filing,
      SpoolConsumer.DeliveryLimits bounds,
      int deadLetters,
      int keys,
      Duration keyRetention) {}

  /**
   * How the log is, for those who look after it.
   *
   * @param segments oldest first
   * @param quarantined oldest first
   * @param unreadable entries that are passed over since this release cannot deliver them
   * @param obstacle why nothing can be appended; null when it can
   */
  public record Status(
      List<SegmentStatus> segments,
      List<Quarantined> quarantined,
      Depth backlog,
      long waitingRecords,
      int unreadable,
      @Nullable String obstacle) {}

  /** One segment; see {@link Status}. */
  public record SegmentStatus(
      String file, long bytes, long frames, long records, boolean delivered) {}

  /**
   * A damaged frame.
   *
   * @param frame its position
   * @param copy where its bytes are
   */
  public record Quarantined(String frame, Path copy, int records, String reason, Instant at) {}

  /**
   * What came of looking at every frame of a segment.
   *
   * @param faults one for each frame that is not what its index line says
   */
  public record Verification(String file, long frames, long records, List<String> faults) {}

  /** The oldest frame that waits, and when its logs were received. */
  private record Oldest(Position position, long nanos) {}

  private static final int PAGE = 1_000;
  private static final Duration WHEN_BETTER = Duration.ofSeconds(5);

  private final Settings settings;
  private final InstantSource clock;
  private final Segments segments;
  private final Keys keys;
  private final Book book;
  private final Appends appends;
  private final Bookkeeper keeper;
  private volatile @Nullable Oldest oldest;

  private WalSpool(Settings settings, Path node, InstantSource clock, Journal.Disk disk)
      throws IOException {
    this.settings = settings;
    this.clock = clock;
    this.segments = Segments.open(node, settings.writing(), settings.filing(), clock);
    this.keys = new Keys(settings.keys(), settings.keyRetention(), clock);
    this.book = new Book(new Letters(settings.deadLetters()), keys);
    var codec = new FrameCodec(settings.writing().compression());
    this.appends = new Appends(segments, codec, book, keys, clock);
    try {
      this.keeper =
          Bookkeeper.open(node.resolve("journal"), segments, book, clock, disk, this::waits);
    } catch (IOException | RuntimeException e) {
      segments.close();
      throw e;
    }
  }

  /**
   * Takes the node's folder and puts it in order.
   *
   * @throws NodeTaken when another process has it
   * @throws IOException when it cannot be used for another reason, which it says
   */
  public static WalSpool open(Settings settings, InstantSource clock) throws IOException {
    return open(settings, clock, RandomAccessFile::write);
  }

  static WalSpool open(Settings settings, InstantSource clock, Journal.Disk disk)
      throws IOException {
    return new WalSpool(settings, node(settings), clock, disk);
  }

  /**
   * Log records that lie undelivered in the folders of other nodes, about, by node. Whether a
   * process has such a folder, and will deliver them, is not looked at.
   *
   * @param directory as in the settings
   * @param own node that is not looked at; null for none
   * @throws IOException when the folder cannot be listed
   */
  public static SortedMap<String, Long> leftIn(Path directory, @Nullable String own)
      throws IOException {
    return Leftovers.in(directory.resolve("log.wal"), own);
  }

  private static Path node(Settings settings) {
    return settings.directory().resolve("log.wal").resolve("node-" + settings.node());
  }

  /** A frame from before the start. */
  private void waits(Position position, Entry entry) {
    var batch = entry.batch();
    appends.remember(batch.appendId(), position);
    if (entry.key() != null) {
      keys.take(Keys.taken(entry.key(), batch.receivedNanos()));
    }
  }

  /** The other end; the one before it, if any, is used no more. */
  public FallbackSpoolConsumer deliveries() {
    return new WalDeliveries(settings.bounds(), segments, book, keeper);
  }

  public DeadLetterQueue deadLetters() {
    return new WalDeadLetters(book, keeper, appends);
  }

  public Status status() {
    var all =
        segments.segments().stream()
            .map(
                one ->
                    new SegmentStatus(
                        one.file(), one.bytes(), one.frames(), one.records(), one.settled()))
            .toList();
    return new Status(
        all,
        book.quarantined(),
        depth(),
        book.waitingRecords(),
        book.unreadable(),
        segments.obstacle());
  }

  /**
   * Reads every frame of a segment.
   *
   * @param segment number on that day, from 1
   * @throws java.nio.file.NoSuchFileException when there is none
   */
  public Verification verify(LocalDate day, int segment) throws IOException {
    var it =
        segments.segments().stream()
            .filter(one -> one.day().equals(day) && one.number() == segment)
            .findFirst()
            .orElseThrow(() -> new NoSuchFileException(day + ", segment " + segment));
    var faults = new ArrayList<String>();
    long frames = 0;
    long records = 0;
    var from = new Position(day, segment, 0);
    for (var page = frames(from); !page.isEmpty(); page = frames(from)) {
      for (var frame : page) {
        var fault = fault(frame);
        if (fault != null) {
          faults.add("frame %d: %s".formatted(frame.position().frame(), fault));
        }
        frames++;
        records += frame.records();
        from = frame.position();
      }
    }
    return new Verification(it.file(), frames, records, faults);
  }

  /** Of the same segment, behind that one. */
  private List<Segments.Indexed> frames(Position from) throws IOException {
    return segments.after(from, PAGE).stream()
        .filter(
            frame ->
                frame.position().day().equals(from.day())
                    && frame.position().segment() == from.segment())
        .toList();
  }

  private @Nullable String fault(Segments.Indexed frame) throws IOException {
    try {
      WalDeliveries.read(segments, frame);
      return null;
    } catch (UnreadableFrame e) {
      return e.getMessage();
    }
  }

  @Override
  public CompletionStage<AppendResult> append(LogBatch batch, AppendMode manner) {
    return appends.append(
        batch, manner != AppendMode.LAZY, manner == AppendMode.POSSIBLE_DUPLICATE, null);
  }

  @Override
  public CompletionStage<DeliveryStatus> statusOf(Receipt receipt, LogId first, int records) {
    DeliveryStatus fate;
    try {
      fate =
          receipt.shard() == 0
              ? book.fate(Position.of(receipt.entryId()), first, records)
              : new DeliveryStatus.Unknown("there is no shard " + receipt.shard());
    } catch (IllegalArgumentException | DateTimeException e) {
      fate = new DeliveryStatus.Unknown(String.valueOf(e.getMessage()));
    }
    return CompletableFuture.completedStage(fate);
  }

  @Override
  public CompletionStage<SpoolStatus> spoolStatus() {
    return CompletableFuture.completedStage(
        new SpoolStatus(segments.obstacle(), null, book.waitingRecords(), book.settledRecords()));
  }

  @Override
  public SortedMap<LocalDate, RecordCounts> recordCounts(LocalDate from) {
    return book.tally(from);
  }

  @Override
  public LocalDate countsCompleteSince() {
    var since = book.since();
    return since == null ? LocalDate.ofInstant(clock.instant(), ZoneOffset.UTC) : since;
  }

  @Override
  public CompletionStage<ClaimResult> claim(IdempotencyKey key) {
    var obstacle = segments.obstacle();
    return CompletableFuture.completedStage(
        obstacle == null ? keys.claim(key) : new ClaimResult.Unavailable(WHEN_BETTER, obstacle));
  }

  @Override
  public Optional<ClaimResult> cachedResult(IdempotencyKey key) {
    return keys.taken(key);
  }

  @Override
  public CompletionStage<AppendResult> append(LogBatch batch, Claim claim, AppendMode manner) {
    return appends.append(
        batch, manner != AppendMode.LAZY, manner == AppendMode.POSSIBLE_DUPLICATE, claim);
  }

  @Override
  public CompletionStage<Void> release(Claim claim) {
    keys.release(claim);
    return CompletableFuture.completedStage(null);
  }

  @Override
  public Depth depth() {
    long frames = book.waitingFrames();
    return frames == 0 ? new Depth(0, Duration.ZERO) : new Depth(frames, age());
  }

  private Duration age() {
    var now = clock.instant();
    long nanos = now.getEpochSecond() * 1_000_000_000L + now.getNano();
    long oldestAside =
        book.aside().stream().mapToLong(Event.Aside::receivedNanos).min().orElse(nanos);
    return Duration.ofNanos(Math.max(0, nanos - Math.min(oldestAside, oldestBehind(nanos))));
  }

  private long oldestBehind(long now) {
    try {
      var frames = segments.after(book.settled(), 1);
      if (frames.isEmpty()) {
        return now;
      }
      var frame = frames.getFirst();
      var known = oldest;
      if (known == null || !known.position().equals(frame.position())) {
        known = new Oldest(frame.position(), receivedNanos(frame));
        oldest = known;
      }
      return known.nanos();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private long receivedNanos(Segments.Indexed frame) throws IOException {
    try {
      return FrameCodec.head(segments.read(frame)).batch().receivedNanos();
    } catch (UnreadableFrame _) {
      return frame.firstNanos();
    }
  }

  /** Makes everything durable; what is unsettled stays. Appends after it are answered as busy. */
  @Override
  public void close() {
    appends.close();
    segments.close();
    keeper.close();
  }
}
