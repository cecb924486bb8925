package dev.sluice.core.port;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.Deliveries.Delivery;
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
   * @param naming tells the identities that the records carry, of which all are written before any
   *     record is
   */
  Outcome store(Portion portion, Naming naming) throws InterruptedException;

  /** Records that carry no identities but their own. */
  default Outcome store(Portion portion) throws InterruptedException {
    return store(portion, Naming.NONE);
  }

  /** All records of the batches, which nobody has tried to store before. */
  default Outcome store(String token, List<LogBatch> batches) throws InterruptedException {
    return store(Portion.of(new Delivery(token, batches, false)));
  }

  /**
   * Records that are there and bear an identity of ours, by the day of their receipt (UTC), for the
   * days from {@code from} on that have any.
   *
   * @throws RuntimeException when the store cannot tell
   */
  SortedMap<LocalDate, Long> stored(LocalDate from);

  /** All days together. */
  default long stored() {
    return stored(LocalDate.EPOCH).values().stream().mapToLong(Long::longValue).sum();
  }

  /**
   * How long there should be from the beginning of one store to that of the next, so that the store
   * can keep up with tidying what it has; zero when it has no wish.
   */
  Duration pace();

  /**
   * How long a delivery that is not full should wait for company, going by what the last was like;
   * zero when the usual will do.
   */
  default Duration gather() {
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
   * @param again whether somebody may have tried to store any of them before
   */
  record Portion(String token, List<LogBatch> batches, int from, int to, boolean again) {
    public Portion {
      batches = List.copyOf(batches);
      if (from < 0 || to <= from) {
        throw new IllegalArgumentException("records from %d to %d".formatted(from, to));
      }
    }

    /** All of a delivery. */
    public static Portion of(Delivery delivery) {
      return new Portion(
          delivery.token(),
          delivery.batches(),
          0,
          Math.toIntExact(delivery.records()),
          delivery.again());
    }

    /** How many. */
    public int records() {
      return to - from;
    }
  }

  /** Every implementation sorts its failures into these, so that callers need no vendor codes. */
  sealed interface Outcome {
    /** Confirmed. */
    record Stored() implements Outcome {}

    /** Nothing is wrong with the records; the store is busy, away or in doubt. */
    record TryLater(String reason) implements Outcome {}

    /** At least one of the records will never be taken; the others may be. */
    record Refused(String reason) implements Outcome {}

    /** Nothing is wrong with the records; the store's tables are not as they should be. */
    record Misshapen(String reason) implements Outcome {}

    /** A batch is not what its envelope says: a fault of ours, or of the spool. */
    record Corrupt(UUID appendId, String reason) implements Outcome {}
  }
}
