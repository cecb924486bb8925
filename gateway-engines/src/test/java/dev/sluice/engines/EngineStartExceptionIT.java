package dev.sluice.engines;

import static dev.sluice.engines.EngineClients.clickHouse;
import static dev.sluice.engines.EngineClients.redis;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Checks that each start failure has a message with a remedy, and leaves neither a process nor a
 * lock behind.
 */
class EngineStartExceptionIT {

  private static final SystemEnvironment HERE = SystemEnvironment.current();

  @TempDir Path directory;

  @AfterEach
  void assertNothingIsLeft() {
    assertThat(ProcessHandle.current().children().filter(ProcessHandle::isAlive)).isEmpty();
    EngineDataDir.acquire(directory).close();
  }

  private static SystemEnvironment with(String name, Object value) {
    Map<String, String> variables = new HashMap<>(HERE.variables());
    variables.put(name, value.toString());
    return new SystemEnvironment(variables, HERE.platform());
  }

  private Path bin() {
    return directory.resolve("bin");
  }

  private Path script(String name, String text) throws Exception {
    Path file = Files.createDirectories(bin()).resolve(name);
    Files.writeString(file, "#!/bin/sh\n" + text + "\n");
    return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwx------"));
  }

  @Test
  void clickHouse_configuredLibraryAbsent_namesThePath() {
    assertThatExceptionOfType(EngineStartException.class)
        .isThrownBy(
            () ->
                EmbeddedClickHouse.start(
                    clickHouse(directory), with("SLUICE_LIBCHDB", "/nowhere/libchdb.so")))
        .withMessage("SLUICE_LIBCHDB names /nowhere/libchdb.so, which is not a readable file");
  }

  @Test
  void clickHouse_libraryBroken_namesTheLibrary() throws Exception {
    Path broken = Files.writeString(directory.resolve("broken.so"), "no library");

    assertThatExceptionOfType(EngineStartException.class)
        .isThrownBy(
            () -> EmbeddedClickHouse.start(clickHouse(directory), with("SLUICE_LIBCHDB", broken)))
        .withMessageContaining("cannot be started from " + broken)
        .withMessageContaining("broken.so: file too short");
  }

  @Test
  void clickHouse_httpPortTaken_namesTheProperty() throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.ofLiteral("127.0.0.1"))) {
      int port = taken.getLocalPort();

      assertThatExceptionOfType(EngineStartException.class)
          .isThrownBy(
              () ->
                  EmbeddedClickHouse.start(
                      new EmbeddedClickHouse.ClickHouseEngineSettings(
                          directory, EngineClients.cache(), port, 0, "sluice", "x", false)))
          .withMessage(
              "port %d is in use; set sluice.engines.clickhouse.http-port to a free port"
                  .formatted(port));
      assertThatExceptionOfType(EngineStartException.class)
          .isThrownBy(
              () ->
                  EmbeddedClickHouse.start(
                      new EmbeddedClickHouse.ClickHouseEngineSettings(
                          directory, EngineClients.cache(), 0, port, "sluice", "x", false)))
          .withMessage(
              "port %d is in use; set sluice.engines.clickhouse.tcp-port to a free port"
                  .formatted(port));
    }
  }

  @Test
  void clickHouse_commandTooOld_fallsBackToTheLibrary() throws Exception {
    script("clickhouse", "echo ClickHouse local version 26.5.1.1.");
    SystemEnvironment environment = with("PATH", bin() + ":" + HERE.variables().get("PATH"));

    try (EmbeddedClickHouse engine = EmbeddedClickHouse.start(clickHouse(directory), environment)) {
      assertThat(EngineClients.query(engine, "SELECT 1")).isEqualTo("1");
    }
  }

  @Test
  void clickHouse_commandRecent_isUsedAndItsFailureReported() throws Exception {
    script(
        "clickhouse",
        """
            [ "$2" = --version ] && { echo ClickHouse local version 26.7.2.1.; exit; }
            echo "called with $1 $2" >&2; exit 70""");

    assertThatExceptionOfType(EngineStartException.class)
        .isThrownBy(() -> EmbeddedClickHouse.start(clickHouse(directory), with("PATH", bin())))
        .withMessageContaining("called with local --config-file=" + directory);
  }

  @Test
  void clickHouse_commandThatIgnoresStop_isKilled() throws Exception {
    script(
        "clickhouse",
        """
            [ "$2" = --version ] && { echo ClickHouse local version 27.1.; exit; }
            printf 'READY\\t1\\t2\\n'
            exec cat""");

    EmbeddedClickHouse engine =
        EmbeddedClickHouse.start(clickHouse(directory), with("PATH", bin() + ":/usr/bin:/bin"));
    ProcessHandle process = ProcessHandle.of(engine.pid()).orElseThrow();
    assertThat(engine.httpPort()).isEqualTo(1);
    engine.close();
    engine.close();

    assertThat(process.isAlive()).isFalse();
  }

  @Test
  void redis_noneForThisPlatform_namesTheAlternatives() {
    assertThatExceptionOfType(EngineStartException.class)
        .isThrownBy(
            () ->
                EmbeddedRedis.start(
                    redis(directory), new SystemEnvironment(Map.of(), "linux-riscv64")))
        .withMessageContaining("no Valkey can be fetched for linux-riscv64")
        .withMessageContaining("sluice.redis.url");
  }

  @Test
  void redis_doesNotRun_namesTheProgram() throws Exception {
    Path own = script("redis-server", "exit 1");

    assertThatExceptionOfType(EngineStartException.class)
        .isThrownBy(() -> EmbeddedRedis.start(redis(directory), with("PATH", bin())))
        .withMessageContaining(own + " does not run on this machine; install valkey-server or");
  }

  @Test
  void redis_exitsImmediately_reportsTheReason() throws Exception {
    Path own =
        script(
            "redis-server",
            """
            [ "$1" = --version ] && { echo Redis server v=7.0.15 sha=0; exit; }
            echo "No space left on device" >&2; exit 1""");

    assertThatExceptionOfType(EngineStartException.class)
        .isThrownBy(() -> EmbeddedRedis.start(redis(directory), with("PATH", bin())))
        .withMessageContaining("Redis 7.0 cannot be started from " + own)
        .withMessageContaining("No space left on device");
  }

  @Test
  void directory_notWritable_namesTheProperty() throws Exception {
    Path file = Files.writeString(directory.resolve("file"), "in the way");

    assertThatExceptionOfType(EngineStartException.class)
        .isThrownBy(() -> EmbeddedRedis.start(redis(file.resolve("redis"))))
        .withMessageContaining("cannot write to " + file)
        .withMessageContaining("sluice.engines.data-dir");
  }
}
