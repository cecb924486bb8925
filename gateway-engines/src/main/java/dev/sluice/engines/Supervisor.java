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
 * Keeps one engine running: starts it, restarts it after a crash, and stops it on request.
 *
 * <p>{@code lock} guards {@code host}, {@code ready}, {@code generation} and {@code closed}; no
 * thread waits for an engine while it holds the lock. Each {@link #start} and each {@link #stop}
 * begins a new generation; a restart of a dead engine stops as soon as its generation is over.
 */
final class Supervisor implements AutoCloseable {

  /** The launch procedure of one engine. */
  interface Engine {

    /** The name of the engine in messages, for example {@code "Redis"}. */
    String name();

    /** The executable that is run, or the shared library that is loaded. */
    Path program();

    /**
     * Launches one process of the engine. It returns quickly, and leaves no process behind when it
     * throws an exception.
     */
    HostProcess launch();

    /**
     * Waits until the engine responds.
     *
     * @throws IOException when the engine exits or does not respond in time
     */
    void awaitReady(HostProcess host) throws IOException, InterruptedException;
  }

  private static final Logger LOG = LoggerFactory.getLogger(Supervisor.class);

  private static final Duration INITIAL_RESTART_DELAY = Duration.ofMillis(100);
  private static final Duration MAX_RESTART_DELAY = Duration.ofSeconds(10);

  /** The uptime after which a dead engine is restarted without delay. */
  private static final Duration STABLE_UPTIME = Duration.ofSeconds(30);

  /** The time that the JVM of the host may take to start; long, because the machine can be busy. */
  private static final Duration HOST_START_TIMEOUT = Duration.ofSeconds(60);

  private final Engine engine;
  private final EngineDataDir dataDir;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition generationChanged = lock.newCondition();
  private @Nullable HostProcess host; // null while no process runs
  private boolean ready;
  private long generation;
  private boolean closed;

  Supervisor(Engine engine, EngineDataDir dataDir) {
    this.engine = engine;
    this.dataDir = dataDir;
  }

  /**
   * Starts the engine and returns when it responds.
   *
   * @throws EngineStartException when it cannot be started; no process is left running then
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

  /**
   * Launches the engine once. It returns when the engine responds, or when the generation is over.
   */
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
          "%s cannot be started from %s (%s); its full output is in %s"
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
    // a host that was killed can leave its engine running
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
          LOG.warn("{} died, restarting it: {}", engine.name(), dead.output().tail(3));
        }
        long remaining = delay.toNanos();
        while (remaining > 0 && generation == expectedGeneration) {
          remaining = generationChanged.awaitNanos(remaining);
        }
      } catch (InterruptedException _) {
        return; // no code interrupts this thread
      } finally {
        lock.unlock();
      }
      try {
        launchAndWatch(expectedGeneration, delay);
        return;
      } catch (EngineStartException e) {
        String reason = String.valueOf(e.getMessage());
        if (isSuperseded(expectedGeneration)) {
          return; // the launch failed because the engine was stopped
        }
        if (reason.equals(lastReason)) {
          LOG.debug("{} restart failed again, retrying: {}", engine.name(), reason);
        } else {
          LOG.warn("{} restart failed, retrying: {}", engine.name(), reason);
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

  /** Returns the process id of the running engine, or -1 while there is none. */
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

  /** Kills the engine with SIGKILL, as in a crash. */
  void kill() {
    HostProcess current = current();
    if (current != null) {
      current.kill();
    }
  }

  /** Stops the engine and returns when its process has ended; {@link #start} starts it again. */
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
