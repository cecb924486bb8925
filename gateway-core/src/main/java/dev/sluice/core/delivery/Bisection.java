package dev.sluice.core.delivery;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.otlp.RecordExtractor;
import dev.sluice.core.port.LogStore.DeliverySlice;
import dev.sluice.core.port.LogStore.StoreResult;
import dev.sluice.core.port.SpoolConsumer.Delivery;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Stores a refused delivery in ever smaller pieces until what is left are the records that the
 * store will not take.
 *
 * <p>A piece is named after the delivery and the way to it, so that the same records are always
 * tried under the same token; a piece that was refused is not tried again. What stops in the middle
 * goes on where it stopped, else a store that is busy now and then would never see the end of it.
 *
 * <p>For one thread.
 */
final class Bisection {

  /** How pieces are stored. */
  @FunctionalInterface
  interface Storing {
    StoreResult store(DeliverySlice portion) throws InterruptedException;
  }

  /** So many and not one that is taken: it is the table that nothing fits. */
  private static final int NOTHING_FITS = 100;

  /** Of all dead letters of one delivery: they are held until it is settled. */
  private static final long MAX_LETTER_BYTES = 256L << 20;

  /**
   * @param way from the whole: 0 is the first half, 1 the second
   */
  private record Piece(String way, int from, int to) {
    int records() {
      return to - from;
    }
  }

  private final Delivery delivery;
  private final int maxRefused;
  private final InstantSource clock;
  private final Deque<Piece> left = new ArrayDeque<>();
  private final List<DeadLetter> letters = new ArrayList<>();
  private long letterBytes;

  /** The refused record that was one too many: while it is refused, others need not be tried. */
  private @Nullable Piece tooMany;

  /**
   * @param delivery which the store has just refused
   * @param maxRefused refused records beyond which the fault is not theirs
   */
  Bisection(Delivery delivery, String reason, int maxRefused, InstantSource clock) {
    this.delivery = delivery;
    this.maxRefused = maxRefused;
    this.clock = clock;
    var whole = whole();
    if (whole.records() == 1) {
      letter(whole, reason);
    } else {
      halve(whole);
    }
  }

  private Piece whole() {
    return new Piece("", 0, Math.toIntExact(delivery.records()));
  }

  boolean isOf(Delivery other) {
    return delivery.token().equals(other.token());
  }

  /** What was refused so far; all of it once {@link #go} says that the rest is stored. */
  List<DeadLetter> letters() {
    return letters;
  }

  /** Goes on until all that can be is stored, or until something is in the way. */
  StoreResult go(Storing store) throws InterruptedException {
    if (tooMany != null) {
      if (store.store(portion(tooMany)) instanceof StoreResult.Rejected(var reason)) {
        return tooManyRefused(reason);
      }
      startOver();
    }
    var last = whole();
    while (!left.isEmpty()) {
      var piece = left.element();
      last = piece;
      switch (store.store(portion(piece))) {
        case StoreResult.Stored() -> left.remove();
        case StoreResult.Rejected(var reason) when piece.records() > 1 -> {
          left.remove();
          halve(piece);
        }
        case StoreResult.Rejected(var reason) when full() -> {
          tooMany = piece;
          return tooManyRefused(reason);
        }
        case StoreResult.Rejected(var reason) -> {
          letter(piece, reason); // first: what fails here must find the piece again
          left.remove();
        }
        case StoreResult other -> {
          return other;
        }
      }
    }
    if (letters.size() >= NOTHING_FITS && letters.size() == delivery.records()) {
      tooMany = last;
      return tooManyRefused(letters.getLast().reason());
    }
    return new StoreResult.Stored();
  }

  /** The table is another now, so that what was refused may be taken. */
  private void startOver() {
    tooMany = null;
    letters.clear();
    letterBytes = 0;
    left.clear();
    halve(whole());
  }

  private boolean full() {
    return letters.size() >= maxRefused || letterBytes > MAX_LETTER_BYTES;
  }

  private StoreResult tooManyRefused(String reason) {
    return new StoreResult.SchemaMismatch(
        "%d of %d logs are refused and that is too many, the last because: %s"
            .formatted(letters.size(), delivery.records(), reason));
  }

  private void halve(Piece piece) {
    int middle = (piece.from() + piece.to()) >>> 1;
    left.push(new Piece(piece.way() + "1", middle, piece.to()));
    left.push(new Piece(piece.way() + "0", piece.from(), middle));
  }

  /**
   * Always as one that was tried before: with the whole it was, and a store may take part of what
   * it refuses.
   */
  private DeliverySlice portion(Piece piece) {
    return new DeliverySlice(
        delivery.token() + "/" + piece.way(), delivery.batches(), piece.from(), piece.to(), true);
  }

  private void letter(Piece piece, String reason) {
    int place = piece.from();
    for (var batch : delivery.batches()) {
      if (place < batch.records()) {
        var letter = new DeadLetter(RecordExtractor.extract(batch, place), reason, clock.instant());
        letters.add(letter);
        letterBytes += letter.log().otlp().length;
        return;
      }
      place -= batch.records();
    }
    throw new IllegalStateException("no record " + piece.from() + " in " + delivery.token());
  }
}
