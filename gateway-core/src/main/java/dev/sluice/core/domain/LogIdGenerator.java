package dev.sluice.core.domain;

import java.security.SecureRandom;
import java.time.InstantSource;

/**
 * A generator of log ids. A random node value, drawn at each start, makes the ids unique across
 * processes. Within one process the ids increase, even when the clock steps back. Thread-safe.
 */
public final class LogIdGenerator {
  private static final long COUNTER_END = 1L << 32;

  private final InstantSource clock;
  private final long node;
  private long millis;
  private long counter;

  public LogIdGenerator(InstantSource clock) {
    this(clock, new SecureRandom().nextLong());
  }

  LogIdGenerator(InstantSource clock, long node) {
    this.clock = clock;
    this.node = node & ((1L << 48) - 1);
  }

  /**
   * Reserves {@code count} consecutive ids, at least 1, for the caller.
   *
   * @return the first of the reserved ids
   */
  public synchronized LogId next(int count) {
    if (count < 1) {
      throw new IllegalArgumentException("count is " + count + ", must be positive");
    }
    long now = clock.millis();
    if (now > millis) {
      millis = now;
      counter = 0;
    } else if (counter + count > COUNTER_END) {
      millis++; // ahead of the clock, which catches up before another 2^32 ids are used
      counter = 0;
    }
    var first = new LogId(millis << 16 | node >>> 32, node << 32 | counter);
    counter += count;
    return first;
  }
}
