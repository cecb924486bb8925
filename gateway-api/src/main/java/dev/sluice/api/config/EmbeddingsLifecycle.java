package dev.sluice.api.config;

import dev.sluice.query.search.EmbeddingBackfill;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.SmartLifecycle;

/**
 * Runs the embedding backfill on a thread of its own, which uses at most its share of one core.
 * Ingest and delivery never wait for it.
 */
final class EmbeddingsLifecycle implements SmartLifecycle {
  private static final Logger LOG = LoggerFactory.getLogger(EmbeddingsLifecycle.class);

  /** The delay after a failure; it doubles with each further failure in a row. */
  private static final Duration INITIAL_DELAY = Duration.ofSeconds(1);

  private static final Duration MAX_DELAY = Duration.ofMinutes(1);

  /** Time in which a running embedding may finish before it is interrupted. */
  private static final Duration STOP_TIMEOUT = Duration.ofSeconds(2);

  private final EmbeddingBackfill embeddings;
  private final Duration interval;
  private final double cpuShare;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition stopRequested = lock.newCondition();
  private @Nullable Thread thread;
  private boolean stopping;

  /**
   * @param interval the interval between two checks for templates without vectors
   * @param cpuShare the maximum share of one core, above 0 and at most 1
   */
  EmbeddingsLifecycle(EmbeddingBackfill embeddings, Duration interval, double cpuShare) {
    this.embeddings = embeddings;
    this.interval = interval;
    this.cpuShare = cpuShare;
  }

  @Override
  public synchronized void start() {
    if (thread == null) {
      stopping = false;
      thread = Thread.ofPlatform().daemon().name("embeddings").start(this::run);
    }
  }

  private void run() {
    var delay = INITIAL_DELAY;
    boolean failing = false;
    boolean running = true;
    while (running) {
      try {
        boolean upToDate = embeddings.embedNextPage(this::throttle);
        delay = INITIAL_DELAY;
        failing = false;
        running = !upToDate || sleep(interval);
      } catch (InterruptedException _) {
        return;
      } catch (RuntimeException | Error e) { // an OutOfMemoryError, too, can be temporary
        if (!failing) {
          LOG.warn("embedding of templates failed, retrying: {}", e.getMessage());
          failing = true;
        }
        running = sleepQuietly(delay);
        delay = delay.multipliedBy(2).compareTo(MAX_DELAY) > 0 ? MAX_DELAY : delay.multipliedBy(2);
      }
    }
  }

  /** Sleeps in proportion to the busy time, to keep the CPU share; false when stopping. */
  private boolean throttle(Duration busyTime) throws InterruptedException {
    return sleep(throttle(busyTime, cpuShare));
  }

  static Duration throttle(Duration busyTime, double cpuShare) {
    return Duration.ofNanos((long) (busyTime.toNanos() * (1 / cpuShare - 1)));
  }

  private boolean sleepQuietly(Duration time) {
    try {
      return sleep(time);
    } catch (InterruptedException _) {
      return false;
    }
  }

  /** Sleeps; false when stopping. */
  private boolean sleep(Duration time) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      long left = time.toNanos();
      while (!stopping && left > 0) {
        left = stopRequested.awaitNanos(left);
      }
      return !stopping;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public synchronized void stop() {
    var running = thread;
    if (running == null) {
      return;
    }
    lock.lock();
    try {
      stopping = true;
      stopRequested.signalAll();
    } finally {
      lock.unlock();
    }
    try {
      if (!running.join(STOP_TIMEOUT)) {
        running.interrupt();
        running.join(TimeUnit.SECONDS.toMillis(1));
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
    thread = null;
  }

  @Override
  public synchronized boolean isRunning() {
    return thread != null;
  }
}
