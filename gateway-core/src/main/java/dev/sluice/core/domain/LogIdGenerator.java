package dev.sluice.core.domain;

import java.security.SecureRandom;
import java.time.InstantSource;

/**
 * Gives out log identities: unique across processes by a random node drawn at each start,
 * increasing within this one even when the clock steps back. Safe for use by many threads.
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

  /** The first of {@code count} consecutive identities, which belong to the caller from now on. */
  public synchronized LogId next(int count) {
    if (count < 1) {
      throw new IllegalArgumentException("count is " + count);
    }
    long now = clock.millis();
    if (now > millis) {
      millis = now;
      counter = 0;
    } else if (counter + count > COUNTER_END) {
      millis++; // borrowed from the future; the clock catches up before four billion more
      counter = 0;
    }
    var first = new LogId(millis << 16 | node >>> 32, node << 32 | counter);
    counter += count;
    return first;
  }
}
