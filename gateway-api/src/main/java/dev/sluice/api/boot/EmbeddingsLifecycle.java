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
  private static final Duration FIRST_PAUSE = Duration.ofSeconds(1);

  private static final Duration LONGEST_PAUSE = Duration.ofMinutes(1);

  /** What is embedded when the end comes may be finished. */
  private static final Duration PATIENCE = Duration.ofSeconds(2);

  private final EmbeddingBackfill embeddings;
  private final Duration interval;
  private final double share;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition end = lock.newCondition();
  private @Nullable Thread thread;
  private boolean ending;

  /**
   * @param interval between looks for templates without vectors
   * @param share of one core, above 0 to 1
   */
  EmbeddingsLifecycle(EmbeddingBackfill embeddings, Duration interval, double share) {
    this.embeddings = embeddings;
    this.interval = interval;
    this.share = share;
  }

  @Override
  public synchronized void start() {
    if (thread == null) {
      ending = false;
      thread = Thread.ofPlatform().daemon().name("embeddings").start(this::run);
    }
  }

  private void run() {
    var pause = FIRST_PAUSE;
    boolean troubled = false;
    boolean going = true;
    while (going) {
      try {
        boolean upToDate = embeddings.embedNextPage(this::rest);
        pause = FIRST_PAUSE;
        troubled = false;
        going = !upToDate || wait(interval);
      } catch (InterruptedException _) {
        return;
      } catch (RuntimeException | Error e) { // such as no memory: the next round may have some
        if (!troubled) {
          LOG.warn("templates are embedded later: {}", e.getMessage());
          troubled = true;
        }
        going = waitQuietly(pause);
        pause =
            pause.multipliedBy(2).compareTo(LONGEST_PAUSE) > 0
                ? LONGEST_PAUSE
                : pause.multipliedBy(2);
      }
    }
  }

  /** As long after each template that this one is the share of the time; false at the end. */
  private boolean rest(Duration before) throws InterruptedException {
    return wait(rest(before, share));
  }

  static Duration rest(Duration before, double share) {
    return Duration.ofNanos((long) (before.toNanos() * (1 / share - 1)));
  }

  private boolean waitQuietly(Duration time) {
    try {
      return wait(time);
    } catch (InterruptedException _) {
      return false;
    }
  }

  /** Whether to go on after that. */
  private boolean wait(Duration time) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      long left = time.toNanos();
      while (!ending && left > 0) {
        left = end.awaitNanos(left);
      }
      return !ending;
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
      ending = true;
      end.signalAll();
    } finally {
      lock.unlock();
    }
    try {
      if (!running.join(PATIENCE)) {
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
