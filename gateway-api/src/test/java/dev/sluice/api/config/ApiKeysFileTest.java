package dev.sluice.api.config;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.sluice.core.security.ApiKey;
import dev.sluice.core.security.ApiKeyAuthenticator;
import dev.sluice.testkit.ManualClock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

@Isolated("reads the output of the process")
@ExtendWith(OutputCaptureExtension.class)
class ApiKeysFileTest {
  private static final String KEY = "sluice_" + "A".repeat(43);
  private static final String HASH =
      "sha256:7c3e2187b26a15bf1ac84a1f9ef4f1f8a2f1ba9a8c7b7a7f5f6b1e8ad1d6a9b0";
  private static final String ENTRY =
      "keys:\n  - hash: %s\n    tenant: acme\n    scopes: [ingest, read]\n";

  @TempDir private Path folder;
  private Path path;
  private final ManualClock clock = new ManualClock("2026-01-01T00:00:00Z");
  private final ApiKeyAuthenticator authenticator = new ApiKeyAuthenticator(clock);

  @BeforeEach
  void resolvePath() {
    path = folder.resolve("keys.yaml");
  }

  private static String entry(String hash) {
    return ENTRY.formatted(hash);
  }

  private FileWatcher<List<ApiKey>> watch() {
    var file = ApiKeysFile.read(path, authenticator);
    file.watch(clock, Runnable::run);
    return file;
  }

  @Test
  void read_allFields_areParsed() throws IOException {
    Files.writeString(
        path, entry(HASH) + "    expires: 2027-01-31T00:00:00Z\n    name: agent of the shop\n");

    var key = ApiKeysFile.read(path, authenticator).get().getFirst();

    assertThat(key.id()).isEqualTo(HASH.substring(7, 19));
    assertThat(key.principal().tenant()).isEqualTo("acme");
    assertThat(key.name()).isEqualTo("agent of the shop");
    assertThat(key.expires()).isEqualTo(Instant.parse("2027-01-31T00:00:00Z"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "[]",
        "keys: 1",
        "keys: [1]",
        "keys: []\nmore: 1",
        "keys:\n  - hash: abc\n    tenant: a\n    scopes: [read]",
        "keys:\n  - tenant: a\n    scopes: [read]",
        "keys: [",
        "keys: !!java.net.URL [\"http://127.0.0.1/\"]"
      })
  void read_invalidFile_failsNamingTheSetting(String text) throws IOException {
    Files.writeString(path, text);

    assertThatIllegalArgumentException()
        .isThrownBy(() -> ApiKeysFile.read(path, authenticator))
        .withMessageStartingWith("sluice.security.keys-file is " + path + ": ");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "    tenant: other\n",
        "    unknown: 1\n",
        "    expires: soon\n",
        "    expires:\n",
        "  - hash: " + HASH + "\n    tenant: b\n    scopes: [read]\n"
      })
  void read_invalidKey_failsWithoutItsContent(String more) throws IOException {
    Files.writeString(path, entry(HASH) + more);

    assertThatIllegalArgumentException()
        .isThrownBy(() -> ApiKeysFile.read(path, authenticator))
        .withMessageNotContaining(HASH.substring(7));
  }

  @Test
  void watch_revokedKey_isInvalidWithinFiveSeconds() throws Exception {
    Files.writeString(path, entry("sha256:" + sha256(KEY)));
    var _ = watch();
    assertThat(authenticator.authenticate(KEY)).isPresent();

    Files.writeString(path, "keys: []\n");
    clock.advance(Duration.ofSeconds(5));

    assertThat(authenticator.authenticate(KEY)).isEmpty();
  }

  @Test
  void watch_invalidFile_keepsTheKeysAndReportsIt(CapturedOutput output) throws Exception {
    Files.writeString(path, entry("sha256:" + sha256(KEY)));
    var file = watch();
    assertThat(file.error()).isNull();

    Files.writeString(path, "keys: [");
    clock.advance(Duration.ofSeconds(5));

    assertThat(authenticator.authenticate(KEY)).isPresent();
    assertThat(file.error()).contains("not valid YAML");
    assertThat(output.getOut()).containsOnlyOnce("API keys not reloaded");
    Files.writeString(path, "keys: []\n");
    clock.advance(Duration.ofSeconds(5));
    assertThat(file.error()).isNull();
    assertThat(authenticator.authenticate(KEY)).isEmpty();
  }

  @Test
  void watch_directory_readsAllItsFilesAndTheirChanges() throws Exception {
    path = Files.createDirectory(folder.resolve("secrets"));
    Files.writeString(path.resolve("a.yaml"), entry("sha256:" + sha256(KEY)).stripTrailing());
    Files.writeString(path.resolve(".hidden"), "no YAML: [");
    var file = watch();
    assertThat(file.get()).hasSize(1);

    Files.writeString(path.resolve("b.yaml"), entry(HASH));
    clock.advance(Duration.ofSeconds(5));
    assertThat(file.get()).hasSize(2);

    Files.delete(path.resolve("a.yaml"));
    clock.advance(Duration.ofSeconds(5));
    assertThat(authenticator.authenticate(KEY)).isEmpty();
  }

  @Test
  void read_fileOfOtherUsers_warns(CapturedOutput output) throws IOException {
    Files.writeString(path, entry(HASH));
    Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-------"));
    var _ = ApiKeysFile.read(path, authenticator);
    assertThat(output.getOut()).doesNotContain("accessible to other users");

    Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-r-----"));
    var _ = ApiKeysFile.read(path, authenticator);
    assertThat(output.getOut()).containsOnlyOnce("accessible to other users");
  }

  private static String sha256(String text) throws Exception {
    return HexFormat.of()
        .formatHex(MessageDigest.getInstance("SHA-256").digest(text.getBytes(US_ASCII)));
  }
}
