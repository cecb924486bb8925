package dev.sluice.wal;

import dev.sluice.core.port.FallbackSpoolConsumer;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Comparator;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * A spool on real files, which can be closed and opened again, and killed. A test registers it and
 * has one of its own.
 */
final class WalFixture implements AfterEachCallback {
  static final int DEAD_LETTERS = 3;

  private final Path directory;
  private final Compression compression;
  private final InstantSource clock;
  private int lives;
  private Path current;
  private WalSpool spool;

  WalFixture(Compression compression) throws IOException {
    this(compression, InstantSource.system());
  }

  WalFixture(Compression compression, InstantSource clock) throws IOException {
    this.clock = clock;
    this.directory = Files.createTempDirectory("wal");
    this.compression = compression;
    this.current = Files.createDirectory(directory.resolve("life-0"));
    this.spool = open(RandomAccessFile::write);
  }

  WalSpool spool() {
    return spool;
  }

  FallbackSpoolConsumer deliveries() {
    return spool.deliveries();
  }

  /** The {@code sluice.wal.dir} of now. */
  Path place() {
    return current;
  }

  /** Of the one node there is. */
  Path node() {
    return current.resolve("log.wal").resolve("node-one");
  }

  /** As after an orderly end and a start. */
  WalSpool reopen() throws IOException {
    return reopen(RandomAccessFile::write);
  }

  WalSpool reopen(Journal.Disk disk) throws IOException {
    spool.close();
    spool = open(disk);
    return spool;
  }

  /** As after a kill: what is in the files at this moment is all there is. */
  WalSpool kill() throws IOException {
    var next = directory.resolve("life-" + ++lives);
    try (var files = Files.walk(current)) {
      for (var file : (Iterable<Path>) files::iterator) {
        Files.copy(file, next.resolve(current.relativize(file)));
      }
    }
    spool.close();
    current = next;
    spool = open(RandomAccessFile::write);
    return spool;
  }

  /** Another process would have the same node. */
  WalSpool openAgain() throws IOException {
    return open(RandomAccessFile::write);
  }

  private WalSpool open(Journal.Disk disk) throws IOException {
    return WalSpool.open(settings(current), clock, disk);
  }

  private WalSpool.Settings settings(Path path) {
    return new WalSpool.Settings(
        path,
        "one",
        new WalSpool.Writing(
            compression,
            WalSpool.Fsync.FLUSH,
            Duration.ofSeconds(1),
            Duration.ofMillis(100),
            1 << 20,
            64 << 20),
        new WalSpool.Filing(64 << 20, Duration.ofHours(1), 1 << 30, 1 << 29, 0),
        WalSpoolTest.BOUNDS,
        DEAD_LETTERS,
        1_000,
        Duration.ofDays(1));
  }

  @Override
  public void afterEach(ExtensionContext context) throws IOException {
    spool.close();
    try (var files = Files.walk(directory)) {
      for (var file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}
