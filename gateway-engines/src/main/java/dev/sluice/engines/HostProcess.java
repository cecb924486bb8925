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

/**
 * One life of an engine: its {@link EngineHost} and, once announced, the engine itself.
 *
 * <p>Ended by {@link #stop}, or by itself; {@link #process} tells. The two may be one process.
 */
final class HostProcess {

  /** What the ClickHouse start-up query prints when it listens; two ports follow. */
  static final String READY = "READY";

  /** A host ends its engine in less. */
  static final int STOP_TIMEOUT_SECONDS = 10;

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
   * @param arguments of {@link EngineHost}
   * @throws EngineStartException when not even the host's JVM can be started
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
    command.add("-XX:-PrintWarnings"); // about a broken library, whose own error is the better one
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
    // platform threads: a read from a pipe would hold a virtual thread's carrier for good
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

  /** Waits until the engine's process is known. */
  ProcessHandle awaitEngine(Duration timeout) throws IOException, InterruptedException {
    return await(engine, timeout);
  }

  /** Waits for the ports behind {@link #READY}. */
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

  /** Waits a little; whether it has ended and all it said has been read. */
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

  /** Why it does not answer, from its own mouth as far as possible. */
  IOException startFailure(Duration timeout) {
    return new IOException(
        (process.isAlive()
                ? "not ready after %d seconds: ".formatted(timeout.toSeconds())
                : "ended with status %d: ".formatted(process.exitValue()))
            + output.tail(3));
  }

  /** kill -9 of the engine. */
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
   * Lets the engine end, kills it when it takes too long, and returns when it is gone. An interrupt
   * shortens the patience and stays set.
   */
  void stop() {
    try {
      process.getOutputStream().close();
    } catch (IOException _) {
      // closed already, or nobody reads
    }
    try {
      process.waitFor(STOP_TIMEOUT_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
    destroyForcibly();
  }

  /** Also for a host that died without its engine: none of the two is alive afterwards. */
  void destroyForcibly() {
    ProcessHandle handle = engineHandle();
    handle.destroyForcibly();
    process.toHandle().destroyForcibly(); // unlike Process, leaves unread output to be read
    try {
      handle
          .onExit()
          .thenCombine(process.onExit(), (_, _) -> true)
          .get(KILL_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException | TimeoutException _) {
      output.add("process " + handle.pid() + " does not end");
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private void readStdout(Thread stderr) {
    try (BufferedReader lines = process.inputReader()) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        String[] fields = line.split("\\s", -1);
        if (fields[0].equals(EngineHost.PID)) {
          ProcessHandle.of(Long.parseLong(fields[1])).ifPresent(engine::complete);
        } else if (fields[0].equals(READY) && fields.length == 3) {
          ready.complete(List.of(Integer.parseInt(fields[1]), Integer.parseInt(fields[2])));
        } else {
          output.add(line);
        }
      }
    } catch (IOException _) {
      // as good as its end
    }
    // the reason is on stderr, which may lag behind: let it be read before anyone asks; bounded,
    // since an engine that survived its host still holds that pipe
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
      // as good as its end
    }
    output.close();
  }
}
