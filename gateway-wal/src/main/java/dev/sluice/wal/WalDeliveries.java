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
final class WalDeliveries implements FallbackSpoolConsumer {

  /** A delivery that is out, and what it was made of. */
  private record HandedOut(Delivery delivery, Position last, List<Place> places) {}

  private static final Logger LOG = LoggerFactory.getLogger(WalDeliveries.class);

  /** A recorded delivery is what it is. */
  private static final DeliveryLimits NO_BOUNDS =
      new DeliveryLimits(Long.MAX_VALUE, Long.MAX_VALUE, Duration.ZERO);

  private static final int PAGE = 256;

  /** Between two looks whether there is a hurry. */
  private static final Duration LOOK_AGAIN = Duration.ofMillis(50);

  private final DeliveryLimits bounds;
  private final Segments segments;
  private final Book book;
  private final Bookkeeper keeper;

  /** Passed over for the time being; to be looked at once more. */
  private final Deque<Position> held = new ArrayDeque<>();

  private @Nullable HandedOut handedOut;
  private volatile boolean hurried;

  WalDeliveries(DeliveryLimits bounds, Segments segments, Book book, Bookkeeper keeper) {
    this.bounds = bounds;
    this.segments = segments;
    this.book = book;
    this.keeper = keeper;
    book.aside().stream()
        .filter(Event.Aside::comesAgain)
        .map(Event.Aside::position)
        .forEach(held::add);
  }

  @Override
  public Optional<Delivery> poll(Duration patience, Duration gather) throws InterruptedException {
    return next(patience, gather, bounds, false);
  }

  @Override
  public Optional<Delivery> pollForDrain(DeliveryLimits atMost) throws InterruptedException {
    return next(Duration.ZERO, Duration.ZERO, atMost, false);
  }

  @Override
  public Optional<Delivery> pollConfirmed(Duration patience, Duration gather)
      throws InterruptedException {
    return next(patience, gather, bounds, true);
  }

  @Override
  public boolean hasInFlight() {
    var out = book.handedOut();
    return out != null && out.certain();
  }

  private Optional<Delivery> next(
      Duration patience, Duration gather, DeliveryLimits atMost, boolean certain)
      throws InterruptedException {
    handedOut = null;
    try {
      if (certain) {
        doubtHandedOut();
      }
      var again = handedOutBefore(certain);
      if (again != null) {
        return Optional.of(again);
      }
      var fresh = gather(patience, gather, atMost, certain);
      if (fresh.isEmpty()) {
        return Optional.empty();
      }
      var last = fresh.positions().getLast().position();
      keeper.handOut(last, certain);
      return Optional.of(handOut(last, fresh.positions(), false));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** What was handed out to be given back, and was not, may be in the other spool. */
  private void doubtHandedOut() throws IOException {
    var out = book.handedOut();
    if (out == null || out.certain()) {
      return;
    }
    var last = out.last();
    boolean alone = !Book.isBehind(last, book.settled());
    var places = alone ? held(last).positions() : range(last, false).positions();
    keeper.doubt(new Event.Doubted(last, places.stream().map(WalDeliveries::doubtful).toList()));
    var again = new ArrayList<>(places.stream().map(Place::position).toList());
    again.addAll(held); // what was held before is behind it, but for what was passed over in it
    held.clear();
    again.stream().distinct().sorted().forEach(held::add);
  }

  private static Event.Aside doubtful(Place place) {
    var batch = place.entry().batch();
    return new Event.Aside(
        place.position(),
        batch.appendId(),
        batch.day(),
        batch.receivedNanos(),
        batch.records(),
        "another spool may have it",
        Event.Aside.Why.DOUBTFUL);
  }

  private @Nullable Delivery handedOutBefore(boolean certain) throws IOException {
    for (var out = book.handedOut(); out != null; out = book.handedOut()) {
      var last = out.last();
      boolean alone = !Book.isBehind(last, book.settled());
      var places = alone ? held(last).positions() : range(last, certain).positions();
      if (!places.isEmpty()) {
        if (out.certain() && !certain) {
          keeper.handOut(last, false);
        }
        return handOut(last, places, true);
      }
      if (alone) {
        keeper.doubt(new Event.Doubted(last, List.of())); // it may be there, for a newer release
      } else {
        boolean _ = keeper.settle(last, List.of(), List.of(), false); // nothing of it is left
      }
    }
    while (!certain && !held.isEmpty() && isReached(held.element())) {
      var last = held.remove();
      var places = held(last).positions();
      if (!places.isEmpty()) {
        keeper.handOut(last, false);
        return handOut(last, places, true);
      }
    }
    return null;
  }

  /** Whether nothing is left to deliver before it; then what was passed over is behind us too. */
  private boolean isReached(Position position) throws IOException {
    while (Book.isBehind(position, book.settled())) {
      var page = segments.after(book.settled(), PAGE);
      var passed =
          page.stream()
              .map(Segments.Indexed::position)
              .takeWhile(book::isPassedOver)
              .filter(one -> !Book.isBehind(one, position))
              .reduce((_, later) -> later)
              .orElse(null);
      if (passed == null) {
        return false;
      }
      boolean _ = keeper.settle(passed, List.of(), List.of(), false);
    }
    return true;
  }

  /** What is left of a delivery that was handed out before. */
  private DeliveryAccumulator<Place> range(Position last, boolean certain) throws IOException {
    var gathering = new DeliveryAccumulator<Place>(NO_BOUNDS);
    var from = book.settled();
    while (true) {
      var page = segments.after(from, PAGE);
      for (var frame : page) {
        if (Book.isBehind(frame.position(), last)) {
          return gathering;
        }
        boolean _ = add(frame, gathering, certain);
        from = frame.position();
      }
      if (page.isEmpty()) {
        return gathering;
      }
    }
  }

  /** A frame that was passed over; nothing when it is to stay where it is, or is over meanwhile. */
  private DeliveryAccumulator<Place> held(Position position) throws IOException {
    var gathering = new DeliveryAccumulator<Place>(NO_BOUNDS);
    var frame = book.comesAgain(position) ? segments.find(position) : null;
    if (frame != null) {
      try {
        var entry = entry(frame);
        gathering.add(new Place(position, entry), entry.batch());
      } catch (UnreadableFrame e) {
        if (!e.isNewer()) {
          unreadable(frame, e);
        }
      }
    }
    return gathering;
  }

  private DeliveryAccumulator<Place> gather(
      Duration patience, Duration gather, DeliveryLimits atMost, boolean certain)
      throws IOException, InterruptedException {
    long start = System.nanoTime();
    long maxAge = Math.max(atMost.linger().toNanos(), gather.toNanos());
    var gathering = new DeliveryAccumulator<Place>(atMost);
    var from = book.settled();
    long since = start;
    while (true) {
      boolean before = gathering.isEmpty();
      var to = fill(gathering, from, certain);
      if (to == null) {
        return gathering; // it takes no more
      }
      from = to.position();
      if (gathering.isEmpty()) {
        long left = patience.toNanos() - (System.nanoTime() - start);
        if (left <= 0) {
          return gathering;
        }
        boolean _ = segments.await(from, Duration.ofNanos(left));
      } else {
        since = before ? System.nanoTime() : since;
        long left = maxAge - (System.nanoTime() - since);
        if (left <= 0 || patience.isZero() || hurried) {
          return gathering;
        }
        boolean _ = segments.await(from, Duration.ofNanos(Math.min(left, LOOK_AGAIN.toNanos())));
      }
    }
  }

  /** How far was looked; null position when there was nothing yet. */
  private record Looked(@Nullable Position position) {}

  /** Adds what is there; null when not everything fits. */
  private @Nullable Looked fill(
      DeliveryAccumulator<Place> gathering, @Nullable Position after, boolean certain)
      throws IOException {
    var from = after;
    while (!gathering.isFull()) {
      var page = segments.after(from, PAGE);
      for (var frame : page) {
        if (!add(frame, gathering, certain)) {
          return null;
        }
        from = frame.position();
      }
      if (page.isEmpty()) {
        return new Looked(from);
      }
    }
    return null;
  }

  /**
   * False when it does not fit; the frame is read again next time, which is cheaper than keeping.
   */
  private boolean add(Segments.Indexed frame, DeliveryAccumulator<Place> gathering, boolean certain)
      throws IOException {
    if (book.isPassedOver(frame.position())) {
      return true;
    }
    try {
      var place = new Place(frame.position(), entry(frame));
      if (certain && isUncertain(place.entry())) {
        keeper.setAside(doubtful(place));
        held.add(place.position());
        return true;
      }
      return gathering.add(place, place.entry().batch());
    } catch (UnreadableFrame e) {
      unreadable(frame, e);
      return true;
    }
  }

  /** Also when it is the index that is damaged. */
  private Entry entry(Segments.Indexed frame) throws IOException, UnreadableFrame {
    try {
      return read(frame);
    } catch (UnreadableFrame e) {
      var line = e.isNewer() ? frame : segments.reindexed(frame);
      if (line.equals(frame)) {
        throw e;
      }
      return read(line);
    }
  }

  /** A dead letter that comes back was here all the time; it is the store that may have it. */
  private boolean isUncertain(Entry entry) {
    return entry.again() && !book.isReplay(entry.batch().appendId());
  }

  private Entry read(Segments.Indexed frame) throws IOException, UnreadableFrame {
    return read(segments, frame);
  }

  /** What its index line says is there, whole. */
  static Entry read(Segments segments, Segments.Indexed frame) throws IOException, UnreadableFrame {
    return FrameCodec.decode(segments.read(frame), frame.crc32(), frame.records());
  }

  private void unreadable(Segments.Indexed frame, UnreadableFrame why) throws IOException {
    var position = frame.position();
    var reason = String.valueOf(why.getMessage());
    if (!why.isNewer()) {
      keeper.quarantine(frame, day(frame), reason);
      return;
    }
    keeper.setAside(
        new Event.Aside(
            position,
            null,
            position.day(),
            frame.firstNanos(),
            frame.records(),
            reason,
            Event.Aside.Why.NEWER));
    LOG.error("frame {} cannot be read and is passed over: {}", position, reason);
  }

  /** On which its logs were received; when that cannot be told any more, written. */
  private LocalDate day(Segments.Indexed frame) throws IOException {
    try {
      return FrameCodec.head(segments.read(frame)).batch().day();
    } catch (UnreadableFrame _) {
      return frame.position().day();
    }
  }

  private Delivery handOut(Position last, List<Place> places, boolean before) {
    boolean again = before || places.stream().anyMatch(place -> place.entry().again());
    var batches = places.stream().map(place -> place.entry().batch()).toList();
    var delivery = new Delivery(token(batches), batches, again);
    handedOut = new HandedOut(delivery, last, places);
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
    return end(delivery, deadLetters, false);
  }

  @Override
  public void ackDrained(Delivery delivery) {
    boolean _ = end(delivery, List.of(), true);
  }

  private boolean end(Delivery delivery, List<DeadLetter> deadLetters, boolean surrendered) {
    var out = handedOut;
    if (out == null || !out.delivery().token().equals(delivery.token())) {
      throw new IllegalArgumentException("delivery " + delivery.token() + " is not handed out");
    }
    try {
      boolean settled = keeper.settle(out.last(), out.places(), deadLetters, surrendered);
      if (settled) {
        handedOut = null;
      }
      return settled;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Nobody else can take it over. */
  @Override
  public boolean renewLease(Delivery delivery) {
    var out = handedOut;
    return out != null && out.delivery().token().equals(delivery.token());
  }

  @Override
  public void flush() {
    hurried = true;
  }

  @Override
  public void skip(UUID appendId, String reason) {
    var place =
        place(appendId)
            .orElseThrow(
                () -> new IllegalArgumentException("batch " + appendId + " is not handed out"));
    var batch = place.entry().batch();
    try {
      keeper.setAside(
          new Event.Aside(
              place.position(),
              appendId,
              batch.day(),
              batch.receivedNanos(),
              batch.records(),
              reason,
              Event.Aside.Why.UNDELIVERABLE));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    handedOut = null; // the rest of it is another delivery
    LOG.error("frame {} cannot be delivered and is passed over: {}", place.position(), reason);
  }

  @Override
  public Optional<IdempotencyStore.IdempotencyKey> idempotencyKeyOf(UUID appendId) {
    return place(appendId).map(place -> place.entry().key());
  }

  private Optional<Place> place(UUID appendId) {
    var out = handedOut;
    return out == null
        ? Optional.empty()
        : out.places().stream()
            .filter(place -> place.entry().batch().appendId().equals(appendId))
            .findFirst();
  }

  @Override
  public int skippedEntries() {
    return book.unreadable();
  }

  /** Nothing to do: what is unsettled stays. */
  @Override
  public void close() {}
}
