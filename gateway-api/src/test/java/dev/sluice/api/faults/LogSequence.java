package dev.sluice.api.faults;

import java.util.BitSet;
import java.util.Random;

/**
 * The log numbers of the clients of one fault: which numbers are allocated, and which are
 * acknowledged. Thread-safe.
 */
final class LogSequence {
  private static final int POOL = 1 << 20;

  private final String run;
  private final Random random;
  private final String pool;
  private final BitSet acknowledged = new BitSet();
  private int next;

  /**
   * Creates a sequence.
   *
   * @param run the service of the logs, also the first word of their bodies
   * @param seed the seed of the random text
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

  /** Returns the smallest number that is not allocated. */
  synchronized int nextUnused() {
    return next;
  }

  synchronized void acknowledge(int first, int count) {
    acknowledged.set(first, first + count);
  }

  synchronized BitSet acknowledged() {
    return (BitSet) acknowledged.clone();
  }

  /** Returns random letters, which do not compress. */
  synchronized String randomText(int length) {
    int from = random.nextInt(POOL - length);
    return pool.substring(from, from + length);
  }
}
