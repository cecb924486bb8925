package dev.sluice.core.port;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.SpoolConsumer.Delivery;
import java.time.Duration;
import java.time.LocalDate;
import java.util.List;
import java.util.SortedMap;
import java.util.UUID;

/** Long-term home of the logs. Safe for use by many threads; all methods block. */
public interface LogStore {

  /**
   * Stores records, each once; blocks until the store has confirmed them or has not. Of a portion
   * that may have been tried before, only what is not there is stored, once whoever tried is known
   * to have ended.
   *
   * @param enricher tells the identities that the records carry, of which all are written before
   *     any record is
   */
  StoreResult store(DeliverySlice slice, LogEnricher enricher) throws InterruptedException;

  /** Records that carry no identities but their own. */
  default StoreResult store(DeliverySlice slice) throws InterruptedException {
    return store(slice, LogEnricher.NONE);
  }

  /** All records of the batches, which nobody has tried to store before. */
  default StoreResult store(String token, List<LogBatch> batches) throws InterruptedException {
    return store(DeliverySlice.of(new Delivery(token, batches, false)));
  }

  /**
   * Records that are there and bear an identity of ours, by the day of their receipt (UTC), for the
   * days from {@code from} on that have any.
   *
   * @throws RuntimeException when the store cannot tell
   */
  SortedMap<LocalDate, Long> storedRecords(LocalDate from);

  /** All days together. */
  default long storedRecords() {
    return storedRecords(LocalDate.EPOCH).values().stream().mapToLong(Long::longValue).sum();
  }

  /**
   * How long there should be from the beginning of one store to that of the next, so that the store
   * can keep up with tidying what it has; zero when it has no wish.
   */
  Duration minInsertInterval();

  /**
   * How long a delivery that is not full should wait for company, going by what the last was like;
   * zero when the usual will do.
   */
  default Duration preferredLinger() {
    return Duration.ZERO;
  }

  /**
   * Records of a delivery, all of them or a run.
   *
   * @param token names these very records; the same records come with the same token when they are
   *     tried again, and no others do
   * @param batches of the delivery
   * @param from the first record, counted over all batches, refused ones left out
   * @param to where the run ends; not part of it
   * @param redelivered whether somebody may have tried to store any of them before
   */
  record DeliverySlice(
      String token, List<LogBatch> batches, int from, int to, boolean redelivered) {
    public DeliverySlice {
      batches = List.copyOf(batches);
      if (from < 0 || to <= from) {
        throw new IllegalArgumentException("records from %d to %d".formatted(from, to));
      }
    }

    /** All of a delivery. */
    public static DeliverySlice of(Delivery delivery) {
      return new DeliverySlice(
          delivery.token(),
          delivery.batches(),
          0,
          Math.toIntExact(delivery.records()),
          delivery.redelivered());
    }

    /** How many. */
    public int records() {
      return to - from;
    }
  }

  /** Every implementation sorts its failures into these, so that callers need no vendor codes. */
  sealed interface StoreResult {
    /** Confirmed. */
    record Stored() implements StoreResult {}

    /** Nothing is wrong with the records; the store is busy, away or in doubt. */
    record Retryable(String reason) implements StoreResult {}

    /** At least one of the records will never be taken; the others may be. */
    record Rejected(String reason) implements StoreResult {}

    /** Nothing is wrong with the records; the store's tables are not as they should be. */
    record SchemaMismatch(String reason) implements StoreResult {}

    /** A batch is not what its envelope says: a fault of ours, or of the spool. */
    record Corrupt(UUID appendId, String reason) implements StoreResult {}
  }
}
