package dev.sluice.api.boot;

import dev.sluice.core.search.EmbeddingBackfill;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.SmartLifecycle;

/**
 * Has templates embedded on a thread of its own, which takes no more than its share of a core and
 * for which nobody waits.
 */
final class EmbeddingsLifecycle implements SmartLifecycle {
  private static final Logger LOG = LoggerFactory.getLogger(EmbeddingsLifecycle.class);

  /** After a failure; doubled with each that follows. */
  private static final Duration INITIAL_DELAY = Duration.ofSeconds(1);

  private static final Duration MAX_DELAY = Duration.ofMinutes(1);

  /** What is embedded when the end comes may be finished. */
  private static final Duration STOP_TIMEOUT = Duration.ofSeconds(2);

  private final EmbeddingBackfill embeddings;
  private final Duration interval;
  private final double cpuShare;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition stopRequested = lock.newCondition();
  private @Nullable Thread thread;
  private boolean stopping;

  /**
   * @param interval between looks for templates without vectors
   * @param cpuShare of one core, above 0 to 1
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
      } catch (RuntimeException | Error e) { // such as no memory: the next round may have some
        if (!failing) {
          LOG.warn("templates are embedded later: {}", e.getMessage());
          failing = true;
        }
        running = sleepQuietly(delay);
        delay = delay.multipliedBy(2).compareTo(MAX_DELAY) > 0 ? MAX_DELAY : delay.multipliedBy(2);
      }
    }
  }

  /** As long after each template that this one is the share of the time; false at the end. */
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

  /** Whether to go on after that. */
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
