package dev.sluice.bench;

import java.io.IOException;
import java.time.Duration;

/** The rows that come into the table from now on. */
final class RowCounter {
  /** A gateway tries for long; without a new row for so long, what is missing is lost. */
  static final Duration STALL_TIMEOUT = Duration.ofMinutes(2);

  /** After the last row that was waited for; what is stored twice would come later. */
  private static final Duration QUIET_PERIOD = Duration.ofSeconds(3);

  private final ClickHouseAdmin clickHouseAdmin;
  private final long rowsBefore;

  RowCounter(ClickHouseAdmin clickHouseAdmin) throws IOException, InterruptedException {
    this.clickHouseAdmin = clickHouseAdmin;
    rowsBefore = clickHouseAdmin.countRows(Measurement.TABLE);
  }

  /**
   * How many have come, and when the last did.
   *
   * @param lastRowNanos {@link System#nanoTime}
   */
  record FinalRowCount(long rows, long lastRowNanos) {}

  /** Returns when so many have come and no more do, or none has for long. */
  FinalRowCount await(long expected, Duration stallTimeout)
      throws IOException, InterruptedException {
    var last = new FinalRowCount(0, System.nanoTime());
    while (true) {
      long now = clickHouseAdmin.countRows(Measurement.TABLE) - rowsBefore;
      if (now != last.rows) {
        last = new FinalRowCount(now, System.nanoTime());
      }
      long quietNanos = System.nanoTime() - last.lastRowNanos;
      if (quietNanos > (now >= expected ? QUIET_PERIOD : stallTimeout).toNanos()) {
        return last;
      }
      Thread.sleep(100);
    }
  }
}
