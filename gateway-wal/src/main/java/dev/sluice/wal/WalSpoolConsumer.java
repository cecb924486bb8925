package dev.sluice.wal;

import dev.sluice.core.delivery.DeliveryAccumulator;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.FallbackSpoolConsumer;
import dev.sluice.core.port.IdempotencyStore;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.time.LocalDate;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The consumer of the WAL: delivers its frames in write order.
 *
 * <p>A delivery contains all frames after the acknowledged position up to a last frame, except
 * skipped frames. The journal records the last frame before {@link #poll} returns the delivery.
 * Frames that only a later release can decode are skipped until the next start. {@link
 * #pollConfirmed} also skips frames that another spool may have. Each skipped frame that is
 * retryable becomes a delivery of its own later.
 *
 * <p>For use by one thread at a time, except {@link #flush}, {@link #hasInFlight} and {@link
 * #skippedEntries}, which are safe for any thread.
 */
final class WalSpoolConsumer implements FallbackSpoolConsumer {

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

  /** Skipped frames to retry, in the order of the retries. */
  private final Deque<FramePosition> deferred = new ArrayDeque<>();

  private @Nullable OpenDelivery openDelivery;
  private volatile boolean flushRequested;

  WalSpoolConsumer(
      DeliveryLimits deliveryLimits,
      SegmentLog segmentLog,
      ConsumerState consumerState,
      ConsumerStateJournal stateJournal) {
    this.deliveryLimits = deliveryLimits;
    this.segmentLog = segmentLog;
    this.consumerState = consumerState;
    this.stateJournal = stateJournal;
    consumerState.skippedFrames().stream()
        .filter(JournalEvent.FrameSkipped::retryable)
        .map(JournalEvent.FrameSkipped::position)
        .forEach(deferred::add);
  }

  @Override
  public Optional<Delivery> poll(Duration timeout, Duration minLinger) throws InterruptedException {
    return pollNext(timeout, minLinger, deliveryLimits, false);
  }

  @Override
  public Optional<Delivery> pollForDrain(DeliveryLimits limits) throws InterruptedException {
    return pollNext(Duration.ZERO, Duration.ZERO, limits, false);
  }

  @Override
  public Optional<Delivery> pollConfirmed(Duration timeout, Duration minLinger)
      throws InterruptedException {
    return pollNext(timeout, minLinger, deliveryLimits, true);
  }

  @Override
  public boolean hasInFlight() {
    var open = consumerState.openDelivery();
    return open != null && open.certain();
  }

  private Optional<Delivery> pollNext(
      Duration timeout, Duration minLinger, DeliveryLimits limits, boolean confirmedOnly)
      throws InterruptedException {
    openDelivery = null;
    try {
      if (confirmedOnly) {
        suspendOpenDelivery();
      }
      var redelivery = pollRedelivery(confirmedOnly);
      if (redelivery != null) {
        return Optional.of(redelivery);
      }
      var accumulator = accumulate(timeout, minLinger, limits, confirmedOnly);
      if (accumulator.isEmpty()) {
        return Optional.empty();
      }
      var last = accumulator.positions().getLast().position();
      stateJournal.startDelivery(last, confirmedOnly);
      return Optional.of(startDelivery(last, accumulator.positions(), false));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Suspends an open delivery of {@link #poll} or {@link #pollForDrain}: the drain to the other
   * spool may have succeeded for a part of it. Its frames become retryable skipped frames.
   */
  private void suspendOpenDelivery() throws IOException {
    var open = consumerState.openDelivery();
    if (open == null || open.certain()) {
      return;
    }
    var last = open.last();
    boolean wasDeferred = !ConsumerState.isAfter(last, consumerState.ackedPosition());
    var entries = wasDeferred ? readDeferred(last).positions() : readRange(last, false).positions();
    stateJournal.suspendDelivery(
        new JournalEvent.DeliverySuspended(
            last, entries.stream().map(WalSpoolConsumer::toDoubtfulFrame).toList()));
    var positions = new ArrayList<>(entries.stream().map(PositionedEntry::position).toList());
    // deferred frames precede the delivery, except those skipped within it: hence the sort below
    positions.addAll(deferred);
    deferred.clear();
    positions.stream().distinct().sorted().forEach(deferred::add);
  }

  private static JournalEvent.FrameSkipped toDoubtfulFrame(PositionedEntry entry) {
    var batch = entry.entry().batch();
    return new JournalEvent.FrameSkipped(
        entry.position(),
        batch.appendId(),
        batch.day(),
        batch.receivedNanos(),
        batch.records(),
        "another spool may have it",
        JournalEvent.FrameSkipped.SkipReason.DOUBTFUL);
  }

  private @Nullable Delivery pollRedelivery(boolean confirmedOnly) throws IOException {
    for (var open = consumerState.openDelivery();
        open != null;
        open = consumerState.openDelivery()) {
      var last = open.last();
      boolean wasDeferred = !ConsumerState.isAfter(last, consumerState.ackedPosition());
      var entries =
          wasDeferred ? readDeferred(last).positions() : readRange(last, confirmedOnly).positions();
      if (!entries.isEmpty()) {
        if (open.certain() && !confirmedOnly) {
          stateJournal.startDelivery(last, false);
        }
        return startDelivery(last, entries, true);
      }
      if (wasDeferred) {
        stateJournal.suspendDelivery(
            new JournalEvent.DeliverySuspended(
                last, List.of())); // the frame stays: a later release may be able to decode it
      } else {
        stateJournal.ack(last, List.of(), false); // no frame is left
      }
    }
    while (!confirmedOnly && !deferred.isEmpty() && advanceTo(deferred.element())) {
      var last = deferred.remove();
      var entries = readDeferred(last).positions();
      if (!entries.isEmpty()) {
        stateJournal.startDelivery(last, false);
        return startDelivery(last, entries, true);
      }
    }
    return null;
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

  /** Reads the remaining frames of a recorded delivery. */
  private DeliveryAccumulator<PositionedEntry> readRange(FramePosition last, boolean confirmedOnly)
      throws IOException {
    var accumulator = new DeliveryAccumulator<PositionedEntry>(UNLIMITED);
    var from = consumerState.ackedPosition();
    while (true) {
      var page = segmentLog.entriesAfter(from, PAGE_SIZE);
      for (var frame : page) {
        if (ConsumerState.isAfter(frame.position(), last)) {
          return accumulator;
        }
        boolean _ = addFrame(frame, accumulator, confirmedOnly);
        from = frame.position();
      }
      if (page.isEmpty()) {
        return accumulator;
      }
    }
  }

  /**
   * Reads a skipped frame for a retry. Returns an empty accumulator when the frame still cannot be
   * decoded, is no longer skipped, or is not retryable.
   */
  private DeliveryAccumulator<PositionedEntry> readDeferred(FramePosition position)
      throws IOException {
    var accumulator = new DeliveryAccumulator<PositionedEntry>(UNLIMITED);
    var frame = consumerState.isRetryable(position) ? segmentLog.find(position) : null;
    if (frame != null) {
      try {
        var entry = readEntry(frame);
        accumulator.add(new PositionedEntry(position, entry), entry.batch());
      } catch (UnreadableFrameException e) {
        if (!e.isUnsupportedVersion()) {
          skipUnreadable(frame, e);
        }
      }
    }
    return accumulator;
  }

  private DeliveryAccumulator<PositionedEntry> accumulate(
      Duration timeout, Duration minLinger, DeliveryLimits limits, boolean confirmedOnly)
      throws IOException, InterruptedException {
    long start = System.nanoTime();
    long lingerNanos = Math.max(limits.linger().toNanos(), minLinger.toNanos());
    var accumulator = new DeliveryAccumulator<PositionedEntry>(limits);
    var from = consumerState.ackedPosition();
    long since = start;
    while (true) {
      boolean wasEmpty = accumulator.isEmpty();
      var to = fill(accumulator, from, confirmedOnly);
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
      DeliveryAccumulator<PositionedEntry> accumulator,
      @Nullable FramePosition after,
      boolean confirmedOnly)
      throws IOException {
    var from = after;
    while (!accumulator.isFull()) {
      var page = segmentLog.entriesAfter(from, PAGE_SIZE);
      for (var frame : page) {
        if (!addFrame(frame, accumulator, confirmedOnly)) {
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
   * @return false when the frame does not fit
   */
  private boolean addFrame(
      SegmentLog.IndexEntry frame,
      DeliveryAccumulator<PositionedEntry> accumulator,
      boolean confirmedOnly)
      throws IOException {
    if (consumerState.isSkipped(frame.position())) {
      return true;
    }
    try {
      var entry = new PositionedEntry(frame.position(), readEntry(frame));
      if (confirmedOnly && entry.entry().possibleDuplicate()) {
        stateJournal.skip(toDoubtfulFrame(entry));
        deferred.add(entry.position());
        return true;
      }
      return accumulator.add(entry, entry.entry().batch());
    } catch (UnreadableFrameException e) {
      skipUnreadable(frame, e);
      return true;
    }
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
    ackOpenDelivery(delivery, false);
  }

  @Override
  public void ackDrained(Delivery delivery) {
    ackOpenDelivery(delivery, true);
  }

  private void ackOpenDelivery(Delivery delivery, boolean drained) {
    var open = openDelivery;
    if (open == null || !open.delivery().token().equals(delivery.token())) {
      throw new IllegalArgumentException("delivery " + delivery.token() + " is not open");
    }
    try {
      stateJournal.ack(open.last(), open.entries(), drained);
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

  @Override
  public Optional<IdempotencyStore.IdempotencyKey> idempotencyKeyOf(UUID appendId) {
    return findEntry(appendId).map(entry -> entry.entry().key());
  }

  private Optional<PositionedEntry> findEntry(UUID appendId) {
    var open = openDelivery;
    return open == null
        ? Optional.empty()
        : open.entries().stream()
            .filter(entry -> entry.entry().batch().appendId().equals(appendId))
            .findFirst();
  }

  @Override
  public int skippedEntries() {
    return consumerState.skippedEntries();
  }

  /** Does nothing: the consumer has no resources, and unacknowledged frames stay in the spool. */
  @Override
  public void close() {}
}
