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
public final class Recently<K, V> {
  /** How many times longer than it took to find out something is kept. */
  private static final int TIMES = 20;

  private static final long LONGEST = Duration.ofSeconds(30).toNanos();

  private final long ageNanos;
  private final LongSupplier nanos;
  private final Executor background;
  private final Finding<K, V> finding;
  private final Map<K, Memory> memories = new ConcurrentHashMap<>();

  /** With a virtual thread each time that something is found out behind somebody's back. */
  public Recently(Duration age, LongSupplier nanos, Finding<K, V> finding) {
    this(age, nanos, Thread::startVirtualThread, finding);
  }

  /**
   * @param age for which something is kept at least
   * @param nanos by which time passes, as {@link System#nanoTime}
   * @param background where something is found out that nobody waits for
   */
  public Recently(Duration age, LongSupplier nanos, Executor background, Finding<K, V> finding) {
    ageNanos = age.toNanos();
    this.nanos = nanos;
    this.background = background;
    this.finding = finding;
  }

  /** Where it comes from. */
  public interface Finding<K, V> {
    V find(K key) throws InterruptedException;
  }

  /**
   * As it is, or was a moment ago. What goes wrong in finding out is thrown at who waits for it,
   * and nothing kept.
   */
  public V get(K key) throws InterruptedException {
    return memories.computeIfAbsent(key, Memory::new).get();
  }

  /**
   * @param fresh until when
   * @param usable until when
   */
  private record Known<V>(V value, long fresh, long usable) {}

  private final class Memory {
    private final K key;
    private final ReentrantLock lock = new ReentrantLock();
    private final AtomicBoolean underWay = new AtomicBoolean();
    private volatile @Nullable Known<V> known;

    Memory(K key) {
      this.key = key;
    }

    V get() throws InterruptedException {
      var it = known;
      long now = nanos.getAsLong();
      if (it == null || now - it.usable >= 0) {
        return found();
      }
      if (now - it.fresh >= 0 && underWay.compareAndSet(false, true)) {
        try {
          background.execute(this::refresh);
        } catch (RuntimeException _) {
          underWay.set(false); // the next one tries again
        }
      }
      return it.value;
    }

    private void refresh() {
      try {
        found();
      } catch (InterruptedException _) {
        Thread.currentThread().interrupt();
      } catch (RuntimeException _) {
        // who waits for it after its time is told why
      } finally {
        underWay.set(false);
      }
    }

    /** By one thread, for which the others wait. */
    private V found() throws InterruptedException {
      lock.lockInterruptibly();
      try {
        var it = known;
        long begun = nanos.getAsLong();
        if (it == null || begun - it.fresh >= 0) {
          var value = finding.find(key);
          long end = nanos.getAsLong();
          long kept = Math.max(ageNanos, Math.min(LONGEST, TIMES * (end - begun)));
          it = new Known<>(value, end + kept, end + 2 * kept);
          known = it;
        }
        return it.value;
      } finally {
        lock.unlock();
      }
    }
  }
}
