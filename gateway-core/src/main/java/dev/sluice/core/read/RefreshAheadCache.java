package dev.sluice.core.read;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What was found out a moment ago. Whoever asks after its age is over still gets it, and it is
 * found out anew behind his back; after twice its age he waits until it is, with all others. What
 * is slow to find out has a longer age, of half a minute at most, so that it is a small part of the
 * work.
 *
 * <p>Safe for use by many threads.
 *
 * @param <K> of which there are few, since none is forgotten
 * @param <V> immutable
 */
public final class RefreshAheadCache<K, V> {
  /** How many times longer than it took to find out something is kept. */
  private static final int LOAD_TIME_FACTOR = 20;

  private static final long MAX_AGE_NANOS = Duration.ofSeconds(30).toNanos();

  private final long ageNanos;
  private final LongSupplier nanoClock;
  private final Executor background;
  private final Loader<K, V> loader;
  private final Map<K, CacheEntry> entries = new ConcurrentHashMap<>();

  /** With a virtual thread each time that something is found out behind somebody's back. */
  public RefreshAheadCache(Duration minAge, LongSupplier nanoClock, Loader<K, V> loader) {
    this(minAge, nanoClock, Thread::startVirtualThread, loader);
  }

  /**
   * @param minAge for which something is kept at least
   * @param nanoClock by which time passes, as {@link System#nanoTime}
   * @param background where something is found out that nobody waits for
   */
  public RefreshAheadCache(
      Duration minAge, LongSupplier nanoClock, Executor background, Loader<K, V> loader) {
    ageNanos = minAge.toNanos();
    this.nanoClock = nanoClock;
    this.background = background;
    this.loader = loader;
  }

  /** Where it comes from. */
  public interface Loader<K, V> {
    V load(K key) throws InterruptedException;
  }

  /**
   * As it is, or was a moment ago. What goes wrong in finding out is thrown at who waits for it,
   * and nothing kept.
   */
  public V get(K key) throws InterruptedException {
    return entries.computeIfAbsent(key, CacheEntry::new).get();
  }

  /**
   * @param freshUntil until when
   * @param usableUntil until when
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
          refreshing.set(false); // the next one tries again
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
        // who waits for it after its time is told why
      } finally {
        refreshing.set(false);
      }
    }

    /** By one thread, for which the others wait. */
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
