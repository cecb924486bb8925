package dev.sluice.wal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.HandClock;
import dev.sluice.wal.Segments.Indexed;
import dev.sluice.wal.Segments.Outside;
import dev.sluice.wal.Segments.Written;
import dev.sluice.wal.WalSpool.Filing;
import dev.sluice.wal.WalSpool.Fsync;
import dev.sluice.wal.WalSpool.Writing;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/** Segments in the hands of a test, and what tests ask of them. */
final class Log implements AutoCloseable {
  static final Writing WRITING =
      new Writing(
          Compression.ZSTD,
          Fsync.FLUSH,
          Duration.ofSeconds(1),
          Duration.ofSeconds(2),
          64 << 20,
          256 << 20);
  static final Filing FILING =
      new Filing(1 << 30, Duration.ofHours(1), Long.MAX_VALUE, Long.MAX_VALUE, 0);

  final Path node;
  final HandClock clock = new HandClock("2026-11-22T10:00:00Z");
  Writing writing = WRITING;
  Filing filing = FILING;
  Disk disk = Disk.REAL;
  private Segments segments;

  Log(Path node) throws IOException {
    this(node, WRITING, FILING, Disk.REAL);
  }

  Log(Path node, Writing writing, Filing filing, Disk disk) throws IOException {
    this.node = node;
    this.writing = writing;
    this.filing = filing;
    this.disk = disk;
    this.segments = open();
  }

  private Segments open() throws IOException {
    return Segments.open(
        node, writing, filing, new Outside(clock, clock, disk, NumberFrames.FORMAT));
  }

  Segments segments() {
    return segments;
  }

  /** Ends this one, lets the test change the files, and begins another. */
  void reopen(ThrowingRunnable between) throws IOException {
    segments.close();
    between.run();
    segments = open();
  }

  interface ThrowingRunnable {
    void run() throws IOException;
  }

  Written append(long number) {
    return append(NumberFrames.frame(number, writing.compression(), 1, 20));
  }

  Written append(Frame frame) {
    return segments.append(frame, true).toCompletableFuture().join();
  }

  Position appended(long number) {
    return appended(append(number));
  }

  static Position appended(Written written) {
    assertThat(written).isInstanceOf(Written.At.class);
    return ((Written.At) written).position();
  }

  List<Indexed> all() throws IOException {
    return segments.after(null, Integer.MAX_VALUE - 1);
  }

  /** The numbers of all frames, in order. */
  List<Long> numbers() throws IOException {
    var numbers = new ArrayList<Long>();
    for (var frame : all()) {
      numbers.add(NumberFrames.number(segments.read(frame)));
    }
    return numbers;
  }

  /** The files of the node by their names below it, sorted; without the lock. */
  List<String> files() throws IOException {
    try (var tree = Files.walk(node)) {
      return tree.filter(Files::isRegularFile)
          .map(file -> node.relativize(file).toString())
          .filter(file -> !file.equals("lock"))
          .sorted()
          .toList();
    }
  }

  /** Every line of every index says what is in the data, from its first byte to its last. */
  static void assertWhole(Path node) throws IOException, UnreadableFrame {
    for (var name : SegmentName.list(node)) {
      var data = Files.readAllBytes(name.data(node));
      int end = 0;
      int number = 0;
      for (var text : Files.readAllLines(name.index(node))) {
        var line = Objects.requireNonNull(IndexLine.parse(name, text), text);
        var bytes = Arrays.copyOfRange(data, end, end + line.length());
        var frame = NumberFrames.FORMAT.describe(bytes);
        assertThat(line)
            .isEqualTo(
                new Indexed(
                    name.frame(++number),
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
    segments.close();
  }
}
