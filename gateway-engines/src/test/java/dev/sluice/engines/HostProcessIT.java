package dev.sluice.engines;

import static dev.sluice.engines.EngineClients.awaitExit;
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

/** Tests {@link HostProcess} with shell scripts as engines. */
class HostProcessIT {

  private static final Duration TIMEOUT = Duration.ofSeconds(30);

  @TempDir Path directory;

  private EngineDataDir dataDir;

  @BeforeEach
  void acquire() {
    dataDir = EngineDataDir.acquire(directory);
  }

  @AfterEach
  void release() {
    dataDir.close();
  }

  private HostProcess start(String script) {
    return start("0", "sh", "-c", script);
  }

  private HostProcess start(String... command) {
    List<String> arguments = new ArrayList<>(List.of(EngineHost.COMMAND));
    arguments.addAll(List.of(command));
    return HostProcess.start(dataDir, SystemEnvironment.current(), arguments);
  }

  @Test
  void terminate_host_terminatesTheEngineToo() throws Exception {
    HostProcess host =
        start("trap 'echo bye; exit' TERM; echo READY 1 2; while :; do read _; done");
    ProcessHandle engine = host.awaitEngine(TIMEOUT);
    assertThat(host.awaitPorts(TIMEOUT)).containsExactly(1, 2);

    host.process().toHandle().destroy();

    awaitExit(engine);
    awaitExit(host.process().toHandle());
    assertThat(host.awaitExit(TIMEOUT)).isFalse(); // it is ready
    EngineClients.eventually(() -> host.output().lines().contains("bye"));
  }

  @Test
  void stop_engineThatExitsWithItsStdin_needsNoSignal() throws Exception {
    HostProcess host =
        start("20000", "sh", "-c", "trap 'echo signal' TERM; cat; echo end of stdin");
    ProcessHandle engine = host.awaitEngine(TIMEOUT);

    host.stop();

    assertThat(engine.isAlive()).isFalse();
    assertThat(host.awaitExit(TIMEOUT)).isTrue();
    assertThat(host.output().lines()).containsExactly("end of stdin");
  }

  @Test
  void awaitPorts_engineThatFails_reportsStatusAndLastLines() throws Exception {
    HostProcess host = start("echo first >&2; echo reason one >&2; echo reason two >&2; exit 7");

    assertThatIOException()
        .isThrownBy(() -> host.awaitPorts(TIMEOUT))
        .withMessageStartingWith("ended with status 7: ")
        .withMessageContaining("reason one | reason two");
  }

  @Test
  void awaitPorts_tooSlow_reportsTheTimeout() throws Exception {
    HostProcess host = start("echo busy with something; exec cat");
    host.awaitEngine(TIMEOUT);

    assertThatIOException()
        .isThrownBy(() -> host.awaitPorts(Duration.ofSeconds(1)))
        .withMessage("not ready after 1 seconds: busy with something");
    host.stop();
  }

  @Test
  void output_verboseEngine_isBoundedInMemoryAndOnDisk() throws Exception {
    HostProcess host =
        start(
            "i=0; while [ $i -lt 40000 ]; do echo line $i of a lot of chatter $i $i $i; i=$((i+1)); done; exec cat");
    host.awaitEngine(TIMEOUT);
    EngineClients.eventually(() -> host.output().tail(1).startsWith("line 39999 "));

    assertThat(host.output().lines()).hasSize(50);
    assertThat(Files.size(directory.resolve("run/output.log"))).isLessThan(1_100_000);
    host.stop();
  }

  @Test
  void start_environment_hidesSecrets() throws Exception {
    HostProcess host =
        HostProcess.start(
            dataDir,
            new SystemEnvironment(
                java.util.Map.of(
                    "PATH",
                    "/usr/bin:/bin",
                    "SLUICE_CLICKHOUSE_PASSWORD",
                    "x",
                    "JAVA_TOOL_OPTIONS",
                    "-Dx"),
                "linux-x64"),
            List.of(EngineHost.COMMAND, "0", "/usr/bin/env"));

    assertThatIOException().isThrownBy(() -> host.awaitPorts(TIMEOUT));
    assertThat(host.output().lines())
        .anyMatch(line -> line.startsWith("PATH="))
        .noneMatch(line -> line.startsWith("SLUICE_") || line.startsWith("JAVA_"));
  }
}
