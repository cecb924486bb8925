package dev.sluice.engines;

import static dev.sluice.engines.EngineClients.awaitExit;
import static dev.sluice.engines.EngineClients.clickHouse;
import static dev.sluice.engines.EngineClients.redis;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.BufferedReader;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Checks the state of the engines after the process that started them is killed. */
class GatewayDeathIT {

  @TempDir Path directory;

  private Process gateway;
  private ProcessHandle redis;
  private ProcessHandle clickHouse;
  private int redisPort;

  @BeforeEach
  void start() throws Exception {
    gateway =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Dsluice.cache=" + EngineClients.cache(),
                "-cp",
                System.getProperty("java.class.path"),
                GatewayStub.class.getName(),
                directory.toString())
            .redirectError(Redirect.INHERIT)
            .start();
    BufferedReader lines = gateway.inputReader();
    String line = lines.readLine();
    while (line != null && !line.startsWith("RUNNING")) {
      line = lines.readLine();
    }
    assertThat(line).isNotNull();
    String[] words = line.split(" ", -1);
    redis = ProcessHandle.of(Long.parseLong(words[1])).orElseThrow();
    clickHouse = ProcessHandle.of(Long.parseLong(words[2])).orElseThrow();
    redisPort = Integer.parseInt(words[3]);
  }

  @AfterEach
  void end() {
    hosts().forEach(ProcessHandle::destroyForcibly);
    redis.destroyForcibly();
    clickHouse.destroyForcibly();
    gateway.destroyForcibly();
  }

  /** Returns all processes that the gateway recorded for its successor. */
  private List<ProcessHandle> hosts() {
    List<ProcessHandle> hosts = new ArrayList<>();
    for (String engine : new String[] {"redis", "clickhouse"}) {
      try {
        for (String line : Files.readAllLines(directory.resolve(engine).resolve("pids"))) {
          ProcessHandle.of(Long.parseLong(line.split(" ", -1)[0])).ifPresent(hosts::add);
        }
      } catch (IOException _) {
        // not running
      }
    }
    return hosts;
  }

  @Test
  void kill_gateway_leavesNoProcessBehind() throws Exception {
    List<ProcessHandle> hosts = hosts();
    assertThat(hosts).contains(redis, clickHouse);

    gateway.destroyForcibly();

    for (ProcessHandle process : hosts) {
      awaitExit(process);
    }
  }

  @Test
  void interrupt_terminal_doesNotReachTheEngines() throws Exception {
    String ours = processGroup(gateway.pid());

    assertThat(processGroup(ProcessHandle.current().pid())).isEqualTo(ours);
    assertThat(processGroup(redis.pid())).isNotEqualTo(ours);
    assertThat(processGroup(clickHouse.pid())).isNotEqualTo(ours);
    for (ProcessHandle host : hosts()) {
      assertThat(processGroup(host.pid())).isNotEqualTo(ours);
    }
  }

  private static String processGroup(long pid) throws Exception {
    Process ps = new ProcessBuilder("ps", "-o", "pgid=", "-p", String.valueOf(pid)).start();
    return new String(ps.getInputStream().readAllBytes(), StandardCharsets.US_ASCII).strip();
  }

  @Test
  void start_directoryOfAnotherProcess_isRejected() {
    assertThatExceptionOfType(EngineStartException.class)
        .isThrownBy(() -> EmbeddedRedis.start(redis(directory.resolve("redis"))))
        .withMessageContaining("another gateway is using");
    assertThatExceptionOfType(EngineStartException.class)
        .isThrownBy(() -> EmbeddedClickHouse.start(clickHouse(directory.resolve("clickhouse"))))
        .withMessageContaining("another gateway is using");
    assertThat(redis.isAlive()).isTrue();
    assertThat(clickHouse.isAlive()).isTrue();
  }

  @Test
  void start_orphanedEngine_isTerminatedFirst() throws Exception {
    ProcessHandle host = redis.parent().orElseThrow();
    signal("STOP", host);
    gateway.destroyForcibly().waitFor();
    host.destroyForcibly();
    awaitExit(host);
    assertThat(redis.isAlive()).isTrue();

    try (EmbeddedRedis next =
        EmbeddedRedis.start(
            new EmbeddedRedis.RedisEngineSettings(
                directory.resolve("redis"), EngineClients.cache(), redisPort, "64mb"))) {
      assertThat(redis.isAlive()).isFalse();
      assertThat(next.port()).isEqualTo(redisPort);
    }
  }

  private static void signal(String name, ProcessHandle process) throws Exception {
    Process kill = new ProcessBuilder("kill", "-" + name, String.valueOf(process.pid())).start();
    assertThat(kill.waitFor()).isZero();
  }
}
