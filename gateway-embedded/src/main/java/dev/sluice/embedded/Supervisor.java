package dev.sluice.embedded;

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

  private static final Duration FIRST_PAUSE = Duration.ofMillis(100);
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(10);

  /** An engine that lived that long is restarted without delay when it dies. */
  private static final Duration STEADY = Duration.ofSeconds(30);

  /** For the host's JVM to come up, on a machine that is busy with other things. */
  private static final Duration HOST_PATIENCE = Duration.ofSeconds(60);

  private final Engine engine;
  private final DataFolder folder;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition reignEnded = lock.newCondition();
  private @Nullable HostProcess host; // null while nothing runs
  private boolean ready;
  private long reign;
  private boolean closed;

  Supervisor(Engine engine, DataFolder folder) {
    this.engine = engine;
    this.folder = folder;
  }

  /**
   * Starts the engine and returns when it answers.
   *
   * @throws EngineFailed when it cannot be started; nothing is left running then
   */
  void start() {
    long mine;
    lock.lock();
    try {
      if (closed) {
        throw new IllegalStateException(engine.name() + " is closed");
      }
      mine = ++reign;
    } finally {
      lock.unlock();
    }
    try {
      live(mine, Duration.ZERO);
    } catch (EngineFailed e) {
      stop();
      throw e;
    } catch (InterruptedException e) {
      stop();
      Thread.currentThread().interrupt();
      throw new EngineFailed("interrupted while starting " + engine.name(), e);
    }
  }

  /** One life: returns when the engine answers, or when its reign is over. */
  private void live(long mine, Duration pauseBefore) throws InterruptedException {
    HostProcess born;
    lock.lock();
    try {
      if (reign != mine) {
        return;
      }
      born = engine.launch();
      host = born;
      ready = false;
    } finally {
      lock.unlock();
    }
    try {
      folder.remember(List.of(born.process().toHandle()));
      ProcessHandle process = born.engine(HOST_PATIENCE);
      folder.remember(List.of(process, born.process().toHandle()));
      engine.awaitReady(born);
    } catch (EngineFailed | InterruptedException e) {
      born.end();
      throw e;
    } catch (IOException e) {
      born.end();
      throw new EngineFailed(
          "%s cannot be started from %s (%s); all it said is in %s"
              .formatted(engine.name(), engine.program(), e.getMessage(), folder.run("")),
          e);
    }
    lock.lock();
    try {
      ready = reign == mine;
    } finally {
      lock.unlock();
    }
    long since = System.nanoTime();
    Thread.ofVirtual()
        .name(engine.name() + "-watch")
        .start(
            () -> {
              born.process().onExit().join();
              Duration lived = Duration.ofNanos(System.nanoTime() - since);
              restart(
                  mine, born, lived.compareTo(STEADY) > 0 ? Duration.ZERO : longer(pauseBefore));
            });
  }

  private void restart(long mine, HostProcess dead, Duration firstPause) {
    // the host's death is not the engine's when somebody killed the host
    dead.endForcibly();
    Duration pause = firstPause;
    String said = "";
    while (true) {
      lock.lock();
      try {
        if (reign != mine) {
          return;
        }
        ready = false;
        if (said.isEmpty()) {
          LOG.warn("{} died and is started again: {}", engine.name(), dead.output().tail(3));
        }
        long left = pause.toNanos();
        while (left > 0 && reign == mine) {
          left = reignEnded.awaitNanos(left);
        }
      } catch (InterruptedException _) {
        return; // nobody interrupts this thread
      } finally {
        lock.unlock();
      }
      try {
        live(mine, pause);
        return;
      } catch (EngineFailed e) {
        String reason = String.valueOf(e.getMessage());
        if (over(mine)) {
          return; // it failed because it was told to end
        }
        if (reason.equals(said)) {
          LOG.debug("{} still cannot be started: {}", engine.name(), reason);
        } else {
          LOG.warn("{} cannot be started again, trying on: {}", engine.name(), reason);
        }
        said = reason;
      } catch (InterruptedException _) {
        return;
      }
      pause = longer(pause);
    }
  }

  private boolean over(long mine) {
    lock.lock();
    try {
      return reign != mine;
    } finally {
      lock.unlock();
    }
  }

  private static Duration longer(Duration pause) {
    Duration doubled = pause.isZero() ? FIRST_PAUSE : pause.multipliedBy(2);
    return doubled.compareTo(LONGEST_PAUSE) > 0 ? LONGEST_PAUSE : doubled;
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
      reign++;
      reignEnded.signalAll();
      current = host;
      host = null;
      ready = false;
    } finally {
      lock.unlock();
    }
    if (current != null) {
      current.end();
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
    folder.close();
  }
}
