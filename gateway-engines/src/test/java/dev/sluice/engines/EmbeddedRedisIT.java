package dev.sluice.engines;

import static dev.sluice.engines.EngineClients.awaitExit;
import static dev.sluice.engines.EngineClients.eventually;
import static dev.sluice.engines.EngineClients.redis;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.net.ConnectException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class EmbeddedRedisIT {

  /** An environment without a PATH, so that the fetched Valkey is used. */
  private static final SystemEnvironment BARE =
      new SystemEnvironment(Map.of(), SystemEnvironment.current().platform());

  @TempDir Path directory;

  private EmbeddedRedis engine;

  @BeforeEach
  void start() {
    engine = EmbeddedRedis.start(redis(directory));
  }

  @AfterEach
  void close() {
    engine.close();
  }

  private String ask(String... commands) throws Exception {
    return redis(engine.port(), engine.password(), commands);
  }

  @Test
  void ping_withPassword_responds() throws Exception {
    assertThat(ask("PING")).isEqualTo("+PONG");
    assertThat(engine.url()).matches("redis://:[0-9a-f]{64}@127\\.0\\.0\\.1:" + engine.port());
  }

  @Test
  void ping_withoutPassword_isRejected() throws Exception {
    assertThat(redis(engine.port(), "", "PING")).startsWith("-NOAUTH");
    assertThat(redis(engine.port(), "wrong", "PING")).startsWith("-NOAUTH");
  }

  @Test
  void start_secrets_areReadableByTheOwnerOnly() throws Exception {
    for (String file : new String[] {"password", "run/redis.conf"}) {
      assertThat(
              PosixFilePermissions.toString(Files.getPosixFilePermissions(directory.resolve(file))))
          .isEqualTo("rw-------");
    }
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(directory)))
        .isEqualTo("rwx------");
  }

  @Test
  void write_memoryFull_isRejectedWithoutEviction() throws Exception {
    ask("SET first 1", "CONFIG SET maxmemory 1");

    assertThat(ask("SET second 1")).startsWith("-OOM");
    assertThat(ask("GET first")).isEqualTo("1");
  }

  @Test
  void kill_running_restartsOnTheSamePortWithItsData() throws Exception {
    ask("SET kept 1");
    int port = engine.port();
    ProcessHandle before = ProcessHandle.of(engine.pid()).orElseThrow();

    engine.kill();
    awaitExit(before);
    eventually(engine::alive);

    assertThat(engine.port()).isEqualTo(port);
    assertThat(ask("GET kept")).isEqualTo("1");
  }

  @Test
  void kill_host_leavesOneEngine() throws Exception {
    ask("SET kept 1");
    ProcessHandle before = ProcessHandle.of(engine.pid()).orElseThrow();
    int port = engine.port();

    before.parent().orElseThrow().destroyForcibly();
    awaitExit(before);
    eventually(engine::alive);

    assertThat(engine.port()).isEqualTo(port);
    assertThat(ask("GET kept")).isEqualTo("1");
  }

  @Test
  void stop_thenRestart_keepsItsData() throws Exception {
    ask("SET kept 1");

    engine.stop();

    assertThat(engine.alive()).isFalse();
    assertThatExceptionOfType(ConnectException.class).isThrownBy(() -> ask("PING"));

    engine.restart();

    assertThat(engine.alive()).isTrue();
    assertThat(ask("GET kept")).isEqualTo("1");
  }

  @Test
  void close_thenStart_keepsDataAndPassword() throws Exception {
    ask("SET kept 1");
    String password = engine.password();
    ProcessHandle process = ProcessHandle.of(engine.pid()).orElseThrow();

    engine.close();

    assertThat(process.isAlive()).isFalse();
    engine = EmbeddedRedis.start(redis(directory));
    assertThat(engine.password()).isEqualTo(password);
    assertThat(ask("GET kept")).isEqualTo("1");
  }

  @Test
  void start_sameDirectoryTwice_isRejected() {
    assertThatExceptionOfType(EngineStartException.class)
        .isThrownBy(() -> EmbeddedRedis.start(redis(directory)))
        .withMessageContaining("another gateway is using " + directory)
        .withMessageContaining("sluice.engines.data-dir");
    assertThat(engine.alive()).isTrue();
  }

  @Test
  void start_portTaken_namesTheProperty(@TempDir Path other) {
    assertThatExceptionOfType(EngineStartException.class)
        .isThrownBy(
            () ->
                EmbeddedRedis.start(
                    new EmbeddedRedis.RedisEngineSettings(
                        other, EngineClients.cache(), engine.port(), "64mb")))
        .withMessage(
            "port %d is in use; set sluice.engines.redis.port to a free port"
                .formatted(engine.port()));
  }

  @Test
  void start_nothingOnThePath_usesTheFetchedValkey(@TempDir Path other) throws Exception {
    Path fetched =
        new ValkeyServer(
                SystemEnvironment.current(), EngineClients.cache(), ValkeyServer.PINNED_RELEASES)
            .locateFetched();
    try (EmbeddedRedis bare = EmbeddedRedis.start(redis(other), BARE)) {
      assertThat(redis(bare.port(), bare.password(), "SET kept 1")).isEqualTo("+OK");
      assertThat(ProcessHandle.of(bare.pid()).orElseThrow().info().command())
          .contains(fetched.toString());
    }
    assertThat(other.resolve("redis-major")).content().isEqualTo("9\n");
  }

  @Test
  void start_olderRedisOverNewerData_isRejectedWithBothVersions() throws Exception {
    engine.close();
    Files.writeString(directory.resolve("redis-major"), "99\n");

    assertThatExceptionOfType(EngineStartException.class)
        .isThrownBy(() -> EmbeddedRedis.start(redis(directory)))
        .withMessageContaining("were written by version 99")
        .withMessageMatching("(?s).* is version \\d+, which cannot read them.*");
  }

  @Test
  void start_olderRedisOverNewerLayout_isRejected(@TempDir Path other) throws Exception {
    Files.createDirectories(other.resolve("data/appendonlydir"));
    Path bin = Files.createDirectories(other.resolve("bin"));
    Path redis6 = Files.writeString(bin.resolve("redis-server"), "#!/bin/sh\necho v=6.2.11\n");
    Files.setPosixFilePermissions(redis6, PosixFilePermissions.fromString("rwx------"));

    assertThatExceptionOfType(EngineStartException.class)
        .isThrownBy(
            () ->
                EmbeddedRedis.start(
                    redis(other),
                    new SystemEnvironment(
                        Map.of("PATH", bin.toString()), SystemEnvironment.current().platform())))
        .withMessageContaining("were written by version 7")
        .withMessageContaining("is version 6");
  }

  @Test
  void start_unreadableData_reportsTheReason() throws Exception {
    ask("SET kept 1");
    engine.close();
    try (var files = Files.walk(directory.resolve("data"))) {
      for (Path file : files.filter(f -> f.toString().contains(".aof")).toList()) {
        if (Files.isRegularFile(file)) {
          Files.writeString(file, "*not a log\r\n");
        }
      }
    }

    assertThatExceptionOfType(EngineStartException.class)
        .isThrownBy(() -> EmbeddedRedis.start(redis(directory)))
        .withMessageContaining("cannot be started from")
        .withMessageContaining("AOF");
  }

  @Test
  void settings_invalidMaxMemory_isRejected() {
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> new EmbeddedRedis.RedisEngineSettings(directory, directory, 0, "1gb\nsave 1 1"))
        .withMessageContaining("sluice.engines.redis.max-memory");
  }
}
