package dev.sluice.wal;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Written frames exist once and in order, at whatever time the process is killed. */
class SegmentLogKillIT {
  private static final int ROUNDS = 20;

  @TempDir Path folder;

  @Test
  void append_killedRepeatedly_keepsWrittenFrames() throws Exception {
    long seed = System.nanoTime();
    var random = new Random(seed);
    long next = 0;
    for (int round = 0; round < ROUNDS; round++) {
      long written = appendAndKill(next, random.nextInt(60));
      try (var log = new SegmentLogFixture(folder)) {
        var numbers = log.numbers();
        assertThat(numbers)
            .as("round %d of seed %d, written up to %d", round, seed, written)
            .isEqualTo(LongStream.range(0, numbers.size()).boxed().toList())
            .hasSizeGreaterThan((int) written);
        SegmentLogFixture.assertIndexMatchesData(folder);
        next = numbers.size();
      }
    }
  }

  /** Kills the process after a minimum number of frames; returns the last written number. */
  private long appendAndKill(long from, int minFrames) throws IOException {
    var process = start(folder, from);
    try (var output = process.inputReader(UTF_8)) {
      long last = from - 1;
      for (var line = output.readLine(); line != null; line = output.readLine()) {
        assertThat(line).isEqualTo(String.valueOf(last + 1));
        last++;
        if (last - from >= minFrames) {
          // Process.destroyForcibly would close the pipe and lose printed numbers
          process.toHandle().destroyForcibly();
        }
      }
      return last;
    } finally {
      process.destroyForcibly().onExit().join();
    }
  }

  @Test
  void open_lockedByAnotherProcess_throws() throws Exception {
    try (var _ = new SegmentLogFixture(folder)) {
      var process = start(folder, 0);

      assertThat(process.errorReader(UTF_8).lines())
          .anyMatch(line -> line.contains("another process has locked the directory " + folder));
      assertThat(process.onExit().join().exitValue()).isEqualTo(1);
    }
  }

  private static Process start(Path node, long from) throws IOException {
    return new ProcessBuilder(
            command(AppendingProcess.class, node.toString(), String.valueOf(from)))
        .start();
  }

  static List<String> command(Class<?> main, String... args) {
    var command = new ArrayList<String>();
    command.add(Path.of(System.getProperty("java.home"), "bin/java").toString());
    command.addAll(List.of("-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
    command.addAll(List.of(args));
    return command;
  }
}
