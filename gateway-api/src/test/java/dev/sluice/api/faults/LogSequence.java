package dev.sluice.api.faults;

import java.util.BitSet;
import java.util.Random;

/**
 * What the clients of one row know: which numbers they have used, and which of these were
 * acknowledged. Safe for use by many threads.
 */
final class LogSequence {
  private static final int POOL = 1 << 20;

  private final String run;
  private final Random random;
  private final String pool;
  private final BitSet acknowledged = new BitSet();
  private int next;

  /**
   * @param run the service whose logs these are; the first word of their bodies too
   */
  LogSequence(String run, long seed) {
    this.run = run;
    this.random = new Random(seed);
    this.pool =
        random
            .ints(POOL, 'A', 'z' + 1)
            .map(c -> c == '\\' ? '-' : c)
            .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
            .toString();
  }

  String run() {
    return run;
  }

  synchronized int allocate(int count) {
    int first = next;
    next += count;
    return first;
  }

  /** The smallest number that was not used. */
  synchronized int nextUnused() {
    return next;
  }

  synchronized void acknowledge(int first, int count) {
    acknowledged.set(first, first + count);
  }

  synchronized BitSet acknowledged() {
    return (BitSet) acknowledged.clone();
  }

  /** Letters that do not compress. */
  synchronized String randomText(int length) {
    int from = random.nextInt(POOL - length);
    return pool.substring(from, from + length);
  }
}
