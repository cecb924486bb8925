package dev.sluice.embedded;

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
 * <p>Ended by {@link #end}, or by itself; {@link #process} tells. The two may be one process.
 */
final class HostProcess {

  /** What the ClickHouse start-up query prints when it listens; two ports follow. */
  static final String READY = "READY";

  /** A host ends its engine in less. */
  static final int END_SECONDS = 10;

  private static final Duration LAST_WAIT = Duration.ofSeconds(5);

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
   * @throws EngineFailed when not even the host's JVM can be started
   */
  static HostProcess start(DataFolder folder, Environment environment, List<String> arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-Xmx32m");
    command.add("-Xint");
    command.add("-XX:+UseSerialGC");
    command.add("-XX:-UsePerfData");
    command.add("-XX:-CreateCoredumpOnCrash");
    command.add("-XX:-PrintWarnings"); // about a broken library, whose own error is the better one
    command.add("-XX:ErrorFile=" + folder.run("crash.log"));
    command.add("--enable-native-access=ALL-UNNAMED");
    command.add("-cp");
    command.add(folder.hostClasses().toString());
    command.add(EngineHost.class.getName());
    command.addAll(arguments);

    EngineOutput output = new EngineOutput(folder.run("output.log"));
    Process process;
    try {
      ProcessBuilder builder = new ProcessBuilder(command).directory(folder.run("").toFile());
      environment.strip(builder.environment());
      process = builder.start();
    } catch (IOException e) {
      output.close();
      throw new EngineFailed("cannot start a child JVM (" + e.getMessage() + ")", e);
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
    return process.isAlive() && known().isAlive();
  }

  EngineOutput output() {
    return output;
  }

  /** Waits until the engine's process is known. */
  ProcessHandle engine(Duration patience) throws IOException, InterruptedException {
    return await(engine, patience);
  }

  /** Waits for the ports behind {@link #READY}. */
  List<Integer> ready(Duration patience) throws IOException, InterruptedException {
    return await(ready, patience);
  }

  private <T> T await(CompletableFuture<T> future, Duration patience)
      throws IOException, InterruptedException {
    try {
      return future.get(patience.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException | TimeoutException _) {
      throw notReady(patience);
    }
  }

  /** Waits a little; whether it has ended and all it said has been read. */
  boolean ended(Duration patience) throws InterruptedException {
    try {
      ready.get(patience.toMillis(), TimeUnit.MILLISECONDS);
      return false;
    } catch (ExecutionException _) {
      return true;
    } catch (TimeoutException _) {
      return false;
    }
  }

  /** Why it does not answer, from its own mouth as far as possible. */
  IOException notReady(Duration patience) {
    return new IOException(
        (process.isAlive()
                ? "not ready after %d seconds: ".formatted(patience.toSeconds())
                : "ended with status %d: ".formatted(process.exitValue()))
            + output.tail(3));
  }

  /** kill -9 of the engine. */
  void kill() {
    known().destroyForcibly();
  }

  long enginePid() {
    return known().pid();
  }

  private ProcessHandle known() {
    return engine.isDone() && !engine.isCompletedExceptionally()
        ? engine.resultNow()
        : process.toHandle();
  }

  /**
   * Lets the engine end, kills it when it takes too long, and returns when it is gone. An interrupt
   * shortens the patience and stays set.
   */
  void end() {
    try {
      process.getOutputStream().close();
    } catch (IOException _) {
      // closed already, or nobody reads
    }
    try {
      process.waitFor(END_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
    endForcibly();
  }

  /** Also for a host that died without its engine: none of the two is alive afterwards. */
  void endForcibly() {
    ProcessHandle handle = known();
    handle.destroyForcibly();
    process.toHandle().destroyForcibly(); // unlike Process, leaves unread output to be read
    try {
      handle
          .onExit()
          .thenCombine(process.onExit(), (_, _) -> true)
          .get(LAST_WAIT.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException | TimeoutException _) {
      output.add("process " + handle.pid() + " does not end");
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private void readStdout(Thread stderr) {
    try (BufferedReader lines = process.inputReader()) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        String[] words = line.split("\\s", -1);
        if (words[0].equals(EngineHost.PID)) {
          ProcessHandle.of(Long.parseLong(words[1])).ifPresent(engine::complete);
        } else if (words[0].equals(READY) && words.length == 3) {
          ready.complete(List.of(Integer.parseInt(words[1]), Integer.parseInt(words[2])));
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
      stderr.join(LAST_WAIT);
    } catch (InterruptedException _) {
      return;
    }
    IOException ended = new IOException("ended with exit status " + process.exitValue());
    engine.completeExceptionally(ended);
    ready.completeExceptionally(ended);
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
