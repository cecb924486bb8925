package dev.sluice.wal;

import dev.sluice.core.port.SpoolConsumer;
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
 * A WAL spool on real files, which a test can close, reopen and kill. Each test has its own, as a
 * registered extension.
 */
final class WalFixture implements AfterEachCallback {

  private final Path directory;
  private final Compression compression;
  private final InstantSource clock;
  private int generation;
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

  SpoolConsumer newConsumer() {
    return spool.newConsumer();
  }

  /** Returns the current {@code sluice.wal.dir}. */
  Path walDirectory() {
    return current;
  }

  /** Returns the directory of the only node. */
  Path node() {
    return current.resolve("log.wal").resolve("node-one");
  }

  /** Closes the spool and opens it again. */
  WalSpool reopen() throws IOException {
    return reopen(RandomAccessFile::write);
  }

  WalSpool reopen(Journal.WriteFunction writeFunction) throws IOException {
    spool.close();
    spool = open(writeFunction);
    return spool;
  }

  /** Simulates a kill: opens a copy of the current files, made without closing the spool. */
  WalSpool kill() throws IOException {
    var next = directory.resolve("life-" + ++generation);
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

  /** Opens the same node a second time, as another process would. */
  WalSpool openSecond() throws IOException {
    return open(RandomAccessFile::write);
  }

  private WalSpool open(Journal.WriteFunction writeFunction) throws IOException {
    return WalSpool.open(settings(current), clock, writeFunction);
  }

  private WalSpool.WalSpoolSettings settings(Path path) {
    return new WalSpool.WalSpoolSettings(
        path,
        "one",
        new WalSpool.WriteSettings(
            compression,
            WalSpool.Fsync.FLUSH,
            Duration.ofSeconds(1),
            Duration.ofMillis(100),
            1 << 20,
            64 << 20),
        new WalSpool.SegmentSettings(64 << 20, Duration.ofHours(1), 1 << 30, 1 << 29, 0),
        WalSpoolTest.LIMITS,
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
