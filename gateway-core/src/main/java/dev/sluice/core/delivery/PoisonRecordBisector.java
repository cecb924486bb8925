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
final class PoisonRecordBisector {

  /** How pieces are stored. */
  @FunctionalInterface
  interface StoreFunction {
    StoreResult store(DeliverySlice slice) throws InterruptedException;
  }

  /** So many and not one that is taken: it is the table that nothing fits. */
  private static final int ALL_REJECTED_THRESHOLD = 100;

  /** Of all dead letters of one delivery: they are held until it is settled. */
  private static final long MAX_DEAD_LETTER_BYTES = 256L << 20;

  /**
   * @param path from the whole: 0 is the first half, 1 the second
   */
  private record Slice(String path, int from, int to) {
    int records() {
      return to - from;
    }
  }

  private final Delivery delivery;
  private final int maxDeadLetters;
  private final InstantSource clock;
  private final Deque<Slice> pending = new ArrayDeque<>();
  private final List<DeadLetter> deadLetters = new ArrayList<>();
  private long deadLetterBytes;

  /** The refused record that was one too many: while it is refused, others need not be tried. */
  private @Nullable Slice overLimit;

  /**
   * @param delivery which the store has just refused
   * @param maxDeadLetters refused records beyond which the fault is not theirs
   */
  PoisonRecordBisector(Delivery delivery, String reason, int maxDeadLetters, InstantSource clock) {
    this.delivery = delivery;
    this.maxDeadLetters = maxDeadLetters;
    this.clock = clock;
    var full = fullSlice();
    if (full.records() == 1) {
      addDeadLetter(full, reason);
    } else {
      split(full);
    }
  }

  private Slice fullSlice() {
    return new Slice("", 0, Math.toIntExact(delivery.records()));
  }

  boolean matches(Delivery other) {
    return delivery.token().equals(other.token());
  }

  /** What was refused so far; all of it once {@link #run} says that the rest is stored. */
  List<DeadLetter> deadLetters() {
    return deadLetters;
  }

  /** Goes on until all that can be is stored, or until something is in the way. */
  StoreResult run(StoreFunction store) throws InterruptedException {
    if (overLimit != null) {
      if (store.store(toDeliverySlice(overLimit)) instanceof StoreResult.Rejected(var reason)) {
        return tooManyRejected(reason);
      }
      restart();
    }
    var lastSlice = fullSlice();
    while (!pending.isEmpty()) {
      var slice = pending.element();
      lastSlice = slice;
      switch (store.store(toDeliverySlice(slice))) {
        case StoreResult.Stored() -> pending.remove();
        case StoreResult.Rejected(var reason) when slice.records() > 1 -> {
          pending.remove();
          split(slice);
        }
        case StoreResult.Rejected(var reason) when limitReached() -> {
          overLimit = slice;
          return tooManyRejected(reason);
        }
        case StoreResult.Rejected(var reason) -> {
          addDeadLetter(slice, reason); // first: what fails here must find the piece again
          pending.remove();
        }
        case StoreResult other -> {
          return other;
        }
      }
    }
    if (deadLetters.size() >= ALL_REJECTED_THRESHOLD && deadLetters.size() == delivery.records()) {
      overLimit = lastSlice;
      return tooManyRejected(deadLetters.getLast().reason());
    }
    return new StoreResult.Stored();
  }

  /** The table is another now, so that what was refused may be taken. */
  private void restart() {
    overLimit = null;
    deadLetters.clear();
    deadLetterBytes = 0;
    pending.clear();
    split(fullSlice());
  }

  private boolean limitReached() {
    return deadLetters.size() >= maxDeadLetters || deadLetterBytes > MAX_DEAD_LETTER_BYTES;
  }

  private StoreResult tooManyRejected(String reason) {
    return new StoreResult.SchemaMismatch(
        "%d of %d logs are refused and that is too many, the last because: %s"
            .formatted(deadLetters.size(), delivery.records(), reason));
  }

  private void split(Slice slice) {
    int middle = (slice.from() + slice.to()) >>> 1;
    pending.push(new Slice(slice.path() + "1", middle, slice.to()));
    pending.push(new Slice(slice.path() + "0", slice.from(), middle));
  }

  /**
   * Always as one that was tried before: with the whole it was, and a store may take part of what
   * it refuses.
   */
  private DeliverySlice toDeliverySlice(Slice slice) {
    return new DeliverySlice(
        delivery.token() + "/" + slice.path(), delivery.batches(), slice.from(), slice.to(), true);
  }

  private void addDeadLetter(Slice slice, String reason) {
    int index = slice.from();
    for (var batch : delivery.batches()) {
      if (index < batch.records()) {
        var letter = new DeadLetter(RecordExtractor.extract(batch, index), reason, clock.instant());
        deadLetters.add(letter);
        deadLetterBytes += letter.log().otlp().length;
        return;
      }
      index -= batch.records();
    }
    throw new IllegalStateException("no record " + slice.from() + " in " + delivery.token());
  }
}
