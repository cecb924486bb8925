package dev.sluice.engines;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One run of an engine: the process of its {@link EngineHost} and, once announced, the process of
 * the engine. Both are the same process when the engine is a library.
 *
 * <p>The run ends with {@link #stop}, or when the process exits; {@link #process} shows the exit.
 */
final class HostProcess {

  /**
   * The first word of the line that the ClickHouse start-up query prints when it listens; two ports
   * follow.
   */
  static final String READY = "READY";

  /** The time in seconds that {@link #stop} waits; a host stops its engine in less. */
  static final int STOP_TIMEOUT_SECONDS = 10;

  private static final Logger LOG = LoggerFactory.getLogger(HostProcess.class);

  private static final Duration KILL_TIMEOUT = Duration.ofSeconds(5);

  private final Process process;
  private final EngineOutput output;
  private final CompletableFuture<ProcessHandle> engine = new CompletableFuture<>();
  private final CompletableFuture<List<Integer>> ready = new CompletableFuture<>();

  private HostProcess(Process process, EngineOutput output) {
    this.process = process;
    this.output = output;
  }

  /**
   * Starts a host.
   *
   * @param arguments the arguments of {@link EngineHost}
   * @throws EngineStartException when the JVM of the host cannot be started
   */
  static HostProcess start(
      EngineDataDir dataDir, SystemEnvironment environment, List<String> arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-Xmx32m");
    command.add("-Xint");
    command.add("-XX:+UseSerialGC");
    command.add("-XX:-UsePerfData");
    command.add("-XX:-CreateCoredumpOnCrash");
    command.add("-XX:-PrintWarnings"); // a broken library has a better message of its own
    command.add("-XX:ErrorFile=" + dataDir.runPath("crash.log"));
    command.add("--enable-native-access=ALL-UNNAMED");
    command.add("-cp");
    command.add(dataDir.hostClasses().toString());
    command.add(EngineHost.class.getName());
    command.addAll(arguments);

    EngineOutput output = new EngineOutput(dataDir.runPath("output.log"));
    Process process;
    try {
      ProcessBuilder builder = new ProcessBuilder(command).directory(dataDir.runPath("").toFile());
      environment.restrict(builder.environment());
      process = builder.start();
    } catch (IOException e) {
      output.close();
      throw new EngineStartException("cannot start a child JVM (" + e.getMessage() + ")", e);
    }
    HostProcess host = new HostProcess(process, output);
    // platform threads, because a read from a pipe pins the carrier of a virtual thread
    Thread stderr = Thread.ofPlatform().daemon().name("engine-stderr").start(host::readStderr);
    Thread.ofPlatform().daemon().name("engine-stdout").start(() -> host.readStdout(stderr));
    return host;
  }

  Process process() {
    return process;
  }

  boolean alive() {
    return process.isAlive() && engineHandle().isAlive();
  }

  EngineOutput output() {
    return output;
  }

  /** Waits until the process of the engine is known. */
  ProcessHandle awaitEngine(Duration timeout) throws IOException, InterruptedException {
    return await(engine, timeout);
  }

  /** Waits for the ports that follow {@link #READY}. */
  List<Integer> awaitPorts(Duration timeout) throws IOException, InterruptedException {
    return await(ready, timeout);
  }

  private <T> T await(CompletableFuture<T> future, Duration timeout)
      throws IOException, InterruptedException {
    try {
      return future.get(timeout.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException | TimeoutException _) {
      throw startFailure(timeout);
    }
  }

  /**
   * Waits up to {@code timeout}. Returns true when the engine has exited and its output has been
   * read.
   */
  boolean awaitExit(Duration timeout) throws InterruptedException {
    try {
      ready.get(timeout.toMillis(), TimeUnit.MILLISECONDS);
      return false;
    } catch (ExecutionException _) {
      return true;
    } catch (TimeoutException _) {
      return false;
    }
  }

  /**
   * Returns an exception with the reason why the engine does not respond; the reason is the last
   * output of the engine.
   */
  IOException startFailure(Duration timeout) {
    return new IOException(
        (process.isAlive()
                ? "not ready after %d seconds: ".formatted(timeout.toSeconds())
                : "ended with status %d: ".formatted(process.exitValue()))
            + output.tail(3));
  }

  /** Kills the engine with SIGKILL. */
  void kill() {
    engineHandle().destroyForcibly();
  }

  long enginePid() {
    return engineHandle().pid();
  }

  private ProcessHandle engineHandle() {
    return engine.isDone() && !engine.isCompletedExceptionally()
        ? engine.resultNow()
        : process.toHandle();
  }

  /**
   * Stops the engine, kills it when it takes longer than {@link #STOP_TIMEOUT_SECONDS}, and returns
   * when its process has ended. An interrupt ends the wait and remains set.
   */
  void stop() {
    try {
      process.getOutputStream().close();
    } catch (IOException _) {
      // the pipe is closed, or the process has ended
    }
    try {
      process.waitFor(STOP_TIMEOUT_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
    destroyForcibly();
  }

  /**
   * Kills the engine and its host. Both have ended afterwards, also when the host died before its
   * engine.
   */
  void destroyForcibly() {
    ProcessHandle handle = engineHandle();
    handle.destroyForcibly();
    // unlike Process.destroyForcibly, leaves unread output readable
    process.toHandle().destroyForcibly();
    try {
      handle
          .onExit()
          .thenCombine(process.onExit(), (_, _) -> true)
          .get(KILL_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException | TimeoutException _) {
      output.add("process " + handle.pid() + " does not exit after SIGKILL");
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private void readStdout(Thread stderr) {
    try (BufferedReader lines = process.inputReader()) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        String[] fields = line.split("\\s", -1);
        if (fields[0].equals(EngineHost.PID)) {
          if (fields.length > 2 && fields[2].equals(EngineHost.UNCONFINED)) {
            LOG.warn(
                "ClickHouse is not confined to its directories, since this system has no Landlock:"
                    + " its users can read all files that the user of the gateway can read");
          }
          ProcessHandle.of(Long.parseLong(fields[1])).ifPresent(engine::complete);
        } else if (fields[0].equals(READY) && fields.length == 3) {
          ready.complete(List.of(Integer.parseInt(fields[1]), Integer.parseInt(fields[2])));
        } else {
          output.add(line);
        }
      }
    } catch (IOException _) {
      // equivalent to the end of the stream
    }
    // The reason is on stderr, which can lag behind: its output is read before the futures
    // complete. The wait is bounded, since an engine that survives its host still holds that pipe.
    process.onExit().join();
    try {
      stderr.join(KILL_TIMEOUT);
    } catch (InterruptedException _) {
      return;
    }
    IOException exit = new IOException("ended with exit status " + process.exitValue());
    engine.completeExceptionally(exit);
    ready.completeExceptionally(exit);
  }

  private void readStderr() {
    try (BufferedReader lines = process.errorReader()) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        output.add(line);
      }
    } catch (IOException _) {
      // equivalent to the end of the stream
    }
    output.close();
  }
}
