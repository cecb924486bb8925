package dev.sluice.api.config;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.port.DeadLetterStore;
import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.WriteResult;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.SmartLifecycle;

/**
 * Moves the dead letters that an earlier release kept in the spool to the dead letter store: at the
 * start and then every minute, because gateways of that release may still run, and the store may be
 * unavailable. A dead letter that was moved twice is the same row.
 */
final class DeadLetterMigration implements SmartLifecycle {
  private static final Logger LOG = LoggerFactory.getLogger(DeadLetterMigration.class);
  private static final Duration INTERVAL = Duration.ofMinutes(1);

  /** As delivery: starts when the spool is open, stops before it closes. */
  private static final int PHASE = 0;

  private final Consumer<Predicate<List<DeadLetter>>> spool;
  private final DeadLetterStore deadLetterStore;
  private final Scheduler scheduler;
  private volatile boolean running;

  /**
   * @param spool moves the dead letters of the spool with a writer, which returns whether all are
   *     written
   */
  DeadLetterMigration(
      Consumer<Predicate<List<DeadLetter>>> spool,
      DeadLetterStore deadLetterStore,
      Scheduler scheduler) {
    this.spool = spool;
    this.deadLetterStore = deadLetterStore;
    this.scheduler = scheduler;
  }

  @Override
  public void start() {
    running = true;
    startMove();
  }

  private void startMove() {
    var _ = Thread.ofVirtual().name("dead-letter-migration").start(this::move);
  }

  private void move() {
    try {
      spool.accept(this::write);
    } catch (RuntimeException e) {
      LOG.debug("dead letters not moved, retrying: {}", e.toString());
    }
    if (running) {
      scheduler.schedule(INTERVAL, this::startMove);
    }
  }

  private boolean write(List<DeadLetter> deadLetters) {
    try {
      if (running && deadLetterStore.adopt(deadLetters) instanceof WriteResult.Written) {
        return true;
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
    LOG.warn("{} or more dead letters stay in the spool, retrying", deadLetters.size());
    return false;
  }

  @Override
  public void stop() {
    running = false;
  }

  @Override
  public boolean isRunning() {
    return running;
  }

  @Override
  public int getPhase() {
    return PHASE;
  }
}
