package dev.sluice.embedded;

import static dev.sluice.embedded.Engines.gone;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** With shell scripts for engines. */
class HostProcessTest {

  private static final Duration PATIENCE = Duration.ofSeconds(30);

  @TempDir Path directory;

  private DataFolder folder;

  @BeforeEach
  void take() {
    folder = DataFolder.take(directory);
  }

  @AfterEach
  void release() {
    folder.close();
  }

  private HostProcess start(String script) {
    return start("0", "sh", "-c", script);
  }

  private HostProcess start(String... command) {
    List<String> arguments = new ArrayList<>(List.of(EngineHost.COMMAND));
    arguments.addAll(List.of(command));
    return HostProcess.start(folder, Environment.ofThisProcess(), arguments);
  }

  @Test
  void terminate_host_takesTheEngineWithIt() throws Exception {
    HostProcess host =
        start("trap 'echo bye; exit' TERM; echo READY 1 2; while :; do read _; done");
    ProcessHandle engine = host.engine(PATIENCE);
    assertThat(host.ready(PATIENCE)).containsExactly(1, 2);

    host.process().toHandle().destroy();

    gone(engine);
    gone(host.process().toHandle());
    assertThat(host.ended(PATIENCE)).isFalse(); // it had become ready
    Engines.eventually(() -> host.output().lines().contains("bye"));
  }

  @Test
  void end_engineThatEndsWithItsStdin_needsNoSignal() throws Exception {
    HostProcess host =
        start("20000", "sh", "-c", "trap 'echo signal' TERM; cat; echo end of stdin");
    ProcessHandle engine = host.engine(PATIENCE);

    host.end();

    assertThat(engine.isAlive()).isFalse();
    assertThat(host.ended(PATIENCE)).isTrue();
    assertThat(host.output().lines()).containsExactly("end of stdin");
  }

  @Test
  void ready_engineThatFails_tellsStatusAndLastLines() throws Exception {
    HostProcess host = start("echo first >&2; echo reason one >&2; echo reason two >&2; exit 7");

    assertThatIOException()
        .isThrownBy(() -> host.ready(PATIENCE))
        .withMessageStartingWith("ended with status 7: ")
        .withMessageContaining("reason one | reason two");
  }

  @Test
  void ready_tooSlow_saysSo() throws Exception {
    HostProcess host = start("echo busy with something; exec cat");
    host.engine(PATIENCE);

    assertThatIOException()
        .isThrownBy(() -> host.ready(Duration.ofSeconds(1)))
        .withMessage("not ready after 1 seconds: busy with something");
    host.end();
  }

  @Test
  void output_talkativeEngine_isBoundedInMemoryAndOnDisk() throws Exception {
    HostProcess host =
        start(
            "i=0; while [ $i -lt 40000 ]; do echo line $i of a lot of chatter $i $i $i; i=$((i+1)); done; exec cat");
    host.engine(PATIENCE);
    Engines.eventually(() -> host.output().tail(1).startsWith("line 39999 "));

    assertThat(host.output().lines()).hasSize(50);
    assertThat(Files.size(directory.resolve("run/output.log"))).isLessThan(1_100_000);
    host.end();
  }

  @Test
  void start_environment_hidesSecrets() throws Exception {
    HostProcess host =
        HostProcess.start(
            folder,
            new Environment(
                java.util.Map.of(
                    "PATH",
                    "/usr/bin:/bin",
                    "SLUICE_CLICKHOUSE_PASSWORD",
                    "x",
                    "JAVA_TOOL_OPTIONS",
                    "-Dx"),
                "linux-x64"),
            List.of(EngineHost.COMMAND, "0", "/usr/bin/env"));

    assertThatIOException().isThrownBy(() -> host.ready(PATIENCE));
    assertThat(host.output().lines())
        .anyMatch(line -> line.startsWith("PATH="))
        .noneMatch(line -> line.startsWith("SLUICE_") || line.startsWith("JAVA_"));
  }
}
