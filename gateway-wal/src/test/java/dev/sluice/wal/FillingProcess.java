package dev.sluice.wal;

import dev.sluice.wal.SegmentLog.FrameWriteResult;
import dev.sluice.wal.WalSpool.SegmentSettings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Fills the disk of the directory, frees space and continues. Prints its observations, and "good"
 * as the last line after a success.
 */
final class FillingProcess {
  private FillingProcess() {}

  public static void main(String[] args) throws Exception {
    var folder = Path.of(args[0]);
    long minFreeDiskBytes = Long.parseLong(args[1]);
    var segmentSettings =
        new SegmentSettings(
            300_000, Duration.ofHours(1), Long.MAX_VALUE, Long.MAX_VALUE, minFreeDiskBytes);
    var ballast = Files.write(folder.resolve("ballast"), new byte[1 << 20]);
    var expected = new ArrayList<Long>();
    try (var log =
        new SegmentLogFixture(
            folder.resolve("node-a"),
            SegmentLogFixture.WRITE_SETTINGS,
            segmentSettings,
            Disk.REAL)) {
      long number = append(log, 0, expected);
      System.out.println("full after " + number + ": " + log.segmentLog().unavailableReason());
      var acked = log.all().getLast().position();
      Files.delete(ballast);
      number = append(log, number + 1, expected);
      System.out.println("full again after " + number);
      require(log.numbers().equals(expected), "the log has exactly the written frames");
      log.segmentLog().markAcked(acked, List.of());
      log.reopen(() -> {});
      require(expected.containsAll(log.numbers()), "a start on a full disk loses nothing");
      SegmentLogFixture.assertIndexMatchesData(log.node);
      if (minFreeDiskBytes > 0) {
        log.segmentLog().markAcked(log.all().getLast().position(), List.of());
        require(
            log.append(number + 1) instanceof FrameWriteResult.FrameWritten, "pruning frees space");
      }
    }
    oneSegment(folder.resolve("node-b"), minFreeDiskBytes);
    System.out.println("good");
  }

  /** Fills the disk with the active segment alone, all of whose frames are acknowledged. */
  private static void oneSegment(Path node, long minFreeDiskBytes) throws Exception {
    try (var files = Files.walk(node.resolveSibling("node-a"))) {
      files.sorted(Comparator.reverseOrder()).forEach(FillingProcess::delete);
    }
    var segmentSettings =
        new SegmentSettings(
            1 << 30, Duration.ofHours(1), Long.MAX_VALUE, Long.MAX_VALUE, minFreeDiskBytes);
    try (var log =
        new SegmentLogFixture(node, SegmentLogFixture.WRITE_SETTINGS, segmentSettings, Disk.REAL)) {
      long number = append(log, 0, new ArrayList<>());
      require(log.segmentLog().segments().size() == 1, "there is one segment");
      ackAll(log);
      long next = append(log, number, new ArrayList<>());
      require(log.numbers().getLast() >= number, "an append succeeds again");
      log.reopen(() -> {});
      ackAll(log);
      append(log, next, new ArrayList<>());
      require(log.numbers().getLast() >= next, "an append succeeds again after a restart");
    }
  }

  private static void ackAll(SegmentLogFixture log) throws IOException {
    log.segmentLog().markAcked(log.all().getLast().position(), List.of());
  }

  private static void delete(Path file) {
    try {
      Files.delete(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Appends until five frames are rejected; returns the next number. */
  private static long append(SegmentLogFixture log, long from, List<Long> expected) {
    long number = from;
    for (int rejected = 0; rejected < 5; number++) {
      var frame = NumberedFrameFormat.frame(number, Compression.ZSTD, 1, 50_000);
      if (log.append(frame) instanceof FrameWriteResult.FrameWritten) {
        expected.add(number);
      } else {
        rejected++;
      }
    }
    return number;
  }

  private static void require(boolean condition, String description) {
    if (!condition) {
      throw new IllegalStateException("condition violated: " + description);
    }
  }
}
