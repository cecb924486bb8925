package dev.sluice.engines;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps one engine running: starts it, starts it again when it dies, ends it when told to.
 *
 * <p>{@code lock} guards {@code host}, {@code reign} and {@code closed}; nobody waits for an engine
 * while holding it. A reign is the time between a wish that the engine run and the wish that it
 * end; whoever restarts a dead engine stops as soon as the reign it began in is over.
 */
final class Supervisor implements AutoCloseable {

  /** How one engine is started. */
  interface Engine {

    /** For messages, for example {@code "Redis"}. */
    String name();

    /** The file that is run or loaded. */
    Path program();

    /** Begins one life of the engine; quick, leaves no process behind when it throws. */
    HostProcess launch();

    /**
     * Returns when the engine answers.
     *
     * @throws IOException when it ended or is too slow
     */
    void awaitReady(HostProcess host) throws IOException, InterruptedException;
  }

  private static final Logger LOG = LoggerFactory.getLogger(Supervisor.class);

  private static final Duration INITIAL_RESTART_DELAY = Duration.ofMillis(100);
  private static final Duration MAX_RESTART_DELAY = Duration.ofSeconds(10);

  /** An engine that lived that long is restarted without delay when it dies. */
  private static final Duration STABLE_UPTIME = Duration.ofSeconds(30);

  /** For the host's JVM to come up, on a machine that is busy with other things. */
  private static final Duration HOST_START_TIMEOUT = Duration.ofSeconds(60);

  private final Engine engine;
  private final EngineDataDir dataDir;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition generationChanged = lock.newCondition();
  private @Nullable HostProcess host; // null while nothing runs
  private boolean ready;
  private long generation;
  private boolean closed;

  Supervisor(Engine engine, EngineDataDir dataDir) {
    this.engine = engine;
    this.dataDir = dataDir;
  }

  /**
   * Starts the engine and returns when it answers.
   *
   * @throws EngineStartException when it cannot be started; nothing is left running then
   */
  void start() {
    long startedGeneration;
    lock.lock();
    try {
      if (closed) {
        throw new IllegalStateException(engine.name() + " is closed");
      }
      startedGeneration = ++generation;
    } finally {
      lock.unlock();
    }
    try {
      launchAndWatch(startedGeneration, Duration.ZERO);
    } catch (EngineStartException e) {
      stop();
      throw e;
    } catch (InterruptedException e) {
      stop();
      Thread.currentThread().interrupt();
      throw new EngineStartException("interrupted while starting " + engine.name(), e);
    }
  }

  /** One life: returns when the engine answers, or when its reign is over. */
  private void launchAndWatch(long expectedGeneration, Duration previousDelay)
      throws InterruptedException {
    HostProcess launched;
    lock.lock();
    try {
      if (generation != expectedGeneration) {
        return;
      }
      launched = engine.launch();
      host = launched;
      ready = false;
    } finally {
      lock.unlock();
    }
    try {
      dataDir.recordProcesses(List.of(launched.process().toHandle()));
      ProcessHandle process = launched.awaitEngine(HOST_START_TIMEOUT);
      dataDir.recordProcesses(List.of(process, launched.process().toHandle()));
      engine.awaitReady(launched);
    } catch (EngineStartException | InterruptedException e) {
      launched.stop();
      throw e;
    } catch (IOException e) {
      launched.stop();
      throw new EngineStartException(
          "%s cannot be started from %s (%s); all it said is in %s"
              .formatted(engine.name(), engine.program(), e.getMessage(), dataDir.runPath("")),
          e);
    }
    lock.lock();
    try {
      ready = generation == expectedGeneration;
    } finally {
      lock.unlock();
    }
    long since = System.nanoTime();
    Thread.ofVirtual()
        .name(engine.name() + "-watch")
        .start(
            () -> {
              launched.process().onExit().join();
              Duration uptime = Duration.ofNanos(System.nanoTime() - since);
              restart(
                  expectedGeneration,
                  launched,
                  uptime.compareTo(STABLE_UPTIME) > 0 ? Duration.ZERO : nextDelay(previousDelay));
            });
  }

  private void restart(long expectedGeneration, HostProcess dead, Duration initialDelay) {
    // the host's death is not the engine's when somebody killed the host
    dead.destroyForcibly();
    Duration delay = initialDelay;
    String lastReason = "";
    while (true) {
      lock.lock();
      try {
        if (generation != expectedGeneration) {
          return;
        }
        ready = false;
        if (lastReason.isEmpty()) {
          LOG.warn("{} died and is started again: {}", engine.name(), dead.output().tail(3));
        }
        long remaining = delay.toNanos();
        while (remaining > 0 && generation == expectedGeneration) {
          remaining = generationChanged.awaitNanos(remaining);
        }
      } catch (InterruptedException _) {
        return; // nobody interrupts this thread
      } finally {
        lock.unlock();
      }
      try {
        launchAndWatch(expectedGeneration, delay);
        return;
      } catch (EngineStartException e) {
        String reason = String.valueOf(e.getMessage());
        if (isSuperseded(expectedGeneration)) {
          return; // it failed because it was told to end
        }
        if (reason.equals(lastReason)) {
          LOG.debug("{} still cannot be started: {}", engine.name(), reason);
        } else {
          LOG.warn("{} cannot be started again, trying on: {}", engine.name(), reason);
        }
        lastReason = reason;
      } catch (InterruptedException _) {
        return;
      }
      delay = nextDelay(delay);
    }
  }

  private boolean isSuperseded(long expectedGeneration) {
    lock.lock();
    try {
      return generation != expectedGeneration;
    } finally {
      lock.unlock();
    }
  }

  private static Duration nextDelay(Duration delay) {
    Duration doubled = delay.isZero() ? INITIAL_RESTART_DELAY : delay.multipliedBy(2);
    return doubled.compareTo(MAX_RESTART_DELAY) > 0 ? MAX_RESTART_DELAY : doubled;
  }

  /** The running engine's process id, or -1 while there is none. */
  long pid() {
    HostProcess current = current();
    return current == null ? -1 : current.enginePid();
  }

  boolean alive() {
    lock.lock();
    try {
      return ready && host != null && host.alive();
    } finally {
      lock.unlock();
    }
  }

  /** kill -9, as a failure would. */
  void kill() {
    HostProcess current = current();
    if (current != null) {
      current.kill();
    }
  }

  /** Ends the engine and returns when it is gone; {@link #start} brings it back. */
  void stop() {
    HostProcess current;
    lock.lock();
    try {
      generation++;
      generationChanged.signalAll();
      current = host;
      host = null;
      ready = false;
    } finally {
      lock.unlock();
    }
    if (current != null) {
      current.stop();
    }
  }

  private @Nullable HostProcess current() {
    lock.lock();
    try {
      return host;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void close() {
    lock.lock();
    try {
      if (closed) {
        return;
      }
      closed = true;
    } finally {
      lock.unlock();
    }
    stop();
    dataDir.close();
  }
}
