package dev.sluice.core.failover;

import dev.sluice.core.port.AppendResolver;
import dev.sluice.core.port.IdempotencyStore.ClaimResult;
import dev.sluice.core.port.IdempotencyStore.UsedKey;
import dev.sluice.core.port.Scheduler;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * Copies the idempotency keys of the batches that the fallback has accepted to the primary, where
 * other processes find them. It copies while the circuit breaker is closed, one key at a time on
 * its own virtual thread. Safe for use by many threads; no method blocks.
 *
 * <p>At each start all keys that the fallback still has are copied again, at most as many as the
 * primary keeps, each within its retention. A record of the keys already copied would be wrong
 * after the primary has lost data, and then another process would accept a request twice; a second
 * copy of a key has no effect.
 */
final class KeyCopier {
  private static final Duration RETRY_DELAY = Duration.ofSeconds(1);

  private final AppendResolver primary;
  private final CircuitBreaker breaker;
  private final Scheduler scheduler;
  private final int maxKeys;

  /** The keys to copy, oldest first; above the maximum the oldest is dropped. Guarded by this. */
  private final Deque<UsedKey> keys = new ArrayDeque<>();

  /** Whether the thread is running. Guarded by this. */
  private boolean running;

  /**
   * Creates the copier.
   *
   * @param maxKeys maximum number of keys in memory, as many as the primary keeps
   */
  KeyCopier(AppendResolver primary, CircuitBreaker breaker, Scheduler scheduler, int maxKeys) {
    this.primary = primary;
    this.breaker = breaker;
    this.scheduler = scheduler;
    this.maxKeys = maxKeys;
  }

  synchronized void add(Collection<UsedKey> used) {
    keys.addAll(used);
    while (keys.size() > maxKeys) {
      keys.remove();
    }
    start();
  }

  /** Starts the thread if there are keys to copy and the breaker is closed. */
  synchronized void start() {
    if (!running && !keys.isEmpty() && breaker.isClosed()) {
      running = true;
      Thread.ofVirtual().name("key-copier").start(this::run);
    }
  }

  private void run() {
    for (var next = poll(); next != null; next = poll()) {
      var key = next;
      // a key that cannot be copied says nothing about appends, so it does not open the breaker
      boolean copied =
          breaker
              .withTimeout(() -> primary.completeKey(key))
              .handle((result, _) -> result != null && !(result instanceof ClaimResult.Unavailable))
              .join();
      if (!copied) {
        retryLater(key);
        return;
      }
    }
  }

  /** Returns the next key to copy; null when the thread must end. */
  private synchronized @Nullable UsedKey poll() {
    var key = breaker.isClosed() ? keys.poll() : null;
    running = key != null;
    return key;
  }

  /** Ends the thread for a while; the key goes to the end, so that it does not hold up others. */
  private synchronized void retryLater(UsedKey key) {
    keys.add(key);
    running = false;
    try {
      scheduler.schedule(RETRY_DELAY, this::start);
    } catch (RuntimeException _) {
      // the scheduler is shutting down: the keys are copied after the next start
    }
  }

  /** Ends the thread; keys that are not copied are copied after the next start. */
  synchronized void close() {
    keys.clear();
  }
}
