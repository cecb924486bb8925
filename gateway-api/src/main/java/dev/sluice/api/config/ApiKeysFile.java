package dev.sluice.api.config;

import dev.sluice.api.config.FileWatcher.FileFormat;
import dev.sluice.core.security.AccessScope;
import dev.sluice.core.security.ApiKey;
import dev.sluice.core.security.ApiKeyAuthenticator;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Date;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import org.yaml.snakeyaml.error.YAMLException;

/**
 * The file of API keys, which {@code bin/sluice key} writes: YAML with a list {@code keys}, of
 * which each has the {@code hash}, the {@code tenant} and the {@code scopes}, and optionally {@code
 * expires} and {@code name}. An error names the key by its place, never by its content.
 */
final class ApiKeysFile implements FileWatcher.Handler<List<ApiKey>> {
  static final int MAX_LINES = 100_000;
  static final int MAX_BYTES = 4 << 20;

  private static final FileFormat FORMAT =
      new FileFormat("sluice.security.keys-file", "API keys", MAX_LINES, MAX_BYTES);
  private static final Logger LOG = LoggerFactory.getLogger(ApiKeysFile.class);
  private static final Set<String> FIELDS = Set.of("hash", "tenant", "scopes", "expires", "name");

  private final ApiKeyAuthenticator authenticator;

  private ApiKeysFile(ApiKeyAuthenticator authenticator) {
    this.authenticator = authenticator;
  }

  /**
   * Reads the keys.
   *
   * @param authenticator the receiver of the keys, now and after each change of the file
   * @throws IllegalArgumentException when the file is invalid; the message names the setting
   */
  static FileWatcher<List<ApiKey>> read(Path path, ApiKeyAuthenticator authenticator) {
    return FileWatcher.read(path, new ApiKeysFile(authenticator));
  }

  @Override
  public FileFormat format() {
    return FORMAT;
  }

  @Override
  public String fileSeparator() {
    return "\n---\n"; // each file is a document of its own
  }

  @Override
  public List<ApiKey> parse(List<String> lines) throws IOException {
    var options = new LoaderOptions();
    options.setCodePointLimit(MAX_BYTES);
    options.setMaxAliasesForCollections(0);
    options.setAllowDuplicateKeys(false);
    var keys = new ArrayList<ApiKey>();
    var ids = new HashSet<String>();
    try {
      for (var document :
          new Yaml(new SafeConstructor(options)).loadAll(String.join("\n", lines))) {
        if (document != null) { // an empty file, or one with comments only
          addKeys(document, keys, ids);
        }
      }
    } catch (YAMLException e) { // its message quotes the line, which may have a hash or a key
      throw new IOException("it is not valid YAML", e);
    }
    return List.copyOf(keys);
  }

  private static void addKeys(Object document, List<ApiKey> keys, Set<String> ids)
      throws IOException {
    if (!(document instanceof Map<?, ?> map)
        || !map.keySet().equals(Set.of("keys"))
        || !(map.get("keys") instanceof List<?> list)) {
      throw new IOException("it is not a list \"keys\"");
    }
    for (var entry : list) {
      var place = "key " + (keys.size() + 1);
      try {
        var key = parseKey(entry);
        if (!ids.add(key.id())) {
          throw new IllegalArgumentException("hash occurs twice");
        }
        keys.add(key);
      } catch (IllegalArgumentException e) {
        throw new IOException(place + ": " + e.getMessage(), e);
      }
    }
  }

  private static ApiKey parseKey(@Nullable Object entry) {
    if (!(entry instanceof Map<?, ?> fields)) {
      throw new IllegalArgumentException("it is not a map");
    }
    if (!FIELDS.containsAll(fields.keySet())) {
      throw new IllegalArgumentException(
          "it has a field other than hash, tenant, scopes, expires, name");
    }
    return new ApiKey(
        text(fields, "hash"),
        fields.containsKey("name") ? text(fields, "name") : "",
        text(fields, "tenant"),
        scopes(fields.get("scopes")),
        fields.containsKey("expires") ? instant(fields.get("expires")) : null);
  }

  private static String text(Map<?, ?> fields, String name) {
    if (fields.get(name) instanceof String text) {
      return text;
    }
    throw new IllegalArgumentException(name + " is missing, or no text");
  }

  private static Set<AccessScope> scopes(@Nullable Object value) {
    if (!(value instanceof Collection<?> names) || names.isEmpty()) {
      throw new IllegalArgumentException("scopes is missing, or no list");
    }
    var scopes = EnumSet.noneOf(AccessScope.class);
    names.forEach(name -> scopes.add(AccessScope.parse(String.valueOf(name))));
    return scopes;
  }

  /** Converts a time; YAML reads an unquoted one as a date, a quoted one as text. */
  private static Instant instant(@Nullable Object value) {
    try {
      return value instanceof Date date ? date.toInstant() : Instant.parse(String.valueOf(value));
    } catch (DateTimeParseException e) {
      throw new IllegalArgumentException("expires is not like 2027-01-31T00:00:00Z", e);
    }
  }

  @Override
  public void onLoaded(Path path, List<ApiKey> keys) {
    authenticator.replaceKeys(keys);
    if (keys.isEmpty()) {
      LOG.warn("API keys loaded: {} has no key, so that no API key is valid", path);
    } else {
      LOG.info("API keys loaded: {} keys of {}", keys.size(), path);
    }
    warnWhenReadableByOthers(path);
  }

  private static void warnWhenReadableByOthers(Path path) {
    try {
      var permissions = Files.getPosixFilePermissions(path);
      if (permissions.contains(PosixFilePermission.GROUP_READ)
          || permissions.contains(PosixFilePermission.OTHERS_READ)
          || permissions.contains(PosixFilePermission.GROUP_WRITE)
          || permissions.contains(PosixFilePermission.OTHERS_WRITE)) {
        LOG.warn("API keys: {} is accessible to other users; its mode should be 600", path);
      }
    } catch (IOException | UnsupportedOperationException e) {
      LOG.debug("API keys: the permissions of {} are unknown", path, e);
    }
  }
}
