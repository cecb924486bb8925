package dev.sluice.engines;

import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.time.Instant;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The directory of one engine, locked by one process at a time and not readable by other users.
 *
 * <pre> DIRECTORY/lock     locked while this object is open; the kernel releases it when the
 * process ends DIRECTORY/data/    the data of the engine DIRECTORY/run/     written at each start:
 * configuration, output, the class of the host DIRECTORY/pids     the processes of the running
 * engine, each with its start time
 * DIRECTORY/password a generated secret, also in other files whose name ends in password
 * </pre>
 */
final class EngineDataDir implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(EngineDataDir.class);

  static final Set<PosixFilePermission> OWNER_ONLY = PosixFilePermissions.fromString("rwx------");

  static final Set<PosixFilePermission> OWNER_READ_WRITE =
      PosixFilePermissions.fromString("rw-------");

  /** The time that an orphaned engine may take to exit; its host stops it when the gateway dies. */
  private static final int ORPHAN_TIMEOUT_SECONDS = HostProcess.STOP_TIMEOUT_SECONDS;

  private final Path directory;
  private final FileChannel channel;
  private final FileLock lock;

  private EngineDataDir(Path directory, FileChannel channel, FileLock lock) {
    this.directory = directory;
    this.channel = channel;
    this.lock = lock;
  }

  /**
   * Locks the directory, creates it when absent, and terminates the processes that an earlier owner
   * left running.
   *
   * @throws EngineStartException when the directory is not writable, or another process has locked
   *     it
   */
  static EngineDataDir acquire(Path path) {
    Path directory = path.toAbsolutePath().normalize();
    FileChannel channel = null;
    try {
      createDirectories(directory);
      Files.setPosixFilePermissions(directory, OWNER_ONLY);
      channel =
          FileChannel.open(
              directory.resolve("lock"),
              Set.of(StandardOpenOption.CREATE, StandardOpenOption.WRITE),
              PosixFilePermissions.asFileAttribute(OWNER_READ_WRITE));
      FileLock lock = tryLock(channel);
      if (lock == null) {
        channel.close();
        throw new EngineStartException(
            "another gateway is using "
                + directory
                + "; stop it, or set sluice.engines.data-dir to another directory");
      }
      EngineDataDir dataDir = new EngineDataDir(directory, channel, lock);
      dataDir.terminateOrphans();
      for (Path subdirectory : List.of(dataDir.data(), dataDir.runPath(""))) {
        createDirectories(subdirectory);
        Files.setPosixFilePermissions(subdirectory, OWNER_ONLY);
      }
      dataDir.copyHostClass();
      return dataDir;
    } catch (IOException | UnsupportedOperationException e) {
      closeQuietly(channel);
      throw accessFailure(directory, e);
    } catch (RuntimeException e) {
      closeQuietly(channel);
      throw e;
    }
  }

  private static @Nullable FileLock tryLock(FileChannel channel) throws IOException {
    try {
      return channel.tryLock();
    } catch (OverlappingFileLockException _) {
      return null; // this process has locked it
    }
  }

  private static void closeQuietly(@Nullable FileChannel channel) {
    try {
      if (channel != null) {
        channel.close();
      }
    } catch (IOException _) {
      // the caller reports the failure that led here
    }
  }

  static EngineStartException accessFailure(Path directory, Exception e) {
    String reason =
        e instanceof FileSystemException f && f.getReason() != null
            ? f.getReason()
            : e.getClass().getSimpleName() + " " + e.getMessage();
    return new EngineStartException(
        "cannot write to %s (%s); free disk space or set sluice.engines.data-dir to another path"
            .formatted(directory, reason),
        e);
  }

  Path directory() {
    return directory;
  }

  Path data() {
    return directory.resolve("data");
  }

  Path runPath(String name) {
    return directory.resolve("run").resolve(name);
  }

  /** The class path of {@link EngineHost}. */
  Path hostClasses() {
    return runPath("host");
  }

  /** Writes a file that only the owner can read, atomically. */
  void write(Path file, String content) {
    Path temporary = file.resolveSibling(file.getFileName() + ".part");
    try {
      Files.deleteIfExists(temporary);
      Files.createFile(temporary, PosixFilePermissions.asFileAttribute(OWNER_READ_WRITE));
      Files.writeString(temporary, content);
      Files.move(
          temporary, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException e) {
      throw accessFailure(directory, e);
    }
  }

  /** Returns the content without surrounding white space, or null when there is no such file. */
  @Nullable String read(Path file) {
    try {
      return Files.exists(file) ? Files.readString(file).strip() : null;
    } catch (IOException e) {
      throw accessFailure(directory, e);
    }
  }

  /**
   * Returns the secret in a file of this directory, and creates it when absent: 256 random bits in
   * hexadecimal digits.
   */
  String loadOrCreateSecret(String name) {
    Path file = directory.resolve(name);
    String existing = read(file);
    if (existing != null && !existing.isEmpty()) {
      return existing;
    }
    byte[] random = new byte[32];
    new SecureRandom().nextBytes(random);
    String generated = HexFormat.of().formatHex(random);
    write(file, generated + "\n");
    return generated;
  }

  void delete(Path tree) {
    if (!Files.exists(tree)) {
      return;
    }
    try (Stream<Path> paths = Files.walk(tree)) {
      for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(path);
      }
    } catch (IOException e) {
      throw accessFailure(directory, e);
    }
  }

  /** Records processes for {@link #terminateOrphans} of a later owner. */
  void recordProcesses(List<ProcessHandle> processes) {
    StringBuilder lines = new StringBuilder();
    for (ProcessHandle process : processes) {
      lines.append(process.pid()).append(' ').append(startMillis(process)).append('\n');
    }
    write(pidFile(), lines.toString());
  }

  private Path pidFile() {
    return directory.resolve("pids");
  }

  private static long startMillis(ProcessHandle process) {
    return process.info().startInstant().map(Instant::toEpochMilli).orElse(-1L);
  }

  private void terminateOrphans() {
    String lines = read(pidFile());
    if (lines == null || lines.isEmpty()) {
      return;
    }
    for (String line : lines.lines().toList()) {
      String[] fields = line.split(" ", 2);
      long start = Long.parseLong(fields[1]);
      // the process id may belong to an unrelated process now
      ProcessHandle.of(Long.parseLong(fields[0]))
          .filter(process -> start >= 0 && startMillis(process) == start)
          .ifPresent(this::terminateOrphan);
    }
  }

  private void terminateOrphan(ProcessHandle process) {
    LOG.warn(
        "terminating process {}, left running by an earlier gateway in {}",
        process.pid(),
        directory);
    process.destroy();
    try {
      process.onExit().get(ORPHAN_TIMEOUT_SECONDS, TimeUnit.SECONDS);
      return;
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException _) {
      // killed below
    }
    process.destroyForcibly();
    process
        .onExit()
        .orTimeout(ORPHAN_TIMEOUT_SECONDS, TimeUnit.SECONDS)
        .exceptionally(_ -> process)
        .join();
  }

  private void copyHostClass() throws IOException {
    String resource = EngineHost.class.getName().replace('.', '/') + ".class";
    Path target = hostClasses().resolve(resource);
    createDirectories(target.resolveSibling(""));
    try (InputStream in = EngineHost.class.getResourceAsStream("/" + resource)) {
      if (in == null) {
        throw new IOException("no " + resource + " on the class path");
      }
      Files.copy(in, target, StandardCopyOption.REPLACE_EXISTING);
      Files.setPosixFilePermissions(target, OWNER_READ_WRITE);
    }
  }

  private static void createDirectories(Path path) throws IOException {
    Files.createDirectories(path, PosixFilePermissions.asFileAttribute(OWNER_ONLY));
  }

  /** Unlocks the directory. The engine must have ended. */
  @Override
  public void close() {
    try {
      Files.deleteIfExists(pidFile());
      lock.release();
    } catch (IOException e) {
      LOG.warn("cannot unlock engine directory {}", directory, e);
    }
    closeQuietly(channel);
  }
}
