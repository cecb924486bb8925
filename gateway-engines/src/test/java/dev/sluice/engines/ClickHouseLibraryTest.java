package dev.sluice.engines;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.sluice.engines.PackageFetcher.PinnedRelease;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests {@link ClickHouseLibrary} with an npm that is a shell script, and a package of a few bytes.
 */
class ClickHouseLibraryTest {

  private static final String CONTENT = "not much of a library";

  @TempDir Path directory;

  private Path cache;
  private Path npm;
  private Path calls;
  private String integrity;
  private SystemEnvironment environment;

  @BeforeEach
  void pack() throws Exception {
    cache = directory.resolve("cache");
    calls = directory.resolve("calls");
    Path contents = directory.resolve("contents");
    Path members = Files.createDirectories(contents.resolve("package"));
    Files.writeString(members.resolve("index.js"), "x".repeat(600));
    Files.writeString(members.resolve("libchdb.so"), CONTENT);
    Path archive = directory.resolve("archive.tgz");
    run("tar", "-czf", archive.toString(), "-C", contents.toString(), "package");
    integrity =
        "sha512-"
            + Base64.getEncoder()
                .encodeToString(
                    MessageDigest.getInstance("SHA-512").digest(Files.readAllBytes(archive)));
    Path bin = Files.createDirectories(directory.resolve("bin"));
    npm = bin.resolve("npm");
    npm("echo call >> '%s'; cp '%s' .".formatted(calls, archive));
    environment = new SystemEnvironment(Map.of("PATH", bin.toString()), "linux-x64");
  }

  private void npm(String script) throws Exception {
    Files.writeString(npm, "#!/bin/sh\n" + script + "\n");
    Files.setPosixFilePermissions(npm, PosixFilePermissions.fromString("rwx------"));
  }

  private static void run(String... command) throws Exception {
    assertThat(new ProcessBuilder(command).inheritIO().start().waitFor()).isZero();
  }

  private ClickHouseLibrary library(SystemEnvironment where, String sum) {
    return new ClickHouseLibrary(where, cache, Map.of("linux-x64", release(sum, 1)));
  }

  private static PinnedRelease release(String checksum, long megabytes) {
    return new PinnedRelease(
        "@some/lib", "1.2", "", ClickHouseLibrary.MEMBER, checksum, 1, megabytes);
  }

  @Test
  void locate_notInCache_isFetchedAndThenFoundWithoutNpm() throws Exception {
    Path fetched = library(environment, integrity).locate();

    assertThat(fetched).hasContent(CONTENT);
    SystemEnvironment offline = new SystemEnvironment(Map.of(), "linux-x64");
    assertThat(library(offline, integrity).locate()).isEqualTo(fetched);
    assertThat(calls).content().isEqualTo("call\n");
    assertThat(cache).isDirectoryNotContaining("glob:**/fetching");
  }

  @Test
  void locate_manyConcurrently_fetchOnce() throws Exception {
    Callable<Path> locate = () -> library(environment, integrity).locate();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      for (Future<Path> path : threads.invokeAll(List.of(locate, locate, locate))) {
        assertThat(path.get()).hasContent(CONTENT);
      }
    }

    assertThat(calls).content().isEqualTo("call\n");
  }

  @Test
  void locate_afterInterruptedFetch_fetchesTheLibrary() throws Exception {
    Path left = Files.createDirectories(cache.resolve("fetching/unpacked"));
    Files.writeString(left.resolve("libchdb.so"), "half a");
    Files.writeString(cache.resolve("fetching/half.tgz"), "half a");

    assertThat(library(environment, integrity).locate()).hasContent(CONTENT);
  }

  @Test
  void locate_wrongChecksum_isRejectedAndDeleted() {
    String other = "sha512-" + "A".repeat(86) + "==";

    assertThatExceptionOfType(EngineStartException.class)
        .isThrownBy(library(environment, other)::locate)
        .withMessageContaining("@some/lib 1.2")
        .withMessageContaining(other)
        .withMessageContaining(integrity)
        .withMessageContaining("SLUICE_LIBCHDB");
    assertThat(cache).isDirectoryNotContaining("glob:**/{fetching,lib*}");
  }

  @Test
  void locate_noNpm_namesTheInstallation() {
    assertThatExceptionOfType(EngineStartException.class)
        .isThrownBy(library(new SystemEnvironment(Map.of(), "linux-x64"), integrity)::locate)
        .withMessageContaining("npm")
        .withMessageContaining("is not on the PATH; install Node.js, or set SLUICE_LIBCHDB to")
        .withMessageContaining("sluice.clickhouse.url");
  }

  @Test
  void locate_npmFails_reportsTheReason() throws Exception {
    npm("echo chatter; echo npm error code ENOTFOUND >&2; exit 1");

    assertThatExceptionOfType(EngineStartException.class)
        .isThrownBy(library(environment, integrity)::locate)
        .withMessageContaining("npm cannot fetch @some/lib 1.2 (code ENOTFOUND)");
  }

  @Test
  void locate_archiveWithoutLibrary_isRejected() throws Exception {
    Path empty = directory.resolve("empty");
    Files.createDirectories(empty.resolve("package"));
    Path archive = directory.resolve("empty.tgz");
    run("tar", "-czf", archive.toString(), "-C", empty.toString(), "package");
    npm("cp '%s' .".formatted(archive));
    String sum =
        "sha512-"
            + Base64.getEncoder()
                .encodeToString(
                    MessageDigest.getInstance("SHA-512").digest(Files.readAllBytes(archive)));

    assertThatExceptionOfType(EngineStartException.class)
        .isThrownBy(library(environment, sum)::locate)
        .withMessageContaining("no package/libchdb.so in empty.tgz");
  }

  @Test
  void locate_cacheNotWritable_namesTheProperty() throws Exception {
    Files.writeString(cache, "a file in the way");

    assertThatExceptionOfType(EngineStartException.class)
        .isThrownBy(library(environment, integrity)::locate)
        .withMessageContaining("sluice.engines.cache-dir");
  }

  @Test
  void locate_notEnoughDisk_reportsTheRequiredSpace() {
    ClickHouseLibrary library =
        new ClickHouseLibrary(
            environment, cache, Map.of("linux-x64", release(integrity, 1L << 40)));

    assertThatExceptionOfType(EngineStartException.class)
        .isThrownBy(library::locate)
        .withMessageContaining("needs 1099511627777 MB")
        .withMessageContaining("sluice.engines.cache-dir");
  }

  @Test
  void locate_unknownPlatform_namesTheAlternatives() {
    SystemEnvironment elsewhere = new SystemEnvironment(environment.variables(), "linux-riscv64");

    assertThatExceptionOfType(EngineStartException.class)
        .isThrownBy(library(elsewhere, integrity)::locate)
        .withMessageContaining("linux-riscv64 (only for linux-x64); set SLUICE_LIBCHDB to");
  }

  @Test
  void locate_configuredPath_isUsedOrRejected() throws Exception {
    Path own = Files.writeString(directory.resolve("own.so"), "x");

    assertThat(library(withConfiguredPath(own), integrity).locate()).isEqualTo(own);
    assertThatExceptionOfType(EngineStartException.class)
        .isThrownBy(library(withConfiguredPath(directory.resolve("absent.so")), integrity)::locate)
        .withMessage(
            "SLUICE_LIBCHDB names %s/absent.so, which is not a readable file".formatted(directory));
  }

  private static SystemEnvironment withConfiguredPath(Path library) {
    return new SystemEnvironment(Map.of("SLUICE_LIBCHDB", library.toString()), "none");
  }
}
