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

/** Fills the disk on which the folder is, makes room and goes on; prints what it saw. */
final class FillingProcess {
  private FillingProcess() {}

  public static void main(String[] args) throws Exception {
    var folder = Path.of(args[0]);
    long headroom = Long.parseLong(args[1]);
    var segmentSettings =
        new SegmentSettings(300_000, Duration.ofHours(1), Long.MAX_VALUE, Long.MAX_VALUE, headroom);
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
      var settled = log.all().getLast().position();
      Files.delete(ballast);
      number = append(log, number + 1, expected);
      System.out.println("full again after " + number);
      require(log.numbers().equals(expected), "what was confirmed is there, and nothing else");
      log.segmentLog().markAcked(settled, List.of());
      log.reopen(() -> {});
      require(expected.containsAll(log.numbers()), "a start on a full disk loses nothing");
      SegmentLogFixture.assertIndexMatchesData(log.node);
      if (headroom > 0) {
        log.segmentLog().markAcked(log.all().getLast().position(), List.of());
        require(log.append(number + 1) instanceof FrameWriteResult.Written, "pruning made room");
      }
    }
    oneSegment(folder.resolve("node-b"), headroom);
    System.out.println("good");
  }

  /** All that the disk holds is in the segment that is written to, and is delivered. */
  private static void oneSegment(Path node, long headroom) throws Exception {
    try (var files = Files.walk(node.resolveSibling("node-a"))) {
      files.sorted(Comparator.reverseOrder()).forEach(FillingProcess::delete);
    }
    var segmentSettings =
        new SegmentSettings(1 << 30, Duration.ofHours(1), Long.MAX_VALUE, Long.MAX_VALUE, headroom);
    try (var log =
        new SegmentLogFixture(node, SegmentLogFixture.WRITE_SETTINGS, segmentSettings, Disk.REAL)) {
      long number = append(log, 0, new ArrayList<>());
      require(log.segmentLog().segments().size() == 1, "there is one segment");
      settleAll(log);
      long next = append(log, number, new ArrayList<>());
      require(log.numbers().getLast() >= number, "there is room again");
      log.reopen(() -> {});
      settleAll(log);
      append(log, next, new ArrayList<>());
      require(log.numbers().getLast() >= next, "there is room again after a restart");
    }
  }

  private static void settleAll(SegmentLogFixture log) throws IOException {
    log.segmentLog().markAcked(log.all().getLast().position(), List.of());
  }

  private static void delete(Path file) {
    try {
      Files.delete(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Until the disk is full, and some more; the number that comes next. */
  private static long append(SegmentLogFixture log, long from, List<Long> expected) {
    long number = from;
    for (int refused = 0; refused < 5; number++) {
      var frame = NumberedFrameFormat.frame(number, Compression.ZSTD, 1, 50_000);
      if (log.append(frame) instanceof FrameWriteResult.Written) {
        expected.add(number);
      } else {
        refused++;
      }
    }
    return number;
  }

  private static void require(boolean condition, String what) {
    if (!condition) {
      throw new IllegalStateException("not so: " + what);
    }
  }
}
