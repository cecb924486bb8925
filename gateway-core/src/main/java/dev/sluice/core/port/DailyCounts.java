package dev.sluice.core.port;

import java.time.LocalDate;
import java.util.SortedMap;

/**
 * The record counts of a spool by receive day (UTC). The ledger compares them with the counts of
 * the store. Thread-safe; each method blocks, and throws a {@link RuntimeException} when the spool
 * is unreachable.
 */
public interface DailyCounts {

  /** Returns the counts of each day since {@code from} that has any. */
  SortedMap<LocalDate, RecordCounts> recordCounts(LocalDate from);

  /**
   * Returns the first day since whose beginning the spool counts every accepted record by day, as
   * far as the spool knows; a future day when only a part of today is counted. It is later than the
   * day of the first logs when an older release did not count by day, or when the spool was
   * replaced.
   */
  default LocalDate countsCompleteSince() {
    return LocalDate.EPOCH;
  }

  /** Returns the record counts of all days together. */
  default RecordCounts recordCounts() {
    return recordCounts(LocalDate.EPOCH).values().stream()
        .reduce(RecordCounts.NONE, RecordCounts::plus);
  }

  /**
   * The log record counts of one day. They survive restarts, and each is counted where its records
   * are.
   *
   * @param accepted accepted records, counted in the atomic step that appends them; a {@linkplain
   *     dev.sluice.core.domain.ReplayId replay} is not accepted a second time
   * @param inFlight records not yet delivered, counted from the entries in the spool; a dead letter
   *     that an earlier release left in the spool is in flight to the dead letter store
   * @param quarantined records of entries that are damaged in the spool and set aside for an
   *     operator, counted in the step that sets them aside
   */
  record RecordCounts(long accepted, long inFlight, long quarantined) {
    public static final RecordCounts NONE = new RecordCounts(0, 0, 0);

    public RecordCounts plus(RecordCounts other) {
      return new RecordCounts(
          accepted + other.accepted, inFlight + other.inFlight, quarantined + other.quarantined);
    }
  }
}
