package dev.sluice.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A JVM with the options that {@code make run} gives the gateway (the environment variable {@code
 * JAVA_OPTS}). It ends with this process.
 */
final class JavaProcess implements AutoCloseable {
  private static final Duration START_TIMEOUT = Duration.ofMinutes(2);

  private final List<String> command = new ArrayList<>();
  private final Path log;
  private final Probe probe;
  private Process process;

  /** A readiness check of a server. An {@link IOException} means not ready yet. */
  @FunctionalInterface
  interface Probe {
    boolean isReady() throws IOException, InterruptedException;
  }

  /**
   * Starts the process and waits until it is ready.
   *
   * @param log the file to which its output is appended
   * @param probe the readiness check
   * @param arguments the arguments of {@code java} after the options
   */
  JavaProcess(Path log, Probe probe, List<String> arguments)
      throws IOException, InterruptedException {
    this.log = log;
    this.probe = probe;
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(options());
    command.add("--enable-native-access=ALL-UNNAMED");
    command.add("--sun-misc-unsafe-memory-access=allow");
    command.addAll(arguments);
    process = launch();
    awaitReady();
  }

  /** Returns the JVM options, which only the Makefile defines. */
  static List<String> options() throws IOException {
    var options = System.getenv("JAVA_OPTS");
    if (options == null) {
      throw new IOException("JAVA_OPTS is not set; start the report with make");
    }
    return options.isBlank() ? List.of() : List.of(options.strip().split("\\s+"));
  }

  static int freePort() {
    try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Process launch() throws IOException {
    var started =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(Redirect.appendTo(log.toFile()))
            .start();
    Runtime.getRuntime().addShutdownHook(new Thread(started::destroy));
    return started;
  }

  private void awaitReady() throws IOException, InterruptedException {
    long end = System.nanoTime() + START_TIMEOUT.toNanos();
    while (process.isAlive() && System.nanoTime() < end) {
      try {
        if (probe.isReady()) {
          return;
        }
      } catch (IOException _) {
        // not ready yet
      }
      Thread.sleep(100);
    }
    close();
    throw new IOException("the process is not ready, see " + log);
  }

  ProcessHandle handle() {
    return process.toHandle();
  }

  void signal(String name) throws IOException, InterruptedException {
    var kill = List.of("kill", "-" + name, Long.toString(process.pid()));
    if (new ProcessBuilder(kill).inheritIO().start().waitFor() != 0) {
      throw new IOException(String.join(" ", kill) + " failed");
    }
  }

  void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  /** Starts the process with the same arguments, and waits until it is ready. */
  void restart() throws IOException, InterruptedException {
    process = launch();
    awaitReady();
  }

  @Override
  public void close() {
    process.destroy();
    try {
      if (!process.waitFor(2, TimeUnit.MINUTES)) { // a suspended process does not handle the signal
        process.destroyForcibly().waitFor();
      }
    } catch (InterruptedException _) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
