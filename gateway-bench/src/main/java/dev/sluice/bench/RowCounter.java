package dev.sluice.bench;

import java.io.IOException;
import java.time.Duration;

/** A counter of the rows that are added to the table after its creation. */
final class RowCounter {
  /**
   * The default time without a new row after which missing rows count as lost; a gateway retries
   * for a long time.
   */
  static final Duration STALL_TIMEOUT = Duration.ofMinutes(2);

  /**
   * The time without a new row after the expected count; a row that is stored twice would arrive in
   * it.
   */
  private static final Duration QUIET_PERIOD = Duration.ofSeconds(3);

  private final ClickHouseAdmin clickHouseAdmin;
  private final long rowsBefore;

  RowCounter(ClickHouseAdmin clickHouseAdmin) throws IOException, InterruptedException {
    this.clickHouseAdmin = clickHouseAdmin;
    rowsBefore = clickHouseAdmin.countRows(Measurement.TABLE);
  }

  /**
   * The final count.
   *
   * @param rows the number of added rows
   * @param lastRowNanos the time of the last new row, as {@link System#nanoTime}
   */
  record FinalRowCount(long rows, long lastRowNanos) {}

  /**
   * Waits until the expected rows are in the table and no more arrive, or no row has arrived for
   * the timeout.
   */
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
