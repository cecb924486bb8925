package dev.sluice.wal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.ManualClock;
import dev.sluice.wal.SegmentLog.FrameWriteResult;
import dev.sluice.wal.SegmentLog.IndexEntry;
import dev.sluice.wal.SegmentLog.LogDependencies;
import dev.sluice.wal.WalSpool.Fsync;
import dev.sluice.wal.WalSpool.SegmentSettings;
import dev.sluice.wal.WalSpool.WriteSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/** A segment log with numbered frames, and the operations and assertions of its tests. */
final class SegmentLogFixture implements AutoCloseable {
  static final WriteSettings WRITE_SETTINGS =
      new WriteSettings(
          Compression.ZSTD,
          Fsync.FLUSH,
          Duration.ofSeconds(1),
          Duration.ofSeconds(2),
          64 << 20,
          256 << 20);
  static final SegmentSettings SEGMENT_SETTINGS =
      new SegmentSettings(1 << 30, Duration.ofHours(1), Long.MAX_VALUE, Long.MAX_VALUE, 0);

  final Path node;
  final ManualClock clock = new ManualClock("2026-11-22T10:00:00Z");
  WriteSettings writeSettings = WRITE_SETTINGS;
  SegmentSettings segmentSettings = SEGMENT_SETTINGS;
  Disk disk = Disk.REAL;
  private SegmentLog segmentLog;

  SegmentLogFixture(Path node) throws IOException {
    this(node, WRITE_SETTINGS, SEGMENT_SETTINGS, Disk.REAL);
  }

  SegmentLogFixture(
      Path node, WriteSettings writeSettings, SegmentSettings segmentSettings, Disk disk)
      throws IOException {
    this.node = node;
    this.writeSettings = writeSettings;
    this.segmentSettings = segmentSettings;
    this.disk = disk;
    this.segmentLog = open();
  }

  private SegmentLog open() throws IOException {
    return SegmentLog.open(
        node,
        writeSettings,
        segmentSettings,
        new LogDependencies(clock, clock, disk, NumberedFrameFormat.FORMAT));
  }

  SegmentLog segmentLog() {
    return segmentLog;
  }

  /** Closes the log, runs a change of its files, and opens it again. */
  void reopen(ThrowingRunnable between) throws IOException {
    segmentLog.close();
    between.run();
    segmentLog = open();
  }

  interface ThrowingRunnable {
    void run() throws IOException;
  }

  FrameWriteResult append(long number) {
    return append(NumberedFrameFormat.frame(number, writeSettings.compression(), 1, 20));
  }

  FrameWriteResult append(Frame frame) {
    return segmentLog.append(frame, true).toCompletableFuture().join();
  }

  FramePosition appendForPosition(long number) {
    return appendForPosition(append(number));
  }

  static FramePosition appendForPosition(FrameWriteResult frameWriteResult) {
    assertThat(frameWriteResult).isInstanceOf(FrameWriteResult.FrameWritten.class);
    return ((FrameWriteResult.FrameWritten) frameWriteResult).position();
  }

  List<IndexEntry> all() throws IOException {
    return segmentLog.entriesAfter(null, Integer.MAX_VALUE - 1);
  }

  /** Returns the numbers of all frames, in order. */
  List<Long> numbers() throws IOException {
    var numbers = new ArrayList<Long>();
    for (var frame : all()) {
      numbers.add(NumberedFrameFormat.number(segmentLog.read(frame)));
    }
    return numbers;
  }

  /** Returns the files of the node relative to its directory, sorted, without the lock file. */
  List<String> files() throws IOException {
    try (var tree = Files.walk(node)) {
      return tree.filter(Files::isRegularFile)
          .map(file -> node.relativize(file).toString())
          .filter(file -> !file.equals("lock"))
          .sorted()
          .toList();
    }
  }

  /** Asserts that the lines of every index describe all bytes of its segment. */
  static void assertIndexMatchesData(Path node) throws IOException, UnreadableFrameException {
    for (var name : SegmentName.list(node)) {
      var data = Files.readAllBytes(name.data(node));
      int end = 0;
      int number = 0;
      for (var text : Files.readAllLines(name.index(node))) {
        var line = Objects.requireNonNull(IndexLine.parse(name, text), text);
        var bytes = Arrays.copyOfRange(data, end, end + line.length());
        var frame = NumberedFrameFormat.FORMAT.describe(bytes);
        assertThat(line)
            .isEqualTo(
                new IndexEntry(
                    name.position(++number),
                    end,
                    bytes.length,
                    frame.records(),
                    frame.firstNanos(),
                    frame.lastNanos(),
                    frame.crc32()));
        end += bytes.length;
      }
      assertThat(end).isEqualTo(data.length);
    }
  }

  @Override
  public void close() {
    segmentLog.close();
  }
}
