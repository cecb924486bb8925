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
 * A bisection of a rejected delivery. It stores the delivery in ever smaller slices until only the
 * records that the store rejects remain.
 *
 * <p>The token of a slice consists of the token of the delivery and the path to the slice, so that
 * the same records always have the same token. A rejected slice is not stored again. After an
 * interruption the bisection resumes at the same slice; otherwise it might never complete with a
 * store that is busy from time to time.
 *
 * <p>Not thread-safe.
 */
final class PoisonRecordBisector {

  /** A function that stores a slice. */
  @FunctionalInterface
  interface StoreFunction {
    StoreResult store(DeliverySlice slice) throws InterruptedException;
  }

  /**
   * The number of rejected records from which a delivery without any stored record is treated as a
   * schema mismatch.
   */
  private static final int ALL_REJECTED_THRESHOLD = 100;

  /**
   * The maximum size in bytes of the dead letters of one delivery, which are in memory until its
   * acknowledgement.
   */
  private static final long MAX_DEAD_LETTER_BYTES = 256L << 20;

  /**
   * A range of records.
   *
   * @param path the path from the full range: 0 is the first half, 1 the second half
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

  /**
   * The rejected record that exceeded the limit. As long as the store rejects it, no other slice is
   * tried.
   */
  private @Nullable Slice overLimit;

  /**
   * @param delivery the delivery that the store has just rejected
   * @param rejected the rejection
   * @param maxDeadLetters the maximum number of rejected records; more are treated as a schema
   *     mismatch
   */
  PoisonRecordBisector(
      Delivery delivery, StoreResult.Rejected rejected, int maxDeadLetters, InstantSource clock) {
    this.delivery = delivery;
    this.maxDeadLetters = maxDeadLetters;
    this.clock = clock;
    var full = fullSlice();
    if (full.records() == 1) {
      addDeadLetter(full, rejected);
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

  /**
   * Returns the records rejected so far. The list is complete once {@link #run} has returned {@link
   * StoreResult.Stored}.
   */
  List<DeadLetter> deadLetters() {
    return deadLetters;
  }

  /**
   * Runs or resumes the bisection until all valid records are stored, or until the store returns
   * another result.
   */
  StoreResult run(StoreFunction store) throws InterruptedException {
    if (overLimit != null) {
      if (store.store(toDeliverySlice(overLimit)) instanceof StoreResult.Rejected rejected) {
        return tooManyRejected(rejected.reason());
      }
      restart();
    }
    var lastSlice = fullSlice();
    while (!pending.isEmpty()) {
      var slice = pending.element();
      lastSlice = slice;
      switch (store.store(toDeliverySlice(slice))) {
        case StoreResult.Stored() -> pending.remove();
        case StoreResult.Rejected _ when slice.records() > 1 -> {
          pending.remove();
          split(slice);
        }
        case StoreResult.Rejected rejected when limitReached() -> {
          overLimit = slice;
          return tooManyRejected(rejected.reason());
        }
        case StoreResult.Rejected rejected -> {
          addDeadLetter(slice, rejected); // before the removal: after an error the slice is retried
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

  /** Starts over: the schema has changed, so that the store may accept rejected records. */
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
        "%d of %d logs rejected, too many for dead letters; reason of the last: %s"
            .formatted(deadLetters.size(), delivery.records(), reason));
  }

  private void split(Slice slice) {
    int middle = (slice.from() + slice.to()) >>> 1;
    pending.push(new Slice(slice.path() + "1", middle, slice.to()));
    pending.push(new Slice(slice.path() + "0", slice.from(), middle));
  }

  /**
   * Creates the slice for the store, always marked as redelivered: its records were part of the
   * rejected insert, and a store may keep a part of an insert that it rejects.
   */
  private DeliverySlice toDeliverySlice(Slice slice) {
    return new DeliverySlice(
        delivery.token() + "/" + slice.path(), delivery.batches(), slice.from(), slice.to(), true);
  }

  private void addDeadLetter(Slice slice, StoreResult.Rejected rejected) {
    int index = slice.from();
    for (var batch : delivery.batches()) {
      if (index < batch.records()) {
        var letter =
            new DeadLetter(
                RecordExtractor.extract(batch, index),
                rejected.reason(),
                rejected.code(),
                clock.instant());
        deadLetters.add(letter);
        deadLetterBytes += letter.log().otlp().length;
        return;
      }
      index -= batch.records();
    }
    throw new IllegalStateException("no record " + slice.from() + " in " + delivery.token());
  }
}
