package dev.sluice.bench;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** A third-party load generator, prepared for one kind of request. */
interface LoadGenerator {
  /** The directory in which {@code bin/generators} installs the generators that it builds. */
  Path BUILD_DIRECTORY = Path.of(".cache/sluice/generators");

  /** Sends for the given seconds, and returns when the load has ended. */
  LoadResult send(int seconds) throws IOException, InterruptedException;

  /**
   * The result of a program that has ended.
   *
   * @param output its standard output
   * @param cpuSeconds its CPU seconds
   * @param endNanos the time of its end, as {@link System#nanoTime}
   */
  record ProcessResult(String output, double cpuSeconds, long endNanos) {}

  static ProcessResult run(Map<String, String> environment, List<String> command)
      throws IOException, InterruptedException {
    var builder = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
    builder.environment().putAll(environment);
    double before = ProcessStats.cpuSecondsOfExitedChildren();
    var process = builder.start();
    // so that no load generator survives an aborted run
    var end = new Thread(process::destroy);
    Runtime.getRuntime().addShutdownHook(end);
    var output = new String(process.getInputStream().readAllBytes(), UTF_8);
    int status = process.waitFor();
    long nanos = System.nanoTime();
    Runtime.getRuntime().removeShutdownHook(end);
    if (status != 0) {
      throw new IOException(command.getFirst() + " exited with status " + status + ": " + output);
    }
    return new ProcessResult(output, ProcessStats.cpuSecondsOfExitedChildren() - before, nanos);
  }
}
