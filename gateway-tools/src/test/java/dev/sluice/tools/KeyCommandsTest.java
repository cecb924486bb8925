package dev.sluice.tools;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KeyCommandsTest {
  @TempDir private Path folder;
  private Path file;
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final ByteArrayOutputStream err = new ByteArrayOutputStream();

  @BeforeEach
  void resolveFile() {
    file = folder.resolve("keys.yaml");
  }

  private int key(String... arguments) {
    out.reset();
    err.reset();
    return SluiceCommand.run(
        Stream.of(List.of("key"), List.of(arguments), List.of("--keys-file", file.toString()))
            .flatMap(List::stream)
            .toList(),
        InputStream.nullInputStream(),
        new PrintStream(out, true, UTF_8),
        new PrintStream(err, true, UTF_8));
  }

  private static String sha256(String key) throws Exception {
    return HexFormat.of()
        .formatHex(MessageDigest.getInstance("SHA-256").digest(key.getBytes(UTF_8)));
  }

  @Test
  void create_key_printsItOnceAndStoresOnlyItsHash() throws Exception {
    assertThat(key("create", "--tenant", "acme", "--scope", "ingest,read", "--name", "it's"))
        .isZero();
    var key = out.toString(UTF_8).strip();

    assertThat(key).matches("sluice_[A-Za-z0-9_-]{43}");
    assertThat(Files.readString(file))
        .contains("hash: sha256:" + sha256(key), "'acme'", "[ingest, read]", "'it''s'")
        .doesNotContain(key);
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-------");
  }

  @Test
  void list_keys_showsThemWithoutHashes() throws Exception {
    key("create", "--tenant", "acme", "--scope", "ingest", "--expires", "90d");
    var first = sha256(out.toString(UTF_8).strip());
    key("create", "--scope", "admin", "--name", "on call");

    assertThat(key("list")).isZero();

    assertThat(out.toString(UTF_8).lines().toList())
        .hasSize(2)
        .satisfies(
            lines -> {
              assertThat(lines.getFirst())
                  .startsWith(first.substring(0, 12) + "  acme  ingest  expires 20")
                  .doesNotContain(first);
              assertThat(lines.getLast()).endsWith("  *  admin  never expires  on call");
            });
  }

  @Test
  void revoke_key_removesIt() throws IOException {
    key("create", "--tenant", "acme", "--scope", "ingest");
    key("list");
    var id = out.toString(UTF_8).substring(0, 12);

    assertThat(key("revoke", id)).isZero();
    assertThat(Files.readString(file)).contains("keys: []");
    assertThat(key("revoke", id)).isEqualTo(2);
    assertThat(err.toString(UTF_8)).contains("has no key " + id);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--scope ingest",
        "--scope admin --tenant acme",
        "--scope admin,read",
        "--scope write --tenant acme",
        "--scope read --tenant *",
        "--scope read --tenant acme --expires soon"
      })
  void create_invalidOptions_areRejected(String options) {
    assertThat(key(("create " + options).split(" "))).isEqualTo(2);
    assertThat(file).doesNotExist();
  }

  @Test
  void create_invalidFile_isNotOverwritten() throws IOException {
    Files.writeString(file, "keys: [");

    assertThat(key("create", "--tenant", "acme", "--scope", "read")).isEqualTo(2);

    assertThat(file).hasContent("keys: [");
  }
}
