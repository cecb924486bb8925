package dev.sluice.bench;

import java.io.IOException;
import java.time.Duration;

/** The rows that come into the table from now on. */
final class Arrivals {
  /** A gateway tries for long; without a new row for so long, what is missing is lost. */
  static final Duration PATIENCE = Duration.ofMinutes(2);

  /** After the last row that was waited for; what is stored twice would come later. */
  private static final Duration STILL = Duration.ofSeconds(3);

  private final Database database;
  private final long before;

  Arrivals(Database database) throws IOException, InterruptedException {
    this.database = database;
    before = database.rows(Measurement.TABLE);
  }

  /**
   * How many have come, and when the last did.
   *
   * @param nanos {@link System#nanoTime}
   */
  record Arrived(long rows, long nanos) {}

  /** Returns when so many have come and no more do, or none has for long. */
  Arrived await(long expected, Duration patience) throws IOException, InterruptedException {
    var arrived = new Arrived(0, System.nanoTime());
    while (true) {
      long now = database.rows(Measurement.TABLE) - before;
      if (now != arrived.rows) {
        arrived = new Arrived(now, System.nanoTime());
      }
      long still = System.nanoTime() - arrived.nanos;
      if (still > (now >= expected ? STILL : patience).toNanos()) {
        return arrived;
      }
      Thread.sleep(100);
    }
  }
}
