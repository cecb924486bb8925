package dev.sluice.query.read;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A refresh-ahead cache. A read of a value that is older than its maximum age returns that value
 * and starts a load in the background; a read of a value that is older than twice its maximum age
 * waits for the load, together with all other readers of the key. The maximum age grows with the
 * load time, up to 30 seconds, so that a slow load takes a small part of the time.
 *
 * <p>Safe for use by many threads.
 *
 * @param <K> the type of the keys; there must be few, since no entry is evicted
 * @param <V> the type of the values, which are immutable
 */
public final class RefreshAheadCache<K, V> {
  /** Ratio of the maximum age of a value to its load time, for values that load slowly. */
  private static final int LOAD_TIME_FACTOR = 20;

  private static final long MAX_AGE_NANOS = Duration.ofSeconds(30).toNanos();

  private final long ageNanos;
  private final LongSupplier nanoClock;
  private final Executor background;
  private final Loader<K, V> loader;
  private final Map<K, CacheEntry> entries = new ConcurrentHashMap<>();

  /** Creates a cache that loads each value in the background on a new virtual thread. */
  public RefreshAheadCache(Duration minAge, LongSupplier nanoClock, Loader<K, V> loader) {
    this(minAge, nanoClock, Thread::startVirtualThread, loader);
  }

  /**
   * @param minAge the maximum age of a value that loads quickly; other values have a longer one
   * @param nanoClock the clock in nanoseconds, as {@link System#nanoTime}
   * @param background the executor of loads for which no reader waits
   */
  public RefreshAheadCache(
      Duration minAge, LongSupplier nanoClock, Executor background, Loader<K, V> loader) {
    ageNanos = minAge.toNanos();
    this.nanoClock = nanoClock;
    this.background = background;
    this.loader = loader;
  }

  /** The source of the values. */
  public interface Loader<K, V> {
    V load(K key) throws InterruptedException;
  }

  /**
   * Returns the value of the key, up to twice as old as its maximum age. An exception of the loader
   * is thrown to the readers that wait for the load, and is not cached.
   */
  public V get(K key) throws InterruptedException {
    return entries.computeIfAbsent(key, CacheEntry::new).get();
  }

  /**
   * @param freshUntil the time of the clock at which a background load becomes due
   * @param usableUntil the time of the clock from which on readers wait for a load
   */
  private record CachedValue<V>(V value, long freshUntil, long usableUntil) {}

  private final class CacheEntry {
    private final K key;
    private final ReentrantLock lock = new ReentrantLock();
    private final AtomicBoolean refreshing = new AtomicBoolean();
    private volatile @Nullable CachedValue<V> cached;

    CacheEntry(K key) {
      this.key = key;
    }

    V get() throws InterruptedException {
      var current = cached;
      long now = nanoClock.getAsLong();
      if (current == null || now - current.usableUntil >= 0) {
        return loadIfStale();
      }
      if (now - current.freshUntil >= 0 && refreshing.compareAndSet(false, true)) {
        try {
          background.execute(this::refresh);
        } catch (RuntimeException _) {
          refreshing.set(false); // the next read retries
        }
      }
      return current.value;
    }

    private void refresh() {
      try {
        loadIfStale();
      } catch (InterruptedException _) {
        Thread.currentThread().interrupt();
      } catch (RuntimeException _) {
        // A reader that later waits for a load gets the exception of that load.
      } finally {
        refreshing.set(false);
      }
    }

    /** Loads the value if it is due; one thread loads, the others wait for it. */
    private V loadIfStale() throws InterruptedException {
      lock.lockInterruptibly();
      try {
        var current = cached;
        long start = nanoClock.getAsLong();
        if (current == null || start - current.freshUntil >= 0) {
          var value = loader.load(key);
          long end = nanoClock.getAsLong();
          long ttlNanos =
              Math.max(ageNanos, Math.min(MAX_AGE_NANOS, LOAD_TIME_FACTOR * (end - start)));
          current = new CachedValue<>(value, end + ttlNanos, end + 2 * ttlNanos);
          cached = current;
        }
        return current.value;
      } finally {
        lock.unlock();
      }
    }
  }
}
