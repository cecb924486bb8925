package dev.sluice.engines;

import dev.sluice.engines.PackageFetcher.PinnedRelease;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/**
 * Locates the shared library that contains ClickHouse: the path in {@link #VARIABLE}, else the
 * library in the cache, else a library that npm fetches into the cache once, at a pinned version
 * and with a pinned checksum.
 */
final class ClickHouseLibrary {

  /** The environment variable with the path of a library. */
  static final String VARIABLE = "SLUICE_LIBCHDB";

  private static final String ALTERNATIVES =
      "set "
          + VARIABLE
          + " to the path of a libchdb.so, or set sluice.clickhouse.url to an external"
          + " ClickHouse";

  static final String MEMBER = "package/libchdb.so";

  /**
   * The pinned releases by {@link SystemEnvironment#platform}. This release has packages for
   * linux-arm64 and darwin in its metadata, but the registry does not have them.
   */
  static final Map<String, PinnedRelease> PINNED_RELEASES =
      Map.of(
          "linux-x64",
          new PinnedRelease(
              "@chdb/lib-linux-x64-gnu",
              "26.7.3-stable.1",
              "",
              MEMBER,
              "sha512-XP97mMqnc5tZpKQywR8N7cLTsHNiTmHr30pC5mzo3jWmukjKn2IBa60c2B/gWUNcuFjOMjWoorQICCqBVj5wpw==",
              178,
              566));

  private final SystemEnvironment environment;
  private final Path cache;
  private final Map<String, PinnedRelease> releases;

  ClickHouseLibrary(
      SystemEnvironment environment, Path cache, Map<String, PinnedRelease> releases) {
    this.environment = environment;
    this.cache = cache;
    this.releases = releases;
  }

  /**
   * Returns the path of the library, and fetches the library if necessary, which takes minutes.
   *
   * @throws EngineStartException when there is no library for this machine, or it cannot be fetched
   */
  Path locate() {
    String named = environment.variable(VARIABLE);
    if (named != null) {
      Path library = Path.of(named).toAbsolutePath();
      if (!Files.isRegularFile(library) || !Files.isReadable(library)) {
        throw new EngineStartException(
            "%s names %s, which is not a readable file".formatted(VARIABLE, library));
      }
      return library;
    }
    PinnedRelease release = releases.get(environment.platform());
    if (release == null) {
      throw new EngineStartException(
          "no ClickHouse library can be fetched for %s (only for %s); %s"
              .formatted(
                  environment.platform(), String.join(", ", releases.keySet()), ALTERNATIVES));
    }
    return new PackageFetcher(
            environment, cache, PackageRegistry.NPM, "the ClickHouse library", ALTERNATIVES)
        .locate(release);
  }
}
