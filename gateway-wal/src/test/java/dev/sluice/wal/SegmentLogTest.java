package dev.sluice.wal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.wal.SegmentLog.FrameWriteResult;
import dev.sluice.wal.WalSpool.Fsync;
import dev.sluice.wal.WalSpool.SegmentSettings;
import dev.sluice.wal.WalSpool.WriteSettings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class SegmentLogTest {
  private static final LocalDate DAY = LocalDate.parse("2026-11-22");

  @TempDir Path folder;

  private SegmentLogFixture log(WriteSettings writeSettings, SegmentSettings segmentSettings)
      throws IOException {
    return new SegmentLogFixture(
        folder.resolve("node-a"), writeSettings, segmentSettings, Disk.REAL);
  }

  private static WriteSettings writeSettings(Fsync fsync, long flushBytes, long queueBytes) {
    return new WriteSettings(
        Compression.ZSTD,
        fsync,
        Duration.ofSeconds(5),
        Duration.ofSeconds(2),
        flushBytes,
        queueBytes);
  }

  private static SegmentSettings segmentSettings(long segmentBytes) {
    return new SegmentSettings(
        segmentBytes, Duration.ofHours(1), Long.MAX_VALUE, Long.MAX_VALUE, 0);
  }

  @ParameterizedTest
  @EnumSource
  void append_compression_isReadInOrder(Compression compression) throws Exception {
    var writeSettings =
        new WriteSettings(
            compression,
            Fsync.FLUSH,
            Duration.ofSeconds(1),
            Duration.ofSeconds(1),
            1 << 20,
            1 << 20);
    try (var log = log(writeSettings, SegmentLogFixture.SEGMENT_SETTINGS)) {
      var first = log.appendForPosition(7);
      var second = log.appendForPosition(8);

      assertThat(first).isEqualTo(new FramePosition(DAY, 1, 1));
      assertThat(second).isEqualTo(new FramePosition(DAY, 1, 2));
      assertThat(log.numbers()).containsExactly(7L, 8L);
      assertThat(log.files())
          .containsExactlyInAnyOrder(
              "2026-11-22/seg-000001.wal.idx", "2026-11-22/seg-000001.wal." + compression.suffix());
      SegmentLogFixture.assertIndexMatchesData(log.node);
    }
  }

  @Test
  void append_anyFrame_indexLineHasTheEightFields() throws Exception {
    try (var log = log(SegmentLogFixture.WRITE_SETTINGS, SegmentLogFixture.SEGMENT_SETTINGS)) {
      var frame = NumberedFrameFormat.frame(42, Compression.ZSTD, 3, 50);
      SegmentLogFixture.appendForPosition(log.append(frame));

      assertThat(log.node.resolve("2026-11-22/seg-000001.wal.idx"))
          .hasContent(
              """
              {"file":"seg-000001.wal.zst","frame":1,"off":0,"len":%d,"recs":3,"first_ts":42,\
              "last_ts":42,"crc32":%d}"""
                  .formatted(frame.bytes().length, frame.crc32()));
    }
  }

  @Test
  void append_largerThanTheBuffer_isComplete() throws Exception {
    try (var log = log(SegmentLogFixture.WRITE_SETTINGS, SegmentLogFixture.SEGMENT_SETTINGS)) {
      SegmentLogFixture.appendForPosition(
          log.append(NumberedFrameFormat.frame(1, Compression.ZSTD, 3, 1_500_000)));
      log.appendForPosition(2);

      assertThat(log.numbers()).containsExactly(1L, 2L);
      SegmentLogFixture.assertIndexMatchesData(log.node);
    }
  }

  @Test
  void entriesAfter_anyPosition_returnsLaterEntriesUpToTheLimit() throws Exception {
    try (var log = log(SegmentLogFixture.WRITE_SETTINGS, segmentSettings(2000))) {
      var positions = LongStream.range(0, 500).mapToObj(log::appendForPosition).toList();
      assertThat(log.segmentLog().segments()).hasSizeGreaterThan(3);

      for (int i = 0; i < positions.size(); i++) {
        var lazy = log.segmentLog().entriesAfter(positions.get(i), 7);

        assertThat(lazy.stream().map(SegmentLog.IndexEntry::position))
            .isEqualTo(positions.subList(i + 1, Math.min(i + 8, positions.size())));
        assertThat(log.segmentLog().find(positions.get(i)))
            .isEqualTo(
                log.segmentLog().entriesAfter(i == 0 ? null : positions.get(i - 1), 1).getFirst());
      }
      assertThat(log.segmentLog().find(new FramePosition(DAY, 1, 9999))).isNull();
      assertThat(log.segmentLog().find(new FramePosition(DAY, 9999, 1))).isNull();
    }
  }

  @Test
  void append_lazy_isWrittenAfterTheFlushInterval() throws Exception {
    try (var log = log(SegmentLogFixture.WRITE_SETTINGS, SegmentLogFixture.SEGMENT_SETTINGS)) {
      var written =
          log.segmentLog().append(NumberedFrameFormat.frame(1), false).toCompletableFuture();
      log.clock.advance(Duration.ofMillis(1999));
      assertThat(written).isNotDone();
      assertThat(log.all()).isEmpty();

      log.clock.advance(Duration.ofMillis(1));

      SegmentLogFixture.appendForPosition(written.get(10, TimeUnit.SECONDS));
      assertThat(log.numbers()).containsExactly(1L);
    }
  }

  @Test
  void append_lazyAndManyBytes_isWrittenImmediately() throws Exception {
    var frame = NumberedFrameFormat.frame(1);
    var writeSettings = writeSettings(Fsync.FLUSH, 2L * frame.payloadBytes(), 1 << 20);
    try (var log = log(writeSettings, SegmentLogFixture.SEGMENT_SETTINGS)) {
      var first = log.segmentLog().append(frame, false).toCompletableFuture();
      assertThat(first).isNotDone();
      var second =
          log.segmentLog().append(NumberedFrameFormat.frame(2), false).toCompletableFuture();

      assertThat(SegmentLogFixture.appendForPosition(first.get(10, TimeUnit.SECONDS)).frame())
          .isEqualTo(1);
      assertThat(SegmentLogFixture.appendForPosition(second.get(10, TimeUnit.SECONDS)).frame())
          .isEqualTo(2);
    }
  }

  @Test
  void append_syncAmongLazy_keepsTheOrder() throws Exception {
    try (var log = log(SegmentLogFixture.WRITE_SETTINGS, SegmentLogFixture.SEGMENT_SETTINGS)) {
      for (long number = 0; number < 100; number += 4) {
        var first = log.segmentLog().append(NumberedFrameFormat.frame(number), false);
        var second = log.segmentLog().append(NumberedFrameFormat.frame(number + 1), false);
        var awaited = log.appendForPosition(number + 2);
        var lazy = log.segmentLog().append(NumberedFrameFormat.frame(number + 3), false);

        assertThat(first.toCompletableFuture()).isDone();
        assertThat(second.toCompletableFuture()).isDone();
        assertThat(awaited.frame()).isEqualTo(number + 3);
        assertThat(lazy.toCompletableFuture()).isNotDone();
        assertThat(log.all()).hasSize((int) number + 3);
      }
      log.appendForPosition(100);
      assertThat(log.numbers()).isEqualTo(LongStream.rangeClosed(0, 100).boxed().toList());
    }
  }

  @Test
  void reserve_overTheQueueLimit_failsUntilReleasedUnlessAlone() throws Exception {
    var frame = NumberedFrameFormat.frame(1);
    var writeSettings = writeSettings(Fsync.FLUSH, 1 << 20, frame.bytes().length + 10);
    try (var log = log(writeSettings, SegmentLogFixture.SEGMENT_SETTINGS)) {
      assertThat(log.segmentLog().reserve(11)).isNull();
      assertThat(log.segmentLog().reserve(frame.bytes().length)).contains("wait to be written");

      log.segmentLog().release(11);

      assertThat(log.segmentLog().reserve(2 * writeSettings.queueBytes())).isNull();
      assertThat(log.segmentLog().reserve(1)).contains("wait to be written");
    }
  }

  @Test
  void append_overTheQueueLimit_failsAndTheOthersAreWritten() throws Exception {
    var frame = NumberedFrameFormat.frame(1);
    var writeSettings = writeSettings(Fsync.FLUSH, 1 << 20, frame.bytes().length + 10);
    CompletableFuture<FrameWriteResult> waiting;
    try (var log = log(writeSettings, SegmentLogFixture.SEGMENT_SETTINGS)) {
      waiting = log.segmentLog().append(frame, false).toCompletableFuture();

      assertThat(log.segmentLog().append(frame, true).toCompletableFuture().join())
          .isInstanceOf(FrameWriteResult.Failed.class);
    }
    assertThat(waiting.join()).isInstanceOf(FrameWriteResult.FrameWritten.class);
  }

  @Test
  void append_full_startsNewSegments() throws Exception {
    try (var log = log(SegmentLogFixture.WRITE_SETTINGS, segmentSettings(1))) {
      assertThat(log.appendForPosition(1)).isEqualTo(new FramePosition(DAY, 1, 1));
      assertThat(log.appendForPosition(2)).isEqualTo(new FramePosition(DAY, 2, 1));
    }
  }

  @Test
  void append_oldSegment_startsANewOne() throws Exception {
    try (var log = log(SegmentLogFixture.WRITE_SETTINGS, SegmentLogFixture.SEGMENT_SETTINGS)) {
      log.appendForPosition(1);
      log.clock.advance(Duration.ofMinutes(59));
      assertThat(log.appendForPosition(2)).isEqualTo(new FramePosition(DAY, 1, 2));
      log.clock.advance(Duration.ofMinutes(1));
      assertThat(log.appendForPosition(3)).isEqualTo(new FramePosition(DAY, 2, 1));
    }
  }

  @Test
  void append_nextDay_startsItsDirectory() throws Exception {
    try (var log = log(SegmentLogFixture.WRITE_SETTINGS, SegmentLogFixture.SEGMENT_SETTINGS)) {
      log.clock.set(Instant.parse("2026-11-22T23:59:59.9Z"));
      log.appendForPosition(1);
      log.clock.set(Instant.parse("2026-11-23T00:00:00Z"));

      assertThat(log.appendForPosition(2)).isEqualTo(new FramePosition(DAY.plusDays(1), 1, 1));
    }
  }

  @Test
  void append_clockSetBack_keepsPositionsIncreasing() throws Exception {
    try (var log = log(SegmentLogFixture.WRITE_SETTINGS, SegmentLogFixture.SEGMENT_SETTINGS)) {
      log.appendForPosition(1);
      log.clock.set(Instant.parse("2026-11-20T00:00:00Z"));
      log.reopen(() -> {});

      assertThat(log.appendForPosition(2)).isEqualTo(new FramePosition(DAY, 2, 1));
      assertThat(log.numbers()).containsExactly(1L, 2L);
    }
  }

  @Test
  void append_ackedBeyondAllFiles_keepsPositionsIncreasing() throws Exception {
    try (var log = log(SegmentLogFixture.WRITE_SETTINGS, SegmentLogFixture.SEGMENT_SETTINGS)) {
      log.segmentLog().markAcked(new FramePosition(DAY.plusDays(3), 9, 5), List.of());

      assertThat(log.appendForPosition(1)).isEqualTo(new FramePosition(DAY.plusDays(3), 10, 1));
    }
  }

  @Test
  void open_compressionChanged_readsBoth() throws Exception {
    try (var log = log(SegmentLogFixture.WRITE_SETTINGS, SegmentLogFixture.SEGMENT_SETTINGS)) {
      log.appendForPosition(1);
      log.writeSettings =
          new WriteSettings(
              Compression.GZIP, Fsync.FLUSH, Duration.ZERO, Duration.ZERO, 1 << 20, 1 << 20);
      log.reopen(() -> {});
      log.appendForPosition(2);

      assertThat(log.numbers()).containsExactly(1L, 2L);
      assertThat(log.files()).contains("2026-11-22/seg-000002.wal.gz");
    }
  }

  @Test
  void await_frameAppended_isTrue() throws Exception {
    try (var log = log(SegmentLogFixture.WRITE_SETTINGS, SegmentLogFixture.SEGMENT_SETTINGS)) {
      assertThat(log.segmentLog().await(null, Duration.ZERO)).isFalse();
      var position = log.appendForPosition(1);

      assertThat(log.segmentLog().await(null, Duration.ZERO)).isTrue();
      assertThat(log.segmentLog().await(position, Duration.ZERO)).isFalse();
      var _ = log.segmentLog().append(NumberedFrameFormat.frame(2), true);
      assertThat(log.segmentLog().await(position, Duration.ofSeconds(30))).isTrue();
    }
  }

  @Test
  void close_lazyAppendPending_writesItAndAcceptsNoMore() throws Exception {
    var log = log(SegmentLogFixture.WRITE_SETTINGS, SegmentLogFixture.SEGMENT_SETTINGS);
    var written =
        log.segmentLog().append(NumberedFrameFormat.frame(1), false).toCompletableFuture();

    log.close();
    log.close();

    SegmentLogFixture.appendForPosition(written.get(1, TimeUnit.SECONDS));
    assertThat(log.append(2)).isInstanceOf(FrameWriteResult.Failed.class);
    log.reopen(() -> {});
    assertThat(log.numbers()).containsExactly(1L);
    log.close();
  }

  @Test
  void open_twice_throwsUntilTheFirstIsClosed() throws Exception {
    try (var log = log(SegmentLogFixture.WRITE_SETTINGS, SegmentLogFixture.SEGMENT_SETTINGS)) {
      assertThatThrownBy(() -> new SegmentLogFixture(log.node))
          .isInstanceOf(IOException.class)
          .hasMessageContaining(log.node.toString())
          .hasMessageContaining("another process");
    }
    new SegmentLogFixture(folder.resolve("node-a")).close();
  }

  @Test
  void markAcked_aboveTheHighWatermark_prunesTheOldestToTheLow() throws Exception {
    long size = NumberedFrameFormat.frame(10).bytes().length;
    var segmentSettings = new SegmentSettings(1, Duration.ofHours(1), 4 * size, 2 * size, 0);
    try (var log = log(SegmentLogFixture.WRITE_SETTINGS, segmentSettings)) {
      var positions = LongStream.range(10, 18).mapToObj(log::appendForPosition).toList();

      log.segmentLog().markAcked(positions.get(2), List.of());
      log.reopen(() -> {});
      assertThat(log.numbers()).hasSize(8);

      log.segmentLog().markAcked(positions.get(4), List.of(positions.get(1)));
      log.reopen(() -> {});
      assertThat(log.numbers()).containsExactly(11L, 13L, 14L, 15L, 16L, 17L);
      log.segmentLog().markAcked(positions.get(4), List.of(positions.get(1)));
      assertThat(log.segmentLog().segments().stream().filter(SegmentLog.SegmentInfo::acked))
          .hasSize(2);
    }
  }

  @Test
  void markAcked_everything_retainsOnlyTheNewestSegment() throws Exception {
    try (var log =
        log(
            SegmentLogFixture.WRITE_SETTINGS,
            new SegmentSettings(1, Duration.ofHours(1), 0, 0, 0))) {
      log.appendForPosition(1);
      log.clock.advance(Duration.ofDays(1));
      var last = log.appendForPosition(2);

      log.segmentLog().markAcked(last, List.of());
      log.reopen(() -> {});

      assertThat(log.files())
          .containsExactly("2026-11-23/seg-000001.wal.idx", "2026-11-23/seg-000001.wal.zst");
      assertThat(log.node.resolve("2026-11-22")).doesNotExist();
      assertThat(log.appendForPosition(3)).isGreaterThan(last);
    }
  }

  @Test
  void quarantine_anyFrame_copiesItsBytes() throws Exception {
    try (var log = log(SegmentLogFixture.WRITE_SETTINGS, SegmentLogFixture.SEGMENT_SETTINGS)) {
      log.appendForPosition(1);
      var position = log.appendForPosition(2);
      var frame = Objects.requireNonNull(log.segmentLog().find(position));

      var copy = log.segmentLog().quarantine(frame);

      assertThat(copy).hasFileName("2026-11-22-seg-000001-2.wal.zst");
      assertThat(NumberedFrameFormat.number(Files.readAllBytes(copy))).isEqualTo(2);
    }
  }

  @Test
  void segments_afterARestart_countsRecords() throws Exception {
    try (var log = log(SegmentLogFixture.WRITE_SETTINGS, segmentSettings(1))) {
      log.append(NumberedFrameFormat.frame(1, Compression.ZSTD, 5, 10));
      log.append(NumberedFrameFormat.frame(2, Compression.ZSTD, 7, 10));
      var before = log.segmentLog().segments();

      log.reopen(() -> {});

      assertThat(log.segmentLog().segments()).isEqualTo(before);
      assertThat(before.stream().map(SegmentLog.SegmentInfo::records)).containsExactly(5L, 7L);
    }
  }

  @Test
  void segments_twiceAfterARestart_countsOnce() throws Exception {
    try (var log = log(SegmentLogFixture.WRITE_SETTINGS, segmentSettings(1))) {
      log.append(NumberedFrameFormat.frame(1, Compression.ZSTD, 5, 10));
      log.appendForPosition(2);
      log.reopen(() -> {});
      var first = log.segmentLog().segments();
      var index = log.node.resolve("2026-11-22/seg-000001.wal.idx");
      Files.delete(index);

      assertThat(log.segmentLog().segments()).isEqualTo(first);
      assertThat(index).doesNotExist();
    }
  }

  @Test
  void append_manySmallFrames_startsANewSegment() throws Exception {
    var writeSettings = writeSettings(Fsync.NEVER, 1 << 30, 1 << 30);
    try (var log = log(writeSettings, SegmentLogFixture.SEGMENT_SETTINGS)) {
      var frame = NumberedFrameFormat.frame(1);
      for (int i = 0; i < SegmentWriter.MAX_FRAMES - 1; i++) {
        var _ = log.segmentLog().append(frame, false);
      }

      assertThat(log.appendForPosition(2).frame()).isEqualTo(SegmentWriter.MAX_FRAMES);
      assertThat(log.appendForPosition(3)).isEqualTo(new FramePosition(DAY, 2, 1));
    }
  }

  @Test
  void append_completed_filesAreUnlocked() throws Exception {
    try (var log = log(SegmentLogFixture.WRITE_SETTINGS, SegmentLogFixture.SEGMENT_SETTINGS)) {
      log.appendForPosition(1);
      Files.writeString(log.node.resolve("2026-11-22/seg-000001.wal.idx"), "x");
      var repaired =
          log.segmentLog()
              .append(NumberedFrameFormat.frame(2), true)
              .thenApply(_ -> CompletableFuture.supplyAsync(() -> repairedFrames(log)).join());

      assertThat(repaired.toCompletableFuture().get(30, TimeUnit.SECONDS)).isEqualTo(2);
    }
  }

  /** Reads in another thread than the writer: the repair needs the lock on the files. */
  private static int repairedFrames(SegmentLogFixture log) {
    try {
      return log.all().size();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void advancePast_beyondAllFiles_isNotReused() throws Exception {
    try (var log = log(SegmentLogFixture.WRITE_SETTINGS, SegmentLogFixture.SEGMENT_SETTINGS)) {
      log.segmentLog().advancePast(new FramePosition(DAY, 7, 3));

      assertThat(log.appendForPosition(1)).isEqualTo(new FramePosition(DAY, 8, 1));
    }
  }
}
