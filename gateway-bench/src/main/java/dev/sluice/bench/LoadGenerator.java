package dev.sluice.bench;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** A load generator that others have written, made ready for one kind of request. */
interface LoadGenerator {
  /** Where {@code bin/generators} puts those it builds. */
  Path BUILD_DIRECTORY = Path.of(".cache/sluice/generators");

  /** Sends for so long and returns once it has ended. */
  LoadResult send(int seconds) throws IOException, InterruptedException;

  /**
   * A program that has ended.
   *
   * @param output to its standard output
   * @param cpuSeconds it has used
   * @param endNanos {@link System#nanoTime} when it ended
   */
  record ProcessResult(String output, double cpuSeconds, long endNanos) {}

  static ProcessResult run(Map<String, String> environment, List<String> command)
      throws IOException, InterruptedException {
    var builder = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
    builder.environment().putAll(environment);
    double before = ProcessStats.cpuSecondsOfExitedChildren();
    var process = builder.start();
    // so that a run that is broken off leaves nobody sending
    var end = new Thread(process::destroy);
    Runtime.getRuntime().addShutdownHook(end);
    var output = new String(process.getInputStream().readAllBytes(), UTF_8);
    int status = process.waitFor();
    long nanos = System.nanoTime();
    Runtime.getRuntime().removeShutdownHook(end);
    if (status != 0) {
      throw new IOException(command.getFirst() + " ended with " + status + ": " + output);
    }
    return new ProcessResult(output, ProcessStats.cpuSecondsOfExitedChildren() - before, nanos);
  }
}
