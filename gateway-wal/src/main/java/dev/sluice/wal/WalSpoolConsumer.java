package dev.sluice.wal;

import dev.sluice.core.delivery.DeliveryAccumulator;
import dev.sluice.core.domain.DeadLetter;
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
 * Deliveries of the log, in its order.
 *
 * <p>A delivery is everything behind the settled position up to a frame that is written down before
 * it is handed out, but for what is passed over. Frames that only a newer release can read are
 * passed over too, and looked at again at the next start; and, by {@link #pollConfirmed}, frames
 * that another spool may have. Each of these is a delivery by itself later.
 *
 * <p>For one thread at a time, but for {@link #flush}, {@link #hasInFlight} and {@link
 * #unreadable}.
 */
final class WalSpoolConsumer implements FallbackSpoolConsumer {

  /** A delivery that is out, and what it was made of. */
  private record OpenDelivery(
      Delivery delivery, FramePosition last, List<PositionedEntry> entries) {}

  private static final Logger LOG = LoggerFactory.getLogger(WalSpoolConsumer.class);

  /** A recorded delivery is what it is. */
  private static final DeliveryLimits UNLIMITED =
      new DeliveryLimits(Long.MAX_VALUE, Long.MAX_VALUE, Duration.ZERO);

  private static final int PAGE_SIZE = 256;

  /** Between two looks whether there is a hurry. */
  private static final Duration LINGER_POLL_INTERVAL = Duration.ofMillis(50);

  private final DeliveryLimits deliveryLimits;
  private final SegmentLog segmentLog;
  private final ConsumerState consumerState;
  private final ConsumerStateJournal stateJournal;

  /** Passed over for the time being; to be looked at once more. */
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
    return poll(timeout, minLinger, deliveryLimits, false);
  }

  @Override
  public Optional<Delivery> pollForDrain(DeliveryLimits limits) throws InterruptedException {
    return poll(Duration.ZERO, Duration.ZERO, limits, false);
  }

  @Override
  public Optional<Delivery> pollConfirmed(Duration timeout, Duration minLinger)
      throws InterruptedException {
    return poll(timeout, minLinger, deliveryLimits, true);
  }

  @Override
  public boolean hasInFlight() {
    var open = consumerState.openDelivery();
    return open != null && open.certain();
  }

  private Optional<Delivery> poll(
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
      var fresh = accumulate(timeout, minLinger, limits, confirmedOnly);
      if (fresh.isEmpty()) {
        return Optional.empty();
      }
      var last = fresh.positions().getLast().position();
      stateJournal.startDelivery(last, confirmedOnly);
      return Optional.of(startDelivery(last, fresh.positions(), false));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** What was handed out to be given back, and was not, may be in the other spool. */
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
            last, entries.stream().map(WalSpoolConsumer::skippedAsDoubtful).toList()));
    var positions = new ArrayList<>(entries.stream().map(PositionedEntry::position).toList());
    positions.addAll(
        deferred); // what was held before is behind it, but for what was passed over in it
    deferred.clear();
    positions.stream().distinct().sorted().forEach(deferred::add);
  }

  private static JournalEvent.FrameSkipped skippedAsDoubtful(PositionedEntry entry) {
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
                last, List.of())); // it may be there, for a newer release
      } else {
        boolean _ = stateJournal.ack(last, List.of(), List.of(), false); // nothing of it is left
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

  /** Whether nothing is left to deliver before it; then what was passed over is behind us too. */
  private boolean advanceTo(FramePosition position) throws IOException {
    while (ConsumerState.isAfter(position, consumerState.ackedPosition())) {
      var page = segmentLog.entriesAfter(consumerState.ackedPosition(), PAGE_SIZE);
      var lastSkipped =
          page.stream()
              .map(SegmentLog.IndexEntry::position)
              .takeWhile(consumerState::isSkipped)
              .filter(one -> !ConsumerState.isAfter(one, position))
              .reduce((_, later) -> later)
              .orElse(null);
      if (lastSkipped == null) {
        return false;
      }
      boolean _ = stateJournal.ack(lastSkipped, List.of(), List.of(), false);
    }
    return true;
  }

  /** What is left of a delivery that was handed out before. */
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
        boolean _ = add(frame, accumulator, confirmedOnly);
        from = frame.position();
      }
      if (page.isEmpty()) {
        return accumulator;
      }
    }
  }

  /** A frame that was passed over; nothing when it is to stay where it is, or is over meanwhile. */
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
          unreadable(frame, e);
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
        return accumulator; // it takes no more
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

  /** How far was looked; null position when there was nothing yet. */
  private record ScanPosition(@Nullable FramePosition position) {}

  /** Adds what is there; null when not everything fits. */
  private @Nullable ScanPosition fill(
      DeliveryAccumulator<PositionedEntry> accumulator,
      @Nullable FramePosition after,
      boolean confirmedOnly)
      throws IOException {
    var from = after;
    while (!accumulator.isFull()) {
      var page = segmentLog.entriesAfter(from, PAGE_SIZE);
      for (var frame : page) {
        if (!add(frame, accumulator, confirmedOnly)) {
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
   * False when it does not fit; the frame is read again next time, which is cheaper than keeping.
   */
  private boolean add(
      SegmentLog.IndexEntry frame,
      DeliveryAccumulator<PositionedEntry> accumulator,
      boolean confirmedOnly)
      throws IOException {
    if (consumerState.isSkipped(frame.position())) {
      return true;
    }
    try {
      var entry = new PositionedEntry(frame.position(), readEntry(frame));
      if (confirmedOnly && isPossibleDuplicate(entry.entry())) {
        stateJournal.skip(skippedAsDoubtful(entry));
        deferred.add(entry.position());
        return true;
      }
      return accumulator.add(entry, entry.entry().batch());
    } catch (UnreadableFrameException e) {
      unreadable(frame, e);
      return true;
    }
  }

  /** Also when it is the index that is damaged. */
  private WalEntry readEntry(SegmentLog.IndexEntry frame)
      throws IOException, UnreadableFrameException {
    try {
      return read(frame);
    } catch (UnreadableFrameException e) {
      var line = e.isUnsupportedVersion() ? frame : segmentLog.repairIndexLine(frame);
      if (line.equals(frame)) {
        throw e;
      }
      return read(line);
    }
  }

  /** A dead letter that comes back was here all the time; it is the store that may have it. */
  private boolean isPossibleDuplicate(WalEntry entry) {
    return entry.possibleDuplicate() && !consumerState.isReplay(entry.batch().appendId());
  }

  private WalEntry read(SegmentLog.IndexEntry frame) throws IOException, UnreadableFrameException {
    return read(segmentLog, frame);
  }

  /** What its index line says is there, whole. */
  static WalEntry read(SegmentLog segmentLog, SegmentLog.IndexEntry frame)
      throws IOException, UnreadableFrameException {
    return FrameCodec.decode(segmentLog.read(frame), frame.crc32(), frame.records());
  }

  private void unreadable(SegmentLog.IndexEntry frame, UnreadableFrameException cause)
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
    LOG.error("frame {} cannot be read and is passed over: {}", position, reason);
  }

  /** On which its logs were received; when that cannot be told any more, written. */
  private LocalDate receivedDay(SegmentLog.IndexEntry frame) throws IOException {
    try {
      return FrameCodec.decodeHeader(segmentLog.read(frame)).batch().day();
    } catch (UnreadableFrameException _) {
      return frame.position().day();
    }
  }

  private Delivery startDelivery(
      FramePosition last, List<PositionedEntry> entries, boolean redelivered) {
    boolean again =
        redelivered || entries.stream().anyMatch(entry -> entry.entry().possibleDuplicate());
    var batches = entries.stream().map(entry -> entry.entry().batch()).toList();
    var delivery = new Delivery(token(batches), batches, again);
    openDelivery = new OpenDelivery(delivery, last, entries);
    return delivery;
  }

  /** The same for the same run, and no other: a store that knows it takes nothing of another. */
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
  public boolean ack(Delivery delivery, List<DeadLetter> deadLetters) {
    return complete(delivery, deadLetters, false);
  }

  @Override
  public void ackDrained(Delivery delivery) {
    boolean _ = complete(delivery, List.of(), true);
  }

  private boolean complete(Delivery delivery, List<DeadLetter> deadLetters, boolean drained) {
    var open = openDelivery;
    if (open == null || !open.delivery().token().equals(delivery.token())) {
      throw new IllegalArgumentException("delivery " + delivery.token() + " is not handed out");
    }
    try {
      boolean acked = stateJournal.ack(open.last(), open.entries(), deadLetters, drained);
      if (acked) {
        openDelivery = null;
      }
      return acked;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Nobody else can take it over. */
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
                () -> new IllegalArgumentException("batch " + appendId + " is not handed out"));
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
    openDelivery = null; // the rest of it is another delivery
    LOG.error("frame {} cannot be delivered and is passed over: {}", entry.position(), reason);
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

  /** Nothing to do: what is unsettled stays. */
  @Override
  public void close() {}
}
