package dev.sluice.core.read;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What was found out a moment ago, and is found out again when that is too old: by one thread,
 * while the others make do with what they have, or wait when that is nothing. What is slow to find
 * out is kept longer, for half a minute at most, so that it is a small part of the work.
 *
 * <p>Safe for use by many threads.
 *
 * @param <K> of which there are few, since none is forgotten
 * @param <V> immutable
 */
public final class Recently<K, V> {
  /** How many times longer than it took to find out something is kept. */
  private static final int TIMES = 20;

  private static final long LONGEST = Duration.ofSeconds(30).toNanos();

  private final long ageNanos;
  private final LongSupplier nanos;
  private final Finding<K, V> finding;
  private final Map<K, Memory> memories = new ConcurrentHashMap<>();

  /**
   * @param age for which something is kept at least
   * @param nanos by which time passes, as {@link System#nanoTime}
   */
  public Recently(Duration age, LongSupplier nanos, Finding<K, V> finding) {
    ageNanos = age.toNanos();
    this.nanos = nanos;
    this.finding = finding;
  }

  /** Where it comes from. */
  public interface Finding<K, V> {
    V find(K key) throws InterruptedException;
  }

  /** As it is, or was a moment ago. What goes wrong in finding out is thrown, and nothing kept. */
  public V get(K key) throws InterruptedException {
    return memories.computeIfAbsent(key, _ -> new Memory()).get(key);
  }

  private record Known<V>(V value, long until) {}

  private final class Memory {
    private final ReentrantLock lock = new ReentrantLock();
    private volatile @Nullable Known<V> known;

    V get(K key) throws InterruptedException {
      var it = known;
      if (it != null && nanos.getAsLong() - it.until < 0) {
        return it.value;
      }
      if (it == null) {
        lock.lockInterruptibly();
      } else if (!lock.tryLock()) {
        return it.value;
      }
      try {
        it = known;
        long begun = nanos.getAsLong();
        if (it == null || begun - it.until >= 0) {
          var value = finding.find(key);
          long end = nanos.getAsLong();
          it =
              new Known<>(
                  value, end + Math.max(ageNanos, Math.min(LONGEST, TIMES * (end - begun))));
          known = it;
        }
        return it.value;
      } finally {
        lock.unlock();
      }
    }
  }
}
