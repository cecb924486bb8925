package dev.sluice.wal;

import dev.sluice.core.delivery.DeliveryAccumulator;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.FallbackDuplicateCheck;
import dev.sluice.core.port.FallbackDuplicateCheck.DuplicateStatus;
import dev.sluice.core.port.SpoolConsumer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.time.LocalDate;
import java.util.ArrayDeque;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The consumer of the WAL: delivers its frames in write order.
 *
 * <p>A delivery contains all frames after the acknowledged position up to a last frame, except
 * skipped frames. The journal records the last frame before {@link #poll} returns the delivery.
 * Frames that only a later release can decode are skipped until the next start. With a {@link
 * FallbackDuplicateCheck}, frames that another spool may have are skipped until the check has
 * decided, so that they do not delay newer frames. Each skipped frame that is retryable becomes a
 * delivery of its own later.
 *
 * <p>For use by one thread at a time, except {@link #flush}, which is safe for any thread.
 */
final class WalSpoolConsumer implements SpoolConsumer {

  /** The unacknowledged delivery, with its last frame and its entries. */
  private record OpenDelivery(
      Delivery delivery, FramePosition last, List<PositionedEntry> entries) {}

  private static final Logger LOG = LoggerFactory.getLogger(WalSpoolConsumer.class);

  /** The limits of a recorded delivery: all of its frames belong to it. */
  private static final DeliveryLimits UNLIMITED =
      new DeliveryLimits(Long.MAX_VALUE, Long.MAX_VALUE, Duration.ZERO);

  private static final int PAGE_SIZE = 256;

  /** Time between two checks of {@link #flushRequested} while a delivery lingers. */
  private static final Duration LINGER_POLL_INTERVAL = Duration.ofMillis(50);

  private final DeliveryLimits deliveryLimits;
  private final SegmentLog segmentLog;
  private final ConsumerState consumerState;
  private final ConsumerStateJournal stateJournal;
  private final @Nullable FallbackDuplicateCheck duplicateCheck;

  /** Skipped frames to retry, in the order of the retries. */
  private final Queue<JournalEvent.FrameSkipped> deferred = new ArrayDeque<>();

  private @Nullable OpenDelivery openDelivery;
  private volatile boolean flushRequested;

  /**
   * Creates the consumer.
   *
   * @param duplicateCheck the check of frames that another spool may have; null when there is no
   *     other spool
   */
  WalSpoolConsumer(
      DeliveryLimits deliveryLimits,
      SegmentLog segmentLog,
      ConsumerState consumerState,
      ConsumerStateJournal stateJournal,
      @Nullable FallbackDuplicateCheck duplicateCheck) {
    this.deliveryLimits = deliveryLimits;
    this.segmentLog = segmentLog;
    this.consumerState = consumerState;
    this.stateJournal = stateJournal;
    this.duplicateCheck = duplicateCheck;
    consumerState.skippedFrames().stream()
        .filter(JournalEvent.FrameSkipped::retryable)
        .forEach(deferred::add);
  }

  @Override
  public Optional<Delivery> poll(Duration timeout, Duration minLinger) throws InterruptedException {
    openDelivery = null;
    try {
      var redelivery = pollRedelivery();
      if (redelivery == null) {
        redelivery = pollDeferred();
      }
      if (redelivery != null) {
        return Optional.of(redelivery);
      }
      var positions = accumulate(timeout, minLinger).positions();
      if (positions.isEmpty()) {
        return Optional.empty();
      }
      var last = positions.getLast().position();
      stateJournal.startDelivery(last);
      return Optional.of(startDelivery(last, positions, false));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns the recorded delivery that is not acknowledged; null when there is none. */
  private @Nullable Delivery pollRedelivery() throws IOException {
    var open = consumerState.openDelivery();
    if (open == null) {
      return null;
    }
    var last = open.last();
    // an earlier release may have moved some frames of such a delivery to the other spool
    boolean doubtful = duplicateCheck != null && !open.certain();
    if (ConsumerState.isAfter(last, consumerState.ackedPosition())) {
      var entries = readRange(last, doubtful).positions();
      if (!entries.isEmpty()) {
        return startDelivery(last, entries, true);
      }
      stateJournal.ack(last, List.of(), false); // no frame is left
      return null;
    }
    var entry = doubtful ? null : readDeferred(last);
    if (entry != null) {
      return startDelivery(last, List.of(entry), true);
    }
    stateJournal.suspendDelivery(last);
    return null;
  }

  /** Returns the first skipped frame that can be delivered now; null when there is none. */
  private @Nullable Delivery pollDeferred() throws IOException {
    for (var frames = deferred.iterator(); frames.hasNext(); ) {
      var frame = frames.next();
      var position = frame.position();
      if (!advanceTo(position)) {
        return null;
      }
      var status = duplicateStatus(frame);
      if (status == DuplicateStatus.UNKNOWN) {
        continue;
      }
      var entry = readDeferred(position);
      if (entry != null && status == DuplicateStatus.DELIVERED) {
        stateJournal.ack(position, List.of(entry), true);
      } else if (entry != null) {
        stateJournal.startDelivery(position);
        frames.remove();
        return startDelivery(position, List.of(entry), true);
      }
      frames.remove(); // last: a frame whose journal entry is not written must be tried again
    }
    return null;
  }

  private DuplicateStatus duplicateStatus(JournalEvent.FrameSkipped frame) {
    var append = frame.append();
    return duplicateCheck == null
            || append == null
            || !consumerState.isRetryable(frame.position()) // it is delivered since
            || frame.skipReason() != JournalEvent.FrameSkipped.SkipReason.DOUBTFUL
        ? DuplicateStatus.UNIQUE
        : duplicateCheck.check(append);
  }

  /**
   * Moves the acknowledged position up to {@code position} when all frames between them are skipped
   * frames.
   *
   * @return whether no frame before the position is left to deliver
   */
  private boolean advanceTo(FramePosition position) throws IOException {
    while (ConsumerState.isAfter(position, consumerState.ackedPosition())) {
      var page = segmentLog.entriesAfter(consumerState.ackedPosition(), PAGE_SIZE);
      var lastSkipped =
          page.stream()
              .map(SegmentLog.IndexEntry::position)
              .takeWhile(consumerState::isSkipped)
              .filter(skipped -> !ConsumerState.isAfter(skipped, position))
              .reduce((_, later) -> later)
              .orElse(null);
      if (lastSkipped == null) {
        return false;
      }
      stateJournal.ack(lastSkipped, List.of(), false);
    }
    return true;
  }

  /**
   * Reads the remaining frames of a recorded delivery.
   *
   * @param doubtful whether another spool may have any of the frames
   */
  private DeliveryAccumulator<PositionedEntry> readRange(FramePosition last, boolean doubtful)
      throws IOException {
    var accumulator = new DeliveryAccumulator<PositionedEntry>(UNLIMITED);
    var from = consumerState.ackedPosition();
    while (true) {
      var page = segmentLog.entriesAfter(from, PAGE_SIZE);
      for (var frame : page) {
        if (ConsumerState.isAfter(frame.position(), last)) {
          return accumulator;
        }
        boolean _ = addFrame(frame, accumulator, doubtful);
        from = frame.position();
      }
      if (page.isEmpty()) {
        return accumulator;
      }
    }
  }

  /**
   * Reads a skipped frame for a retry. Returns null when the frame still cannot be decoded, is no
   * longer skipped, or is not retryable.
   */
  private @Nullable PositionedEntry readDeferred(FramePosition position) throws IOException {
    var frame = consumerState.isRetryable(position) ? segmentLog.find(position) : null;
    if (frame == null) {
      return null;
    }
    try {
      return new PositionedEntry(position, readEntry(frame));
    } catch (UnreadableFrameException e) {
      if (!e.isUnsupportedVersion()) {
        skipUnreadable(frame, e);
      }
      return null;
    }
  }

  private DeliveryAccumulator<PositionedEntry> accumulate(Duration timeout, Duration minLinger)
      throws IOException, InterruptedException {
    long start = System.nanoTime();
    long lingerNanos = Math.max(deliveryLimits.linger().toNanos(), minLinger.toNanos());
    var accumulator = new DeliveryAccumulator<PositionedEntry>(deliveryLimits);
    var from = consumerState.ackedPosition();
    long since = start;
    while (true) {
      boolean wasEmpty = accumulator.isEmpty();
      var to = fill(accumulator, from);
      if (to == null) {
        return accumulator; // it is full
      }
      from = to.position();
      if (accumulator.isEmpty()) {
        long left = timeout.toNanos() - (System.nanoTime() - start);
        if (left <= 0) {
          return accumulator;
        }
        boolean _ = segmentLog.await(from, Duration.ofNanos(left));
      } else {
        since = wasEmpty ? System.nanoTime() : since;
        long left = lingerNanos - (System.nanoTime() - since);
        if (left <= 0 || timeout.isZero() || flushRequested) {
          return accumulator;
        }
        boolean _ =
            segmentLog.await(
                from, Duration.ofNanos(Math.min(left, LINGER_POLL_INTERVAL.toNanos())));
      }
    }
  }

  /**
   * The end of a scan.
   *
   * @param position the last scanned frame; null when there is none
   */
  private record ScanPosition(@Nullable FramePosition position) {}

  /**
   * Adds the existing frames after a position.
   *
   * @return the end of the scan; null when the accumulator is full
   */
  private @Nullable ScanPosition fill(
      DeliveryAccumulator<PositionedEntry> accumulator, @Nullable FramePosition after)
      throws IOException {
    var from = after;
    while (!accumulator.isFull()) {
      var page = segmentLog.entriesAfter(from, PAGE_SIZE);
      for (var frame : page) {
        if (!addFrame(frame, accumulator, false)) {
          return null;
        }
        from = frame.position();
      }
      if (page.isEmpty()) {
        return new ScanPosition(from);
      }
    }
    return null;
  }

  /**
   * Adds a frame to the accumulator, or skips it. A frame that does not fit is read again for the
   * next delivery, which is cheaper than holding it in memory.
   *
   * @param doubtful whether another spool may have the frame, although the frame does not say so
   * @return false when the frame does not fit
   */
  private boolean addFrame(
      SegmentLog.IndexEntry frame,
      DeliveryAccumulator<PositionedEntry> accumulator,
      boolean doubtful)
      throws IOException {
    if (consumerState.isSkipped(frame.position())) {
      return true;
    }
    try {
      var entry = new PositionedEntry(frame.position(), readEntry(frame));
      if (duplicateCheck != null && (doubtful || entry.entry().possibleDuplicate())) {
        deferred.add(skipDoubtful(entry));
        return true;
      }
      return accumulator.add(entry, entry.entry().batch());
    } catch (UnreadableFrameException e) {
      skipUnreadable(frame, e);
      return true;
    }
  }

  private JournalEvent.FrameSkipped skipDoubtful(PositionedEntry entry) throws IOException {
    var batch = entry.entry().batch();
    var skipped =
        new JournalEvent.FrameSkipped(
            entry.position(),
            batch.appendId(),
            batch.day(),
            batch.receivedNanos(),
            batch.records(),
            "another spool may have it",
            JournalEvent.FrameSkipped.SkipReason.DOUBTFUL);
    stateJournal.skip(skipped);
    return skipped;
  }

  /** Reads a frame; repairs its index line when that line is damaged, not the frame. */
  private WalEntry readEntry(SegmentLog.IndexEntry frame)
      throws IOException, UnreadableFrameException {
    try {
      return readFrame(segmentLog, frame);
    } catch (UnreadableFrameException e) {
      var line = e.isUnsupportedVersion() ? frame : segmentLog.repairIndexLine(frame);
      if (line.equals(frame)) {
        throw e;
      }
      return readFrame(segmentLog, line);
    }
  }

  /**
   * Reads and decodes the frame of an index line.
   *
   * @throws UnreadableFrameException also when an intact frame differs from its index line
   */
  static WalEntry readFrame(SegmentLog segmentLog, SegmentLog.IndexEntry frame)
      throws IOException, UnreadableFrameException {
    return FrameCodec.decode(segmentLog.read(frame), frame.crc32(), frame.records());
  }

  /** Quarantines a damaged frame; skips a frame of a later version until the next start. */
  private void skipUnreadable(SegmentLog.IndexEntry frame, UnreadableFrameException cause)
      throws IOException {
    var position = frame.position();
    var reason = String.valueOf(cause.getMessage());
    if (!cause.isUnsupportedVersion()) {
      stateJournal.quarantine(frame, receivedDay(frame), reason);
      return;
    }
    stateJournal.skip(
        new JournalEvent.FrameSkipped(
            position,
            null,
            position.day(),
            frame.firstNanos(),
            frame.records(),
            reason,
            JournalEvent.FrameSkipped.SkipReason.NEWER));
    LOG.error("skipping frame {}, which remains in the spool: {}", position, reason);
  }

  /** Returns the receive day of the records; the day of the segment when it is unreadable. */
  private LocalDate receivedDay(SegmentLog.IndexEntry frame) throws IOException {
    try {
      return FrameCodec.decodeHeader(segmentLog.read(frame)).batch().day();
    } catch (UnreadableFrameException _) {
      return frame.position().day();
    }
  }

  private Delivery startDelivery(
      FramePosition last, List<PositionedEntry> entries, boolean redelivered) {
    boolean possiblyStored =
        redelivered || entries.stream().anyMatch(entry -> entry.entry().possibleDuplicate());
    var batches = entries.stream().map(entry -> entry.entry().batch()).toList();
    var delivery = new Delivery(token(batches), batches, possiblyStored);
    openDelivery = new OpenDelivery(delivery, last, entries);
    return delivery;
  }

  /**
   * Returns the token of a delivery: a hash of its append ids in their order. Different deliveries
   * must have different tokens, because the store ignores a delivery whose token it knows.
   */
  private static String token(List<LogBatch> batches) {
    try {
      var sha = MessageDigest.getInstance("SHA-256");
      for (var batch : batches) {
        var id = batch.appendId();
        sha.update(
            ByteBuffer.allocate(2 * Long.BYTES)
                .putLong(id.getMostSignificantBits())
                .putLong(id.getLeastSignificantBits())
                .flip());
      }
      return "wal:" + HexFormat.of().formatHex(sha.digest(), 0, 16);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }

  @Override
  public void ack(Delivery delivery) {
    var open = openDelivery;
    if (open == null || !open.delivery().token().equals(delivery.token())) {
      throw new IllegalArgumentException("delivery " + delivery.token() + " is not open");
    }
    try {
      stateJournal.ack(open.last(), open.entries(), false);
      openDelivery = null;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * {@inheritDoc}
   *
   * <p>No other process can claim the delivery, because this process has locked the node directory.
   */
  @Override
  public boolean renewLease(Delivery delivery) {
    var open = openDelivery;
    return open != null && open.delivery().token().equals(delivery.token());
  }

  @Override
  public void flush() {
    flushRequested = true;
  }

  @Override
  public void skip(UUID appendId, String reason) {
    var entry =
        findEntry(appendId)
            .orElseThrow(
                () ->
                    new IllegalArgumentException(
                        "batch " + appendId + " is not in the open delivery"));
    var batch = entry.entry().batch();
    try {
      stateJournal.skip(
          new JournalEvent.FrameSkipped(
              entry.position(),
              appendId,
              batch.day(),
              batch.receivedNanos(),
              batch.records(),
              reason,
              JournalEvent.FrameSkipped.SkipReason.UNDELIVERABLE));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    openDelivery = null; // the other batches form a new delivery
    LOG.error(
        "skipping undeliverable frame {}, which remains in the spool: {}",
        entry.position(),
        reason);
  }

  private Optional<PositionedEntry> findEntry(UUID appendId) {
    var open = openDelivery;
    return open == null
        ? Optional.empty()
        : open.entries().stream()
            .filter(entry -> entry.entry().batch().appendId().equals(appendId))
            .findFirst();
  }

  /** Does nothing: the consumer has no resources, and unacknowledged frames stay in the spool. */
  @Override
  public void close() {}
}
