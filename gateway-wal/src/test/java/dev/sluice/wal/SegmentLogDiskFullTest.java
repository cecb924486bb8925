package dev.sluice.wal;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A really full disk: a tmpfs of 4 MiB, mounted in its own namespace. */
class SegmentLogDiskFullTest {
  @TempDir Path folder;

  @ParameterizedTest
  @ValueSource(ints = {0, 500_000})
  void append_diskFull_recoversWithoutARestart(int minFreeDiskBytes) throws Exception {
    assumeTrue(run(List.of("unshare", "-rm", "true")).code() == 0, "container: no unshare here");
    var command = new ArrayList<>(List.of("unshare", "-rm", "sh", "-c"));
    command.add("mount -t tmpfs -o size=4m tmpfs \"$0\" && exec \"$@\"");
    command.add(folder.toString());
    command.addAll(
        SegmentLogKillIT.command(
            FillingProcess.class, folder.toString(), String.valueOf(minFreeDiskBytes)));

    var result = run(command);

    assertThat(result.output()).endsWith("good");
    assertThat(result.code()).isZero();
  }

  private record Result(int code, String output) {}

  private static Result run(List<String> command) throws IOException, InterruptedException {
    Process process;
    try {
      process = new ProcessBuilder(command).redirectErrorStream(true).start();
    } catch (IOException e) {
      return new Result(127, String.valueOf(e.getMessage()));
    }
    var output = new String(process.getInputStream().readAllBytes(), UTF_8).strip();
    return new Result(process.waitFor(), output);
  }
}
