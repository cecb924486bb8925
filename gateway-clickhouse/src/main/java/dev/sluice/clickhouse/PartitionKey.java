package dev.sluice.clickhouse;

/** The partition key of {@code otel_logs}: the rows of a part have the same value. */
enum PartitionKey {
  /**
   * The receive day, and whether the event time is more than a day from the receive time. Few
   * values in an insert, whatever the senders send.
   */
  RECEIVE_DAY {
    @Override
    long valueOf(long timeNanos, long receivedNanos) {
      return Math.floorDiv(receivedNanos, DAY_NANOS) << 1
          | (Math.abs(timeNanos - receivedNanos) > DAY_NANOS ? 1 : 0);
    }
  },

  /** The event day, as in a table of the Collector. The senders choose the number of values. */
  EVENT_DAY {
    @Override
    long valueOf(long timeNanos, long receivedNanos) {
      return Math.floorDiv(timeNanos, DAY_NANOS);
    }
  };

  private static final long DAY_NANOS = 86_400L * 1_000_000_000L;

  /**
   * Returns a number that is the same for records of the same partition.
   *
   * @param timeNanos event time, nanoseconds since 1970
   * @param receivedNanos receive time, nanoseconds since 1970
   */
  abstract long valueOf(long timeNanos, long receivedNanos);
}
