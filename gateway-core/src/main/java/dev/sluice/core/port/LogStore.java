package dev.sluice.core.port;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.RecordIds;
import dev.sluice.core.port.SpoolConsumer.Delivery;
import java.time.Duration;
import java.time.LocalDate;
import java.util.List;
import java.util.SortedMap;
import java.util.UUID;

/** The long-term store of the logs. Thread-safe; all methods block. */
public interface LogStore {

  /**
   * Stores each record of a slice exactly once; blocks until the store confirms the insert or the
   * attempt fails. For a redelivered slice, the store first makes sure that the earlier insert has
   * ended, and then inserts only the missing records.
   *
   * @param slice the records
   * @param ids the dictionary ids of all records of the delivery, whose entries are in the
   *     dictionary; only read, so that the same ids serve a retry and every slice of the delivery
   */
  StoreResult store(DeliverySlice slice, RecordIds ids) throws InterruptedException;

  /**
   * Stores all records of batches for which there is no earlier attempt, without dictionary ids.
   */
  default StoreResult store(String token, List<LogBatch> batches) throws InterruptedException {
    return store(DeliverySlice.of(new Delivery(token, batches, false)), RecordIds.NONE);
  }

  /**
   * Returns the number of stored records with a {@link dev.sluice.core.domain.LogId} of the gateway
   * by receive day (UTC), for each day since {@code from} that has any.
   *
   * @throws RuntimeException when the store is unavailable
   */
  SortedMap<LocalDate, Long> storedRecords(LocalDate from);

  /** Returns the number of stored records of all days together. */
  default long storedRecords() {
    return storedRecords(LocalDate.EPOCH).values().stream().mapToLong(Long::longValue).sum();
  }

  /**
   * Returns the minimum interval between the starts of two inserts, so that the store can keep up
   * with merging its parts; zero for no minimum.
   */
  Duration minInsertInterval();

  /**
   * Returns the linger that the store prefers for the next delivery, based on the most recent
   * insert; zero for no preference.
   */
  default Duration preferredLinger() {
    return Duration.ZERO;
  }

  /**
   * A contiguous range of the records of a delivery, or all of its records.
   *
   * @param token the deduplication token of exactly these records: a retry of the same records has
   *     the same token, and no other records have it
   * @param batches the batches of the delivery
   * @param from the index of the first record, inclusive, counted over the accepted records of all
   *     batches
   * @param to the end index, exclusive
   * @param redelivered whether an earlier attempt may have stored any of the records
   */
  record DeliverySlice(
      String token, List<LogBatch> batches, int from, int to, boolean redelivered) {
    public DeliverySlice {
      batches = List.copyOf(batches);
      if (from < 0 || to <= from) {
        throw new IllegalArgumentException(
            "a slice needs 0 <= from < to, has from %d, to %d".formatted(from, to));
      }
    }

    /** Returns the slice of all records of a delivery. */
    public static DeliverySlice of(Delivery delivery) {
      return new DeliverySlice(
          delivery.token(),
          delivery.batches(),
          0,
          Math.toIntExact(delivery.records()),
          delivery.redelivered());
    }

    /** Returns the number of records. */
    public int records() {
      return to - from;
    }
  }

  /**
   * The result of a store operation. Each implementation maps its errors to these results, so that
   * callers need no vendor error codes.
   */
  sealed interface StoreResult {
    /** The store has confirmed the records. */
    record Stored() implements StoreResult {}

    /**
     * The records are valid, but the store is busy or unavailable, or the outcome is unknown. A
     * later attempt may succeed.
     */
    record Retryable(String reason) implements StoreResult {}

    /**
     * The store rejects at least one record permanently; other records may be valid.
     *
     * @param code the error code of the store; 0 when there is none
     */
    record Rejected(String reason, int code) implements StoreResult {}

    /** The records are valid, but the tables of the store do not have the expected schema. */
    record SchemaMismatch(String reason) implements StoreResult {}

    /** The content of a batch does not match its metadata: a bug of the gateway or the spool. */
    record Corrupt(UUID appendId, String reason) implements StoreResult {}
  }
}
