package dev.sluice.wal;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.nio.file.StandardOpenOption.APPEND;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.wal.SegmentLog.IndexEntry;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Recovery of five frames after a crash or damage on the disk. */
class SegmentLogRecoveryTest {
  @TempDir Path folder;
  private SegmentLogFixture log;
  private Path data;
  private Path index;
  private List<IndexEntry> before;

  @BeforeEach
  void write() throws IOException {
    log = new SegmentLogFixture(folder.resolve("node-a"));
    for (int i = 1; i <= 5; i++) {
      log.appendForPosition(i);
    }
    before = List.copyOf(log.all());
    data = log.node.resolve("2026-11-22/seg-000001.wal.zst");
    index = log.node.resolve("2026-11-22/seg-000001.wal.idx");
  }

  @AfterEach
  void close() {
    log.close();
  }

  private static void truncate(Path file, long size) throws IOException {
    try (var channel = FileChannel.open(file, WRITE)) {
      channel.truncate(size);
    }
  }

  private static void overwrite(Path file, long offset, byte[] bytes) throws IOException {
    try (var channel = FileChannel.open(file, WRITE)) {
      channel.write(ByteBuffer.wrap(bytes), offset);
    }
  }

  private void rewriteIndex(LineChange change) throws IOException {
    var lines = new ArrayList<>(Files.readAllLines(index));
    change.apply(lines);
    Files.write(index, lines);
  }

  private interface LineChange {
    void apply(List<String> lines);
  }

  @Test
  void open_undamaged_changesNothing() throws Exception {
    var lines = Files.readString(index);

    log.reopen(() -> {});

    assertThat(log.all()).isEqualTo(before);
    assertThat(index).hasContent(lines);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3, 10, 30})
  void open_partialFrameAtTheEnd_isTruncated(int bytes) throws Exception {
    log.reopen(
        () -> {
          var torn = NumberedFrameFormat.frame(6).bytes();
          Files.write(data, Arrays.copyOf(torn, bytes), APPEND);
        });

    assertThat(log.all()).isEqualTo(before);
    SegmentLogFixture.assertIndexMatchesData(log.node);
    assertThat(log.appendForPosition(7)).isGreaterThan(before.getLast().position());
    assertThat(log.numbers()).containsExactly(1L, 2L, 3L, 4L, 5L, 7L);
  }

  @Test
  void open_firstFramePartial_isTruncated() throws Exception {
    log.reopen(
        () -> {
          truncate(data, 10);
          truncate(index, 0);
        });

    assertThat(log.all()).isEmpty();
    SegmentLogFixture.assertIndexMatchesData(log.node);
  }

  @Test
  void open_completeFrameWithoutLine_isIndexed() throws Exception {
    log.reopen(() -> Files.write(data, NumberedFrameFormat.frame(6).bytes(), APPEND));

    assertThat(log.numbers()).containsExactly(1L, 2L, 3L, 4L, 5L, 6L);
    SegmentLogFixture.assertIndexMatchesData(log.node);
  }

  @Test
  void open_truncatedIndex_isRewritten() throws Exception {
    log.reopen(() -> truncate(index, Files.size(index) - 20));

    assertThat(log.all()).isEqualTo(before);
    SegmentLogFixture.assertIndexMatchesData(log.node);
  }

  @Test
  void open_indexAheadOfData_isTruncated() throws Exception {
    log.reopen(() -> truncate(data, before.get(3).offset() + 5));

    assertThat(log.all()).isEqualTo(before.subList(0, 3));
    SegmentLogFixture.assertIndexMatchesData(log.node);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2, 4})
  void open_lineMissing_isRewritten(int line) throws Exception {
    log.reopen(() -> rewriteIndex(lines -> lines.remove(line)));

    assertThat(log.all()).isEqualTo(before);
    SegmentLogFixture.assertIndexMatchesData(log.node);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2, 4})
  void open_lineUnreadable_isRewritten(int line) throws Exception {
    log.reopen(() -> rewriteIndex(lines -> lines.set(line, "\u0000\u0000{}")));

    assertThat(log.all()).isEqualTo(before);
    SegmentLogFixture.assertIndexMatchesData(log.node);
  }

  @Test
  void open_indexMissing_isRewritten() throws Exception {
    log.reopen(() -> Files.delete(index));

    assertThat(log.all()).isEqualTo(before);
    SegmentLogFixture.assertIndexMatchesData(log.node);
  }

  @Test
  void open_dataDamagedWithIntactLine_keepsTheLine() throws Exception {
    log.reopen(() -> overwrite(data, before.get(2).offset() + 2, new byte[4]));

    assertThat(log.all()).isEqualTo(before);
    assertThatThrownBy(
            () -> NumberedFrameFormat.FORMAT.describe(log.segmentLog().read(before.get(2))))
        .isInstanceOf(UnreadableFrameException.class);
  }

  @Test
  void open_dataDamagedAndLineMissing_addsAGapFrame() throws Exception {
    log.reopen(
        () -> {
          overwrite(data, before.get(2).offset() + 2, new byte[4]);
          rewriteIndex(lines -> lines.remove(2));
        });

    var hole = before.get(2);
    var after = log.all();
    assertThat(after.get(2))
        .isEqualTo(new IndexEntry(hole.position(), hole.offset(), hole.length(), 0, 0, 0, 0));
    assertThat(after.subList(3, 5)).isEqualTo(before.subList(3, 5));
  }

  @Test
  void open_dataDamagedAndIndexMissing_findsTheFramesAfterIt() throws Exception {
    log.reopen(
        () -> {
          overwrite(data, before.get(2).offset() + 2, new byte[4]);
          overwrite(data, before.get(4).offset() + 2, new byte[4]);
          Files.delete(index);
        });

    var after = log.all();
    assertThat(after.stream().map(IndexEntry::records)).containsExactly(1, 1, 0, 1, 0);
    assertThat(after.get(3)).isEqualTo(before.get(3));
  }

  @ParameterizedTest
  @CsvSource({
    "0,off,1",
    "2,off,1",
    "4,off,1",
    "4,off,-1",
    "2,len,-1",
    "2,len,1",
    "4,len,-1",
    "4,len,1",
    "0,frame,6",
    "2,frame,6",
    "2,frame,-1",
    "3,frame,-2",
    "4,frame,4",
    "4,frame,-1",
    "4,frame,-2"
  })
  void entriesAfter_wrongNumberInLine_isRepaired(int line, String field, int delta)
      throws Exception {
    log.reopen(() -> change(line, field, delta));

    for (int i = 0; i < 5; i++) {
      var frame = before.get(i);
      assertThat(log.segmentLog().find(frame.position())).isEqualTo(frame);
      assertThat(log.segmentLog().entriesAfter(frame.position(), 9))
          .isEqualTo(before.subList(i + 1, 5));
    }
    assertThat(log.all()).isEqualTo(before);
    SegmentLogFixture.assertIndexMatchesData(log.node);
  }

  private void change(int line, String field, int delta) throws IOException {
    rewriteIndex(
        lines ->
            lines.set(
                line,
                Pattern.compile("(?<=\"" + field + "\":)[0-9]+")
                    .matcher(lines.get(line))
                    .replaceFirst(match -> Long.toString(Long.parseLong(match.group()) + delta))));
  }

  @Test
  void entriesAfter_anyIndexByteFlipped_hasEveryFrameAtItsPosition() throws Exception {
    var lines = Files.readAllBytes(index);

    for (int i = 0; i < lines.length; i++) {
      Files.write(index, flipped(lines, i));

      for (int from = 0; from <= 5; from++) {
        var position = from == 0 ? null : before.get(from - 1).position();
        assertThat(locations(log.segmentLog().entriesAfter(position, 2)))
            .as("after frame %d, byte %d", from, i)
            .isEqualTo(locations(before.subList(from, Math.min(5, from + 2))));
      }
    }
  }

  private static byte[] flipped(byte[] lines, int offset) {
    var flipped = lines.clone();
    flipped[offset] ^= (byte) (1 << offset % 3); // most digits become another digit
    return flipped;
  }

  @Test
  void entriesAfter_manyIndexBytesFlipped_hasEveryFrame() throws Exception {
    var lines = Files.readAllBytes(index);
    var random = new Random(1);

    for (int i = 0; i < 200; i++) {
      var flipped = lines;
      for (int j = random.nextInt(20); j >= 0; j--) {
        flipped = flipped(flipped, random.nextInt(lines.length));
      }
      Files.write(index, flipped);

      assertThat(log.numbers()).as("round %d", i).containsExactly(1L, 2L, 3L, 4L, 5L);
    }
  }

  @Test
  void open_anyIndexByteFlipped_hasEveryFrameAtItsPosition() throws Exception {
    var lines = Files.readAllBytes(index);

    for (int i = 0; i < lines.length; i++) {
      var flipped = flipped(lines, i);
      log.reopen(() -> Files.write(index, flipped));

      assertThat(log.segmentLog().lastPosition()).isEqualTo(before.getLast().position());
      assertThat(locations(log.all())).as("byte %d", i).isEqualTo(locations(before));
    }
  }

  /** Returns the fields that recovery verifies without reading the frames. */
  private static List<Location> locations(List<IndexEntry> frames) {
    return frames.stream()
        .map(frame -> new Location(frame.position(), frame.offset(), frame.length()))
        .toList();
  }

  private record Location(FramePosition position, long offset, int length) {}

  @Test
  void open_dataDamagedNextToAWrongLine_keepsItsOwnLine() throws Exception {
    log.reopen(
        () -> {
          overwrite(data, before.get(2).offset() + 2, new byte[4]);
          change(3, "len", 1);
        });

    assertThat(log.all()).isEqualTo(before);
  }

  @Test
  void open_lastFrameDamagedAndPartialFrameAfterIt_truncatesOnlyThePartialFrame() throws Exception {
    log.reopen(
        () -> {
          overwrite(data, before.getLast().offset() + 2, new byte[4]);
          Files.write(data, Arrays.copyOf(NumberedFrameFormat.frame(6).bytes(), 10), APPEND);
        });

    assertThat(log.all()).isEqualTo(before);
    assertThat(Files.size(data)).isEqualTo(before.getLast().offset() + before.getLast().length());
  }

  /** The number of frames stays the same, so that later frames keep their positions. */
  @Test
  void open_twoAdjacentFramesDamagedAndTheirLinesMissing_keepsLaterPositions() throws Exception {
    log.reopen(
        () -> {
          overwrite(data, before.get(1).offset() + 2, new byte[4]);
          overwrite(data, before.get(2).offset() + 2, new byte[4]);
          rewriteIndex(lines -> lines.subList(1, 3).clear());
        });

    var after = log.all();
    assertThat(after.stream().map(IndexEntry::records)).containsExactly(1, 0, 0, 1, 1);
    assertThat(after.subList(3, 5)).isEqualTo(before.subList(3, 5));
    log.reopen(() -> {});
    assertThat(log.all()).isEqualTo(after);
  }

  @Test
  void open_indexOfAPrunedSegment_isDeleted() throws Exception {
    var orphan = log.node.resolve("2026-11-22/seg-000007.wal.idx");

    log.reopen(() -> Files.writeString(orphan, "", UTF_8));

    assertThat(orphan).doesNotExist();
  }

  @Test
  void entriesAfter_olderIndexDamaged_isRepairedOnRead() throws Exception {
    log.reopen(() -> {});
    log.appendForPosition(6); // the first segment is no longer the last
    log.reopen(() -> rewriteIndex(lines -> lines.set(2, "{}")));

    assertThat(log.numbers()).containsExactly(1L, 2L, 3L, 4L, 5L, 6L);
    assertThat(log.segmentLog().find(before.get(2).position())).isEqualTo(before.get(2));
    SegmentLogFixture.assertIndexMatchesData(log.node);
  }

  @Test
  void entriesAfter_liveIndexDamaged_isRepairedAndWritingContinues() throws Exception {
    overwrite(index, 3, new byte[4]);

    assertThat(log.numbers()).containsExactly(1L, 2L, 3L, 4L, 5L);
    log.appendForPosition(6);
    assertThat(log.numbers()).containsExactly(1L, 2L, 3L, 4L, 5L, 6L);
    SegmentLogFixture.assertIndexMatchesData(log.node);
  }

  @Test
  void open_lastLineIntact_defersTheRestToReading() throws Exception {
    log.reopen(() -> rewriteIndex(lines -> lines.set(1, "x".repeat(20))));
    assertThat(index).content().contains("x".repeat(20));

    assertThat(log.numbers()).containsExactly(1L, 2L, 3L, 4L, 5L);
    SegmentLogFixture.assertIndexMatchesData(log.node);
  }
}
