package dev.sluice.tools;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import org.yaml.snakeyaml.error.YAMLException;

/** The file of API keys that a gateway reads, {@code sluice.security.keys-file}. */
final class KeyFile {
  private static final String HEADER =
      "# API keys of Sluice, written by bin/sluice key. It has hashes, not the keys themselves.\n";
  private static final int ID_LENGTH = 12;

  private final Path path;

  KeyFile(Path path) {
    this.path = path;
  }

  /**
   * A key.
   *
   * @param hash {@code sha256:} and 64 hexadecimal digits
   * @param expires the time from which on the key is invalid; null for never
   */
  record Entry(
      String hash, String tenant, List<String> scopes, @Nullable Instant expires, String name) {
    /** Returns the public identity: the first digits of the hash. */
    String id() {
      var digits = hash.substring(hash.indexOf(':') + 1);
      return digits.substring(0, Math.min(ID_LENGTH, digits.length()));
    }

    private String toYaml() {
      var text = new StringBuilder();
      text.append("  - hash: ").append(hash).append('\n');
      text.append("    tenant: ").append(quote(tenant)).append('\n');
      text.append("    scopes: [").append(String.join(", ", scopes)).append("]\n");
      if (expires != null) {
        text.append("    expires: ").append(quote(expires.toString())).append('\n');
      }
      if (!name.isEmpty()) {
        text.append("    name: ").append(quote(name)).append('\n');
      }
      return text.toString();
    }

    private static String quote(String text) {
      return "'" + text.replace("'", "''") + "'";
    }
  }

  /**
   * Reads the keys; none when the file does not exist.
   *
   * @throws UsageException when the file is invalid
   */
  List<Entry> read() throws IOException, UsageException {
    if (Files.notExists(path)) {
      return List.of();
    }
    Object document;
    try {
      document =
          new Yaml(new SafeConstructor(new LoaderOptions())).load(Files.readString(path, UTF_8));
    } catch (YAMLException _) { // its message quotes the file
      throw new UsageException(path + " is not valid YAML");
    }
    if (document == null) {
      return List.of();
    }
    if (!(document instanceof Map<?, ?> map) || !(map.get("keys") instanceof List<?> keys)) {
      throw new UsageException(path + " has no list \"keys\"");
    }
    var entries = new ArrayList<Entry>();
    for (var key : keys) {
      entries.add(parse(key));
    }
    return entries;
  }

  private Entry parse(@Nullable Object key) throws UsageException {
    if (key instanceof Map<?, ?> fields
        && fields.get("hash") instanceof String hash
        && fields.get("tenant") instanceof String tenant
        && fields.get("scopes") instanceof List<?> scopes) {
      var expires = fields.get("expires");
      return new Entry(
          hash,
          tenant,
          scopes.stream().map(String::valueOf).toList(),
          switch (expires) {
            case null -> null;
            case Date date -> date.toInstant();
            default -> Instant.parse(expires.toString());
          },
          fields.get("name") instanceof String name ? name : "");
    }
    throw new UsageException(path + " has a key without hash, tenant or scopes");
  }

  /** Replaces the file in one step: a gateway reads the old keys or the new ones. */
  void write(List<Entry> entries) throws IOException {
    var text = new StringBuilder(HEADER).append(entries.isEmpty() ? "keys: []\n" : "keys:\n");
    entries.forEach(entry -> text.append(entry.toYaml()));
    var absolute = path.toAbsolutePath();
    var directory = absolute.getParent();
    var ownerOnly =
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
    var temporary = Files.createTempFile(directory, ".sluice-keys", ".tmp", ownerOnly);
    try {
      Files.writeString(temporary, text);
      Files.move(temporary, absolute, StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(temporary);
    }
  }
}
