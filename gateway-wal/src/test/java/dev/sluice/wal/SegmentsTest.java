package dev.sluice.wal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.wal.Segments.Written;
import dev.sluice.wal.WalSpool.Filing;
import dev.sluice.wal.WalSpool.Fsync;
import dev.sluice.wal.WalSpool.Writing;
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

class SegmentsTest {
  private static final LocalDate DAY = LocalDate.parse("2026-11-22");

  @TempDir Path folder;

  private Log log(Writing writing, Filing filing) throws IOException {
    return new Log(folder.resolve("node-a"), writing, filing, Disk.REAL);
  }

  private static Writing writing(Fsync fsync, long flushBytes, long queueBytes) {
    return new Writing(
        Compression.ZSTD,
        fsync,
        Duration.ofSeconds(5),
        Duration.ofSeconds(2),
        flushBytes,
        queueBytes);
  }

  private static Filing filing(long segmentBytes) {
    return new Filing(segmentBytes, Duration.ofHours(1), Long.MAX_VALUE, Long.MAX_VALUE, 0);
  }

  @ParameterizedTest
  @EnumSource
  void append_compression_isReadInOrder(Compression compression) throws Exception {
    var writing =
        new Writing(
            compression,
            Fsync.FLUSH,
            Duration.ofSeconds(1),
            Duration.ofSeconds(1),
            1 << 20,
            1 << 20);
    try (var log = log(writing, Log.FILING)) {
      var first = log.appended(7);
      var second = log.appended(8);

      assertThat(first).isEqualTo(new Position(DAY, 1, 1));
      assertThat(second).isEqualTo(new Position(DAY, 1, 2));
      assertThat(log.numbers()).containsExactly(7L, 8L);
      assertThat(log.files())
          .containsExactlyInAnyOrder(
              "2026-11-22/seg-000001.wal.idx", "2026-11-22/seg-000001.wal." + compression.suffix());
      Log.assertWhole(log.node);
    }
  }

  @Test
  void append_anyFrame_indexLineHasTheEightFields() throws Exception {
    try (var log = log(Log.WRITING, Log.FILING)) {
      var frame = NumberFrames.frame(42, Compression.ZSTD, 3, 50);
      Log.appended(log.append(frame));

      assertThat(log.node.resolve("2026-11-22/seg-000001.wal.idx"))
          .hasContent(
              """
              {"file":"seg-000001.wal.zst","frame":1,"off":0,"len":%d,"recs":3,"first_ts":42,\
              "last_ts":42,"crc32":%d}"""
                  .formatted(frame.bytes().length, frame.crc32()));
    }
  }

  @Test
  void append_largerThanTheBuffer_isWhole() throws Exception {
    try (var log = log(Log.WRITING, Log.FILING)) {
      Log.appended(log.append(NumberFrames.frame(1, Compression.ZSTD, 3, 1_500_000)));
      log.appended(2);

      assertThat(log.numbers()).containsExactly(1L, 2L);
      Log.assertWhole(log.node);
    }
  }

  @Test
  void after_anyPosition_givesWhatIsBehindItUpToTheLimit() throws Exception {
    try (var log = log(Log.WRITING, filing(2000))) {
      var positions = LongStream.range(0, 500).mapToObj(log::appended).toList();
      assertThat(log.segments().segments()).hasSizeGreaterThan(3);

      for (int i = 0; i < positions.size(); i++) {
        var behind = log.segments().after(positions.get(i), 7);

        assertThat(behind.stream().map(Segments.Indexed::position))
            .isEqualTo(positions.subList(i + 1, Math.min(i + 8, positions.size())));
        assertThat(log.segments().find(positions.get(i)))
            .isEqualTo(log.segments().after(i == 0 ? null : positions.get(i - 1), 1).getFirst());
      }
      assertThat(log.segments().find(new Position(DAY, 1, 9999))).isNull();
      assertThat(log.segments().find(new Position(DAY, 9999, 1))).isNull();
    }
  }

  @Test
  void append_unhurried_isWrittenWhenItHasGrownOld() throws Exception {
    try (var log = log(Log.WRITING, Log.FILING)) {
      var written = log.segments().append(NumberFrames.frame(1), false).toCompletableFuture();
      log.clock.advance(Duration.ofMillis(1999));
      assertThat(written).isNotDone();
      assertThat(log.all()).isEmpty();

      log.clock.advance(Duration.ofMillis(1));

      Log.appended(written.get(10, TimeUnit.SECONDS));
      assertThat(log.numbers()).containsExactly(1L);
    }
  }

  @Test
  void append_unhurriedAndManyBytes_isWrittenAtOnce() throws Exception {
    var frame = NumberFrames.frame(1);
    var writing = writing(Fsync.FLUSH, 2L * frame.payloadBytes(), 1 << 20);
    try (var log = log(writing, Log.FILING)) {
      var first = log.segments().append(frame, false).toCompletableFuture();
      assertThat(first).isNotDone();
      var second = log.segments().append(NumberFrames.frame(2), false).toCompletableFuture();

      assertThat(Log.appended(first.get(10, TimeUnit.SECONDS)).frame()).isEqualTo(1);
      assertThat(Log.appended(second.get(10, TimeUnit.SECONDS)).frame()).isEqualTo(2);
    }
  }

  @Test
  void append_awaitedAmongUnhurried_keepsTheOrder() throws Exception {
    try (var log = log(Log.WRITING, Log.FILING)) {
      for (long number = 0; number < 100; number += 4) {
        var first = log.segments().append(NumberFrames.frame(number), false);
        var second = log.segments().append(NumberFrames.frame(number + 1), false);
        var awaited = log.appended(number + 2);
        var behind = log.segments().append(NumberFrames.frame(number + 3), false);

        assertThat(first.toCompletableFuture()).isDone();
        assertThat(second.toCompletableFuture()).isDone();
        assertThat(awaited.frame()).isEqualTo(number + 3);
        assertThat(behind.toCompletableFuture()).isNotDone();
        assertThat(log.all()).hasSize((int) number + 3);
      }
      log.appended(100);
      assertThat(log.numbers()).isEqualTo(LongStream.rangeClosed(0, 100).boxed().toList());
    }
  }

  @Test
  void reserve_moreThanMayBeHeld_isRefusedUntilReleasedButForALoneOne() throws Exception {
    var frame = NumberFrames.frame(1);
    var writing = writing(Fsync.FLUSH, 1 << 20, frame.bytes().length + 10);
    try (var log = log(writing, Log.FILING)) {
      assertThat(log.segments().reserve(11)).isNull();
      assertThat(log.segments().reserve(frame.bytes().length)).contains("wait to be written");

      log.segments().release(11);

      assertThat(log.segments().reserve(2 * writing.queueBytes())).isNull();
      assertThat(log.segments().reserve(1)).contains("wait to be written");
    }
  }

  @Test
  void append_moreThanMayWait_isRefusedAndTheOthersAreWritten() throws Exception {
    var frame = NumberFrames.frame(1);
    var writing = writing(Fsync.FLUSH, 1 << 20, frame.bytes().length + 10);
    CompletableFuture<Written> waiting;
    try (var log = log(writing, Log.FILING)) {
      waiting = log.segments().append(frame, false).toCompletableFuture();

      assertThat(log.segments().append(frame, true).toCompletableFuture().join())
          .isInstanceOf(Written.Not.class);
    }
    assertThat(waiting.join()).isInstanceOf(Written.At.class);
  }

  @Test
  void append_full_startsNewSegments() throws Exception {
    try (var log = log(Log.WRITING, filing(1))) {
      assertThat(log.appended(1)).isEqualTo(new Position(DAY, 1, 1));
      assertThat(log.appended(2)).isEqualTo(new Position(DAY, 2, 1));
    }
  }

  @Test
  void append_oldSegment_startsANewOne() throws Exception {
    try (var log = log(Log.WRITING, Log.FILING)) {
      log.appended(1);
      log.clock.advance(Duration.ofMinutes(59));
      assertThat(log.appended(2)).isEqualTo(new Position(DAY, 1, 2));
      log.clock.advance(Duration.ofMinutes(1));
      assertThat(log.appended(3)).isEqualTo(new Position(DAY, 2, 1));
    }
  }

  @Test
  void append_nextDay_startsItsFolder() throws Exception {
    try (var log = log(Log.WRITING, Log.FILING)) {
      log.clock.set(Instant.parse("2026-11-22T23:59:59.9Z"));
      log.appended(1);
      log.clock.set(Instant.parse("2026-11-23T00:00:00Z"));

      assertThat(log.appended(2)).isEqualTo(new Position(DAY.plusDays(1), 1, 1));
    }
  }

  @Test
  void append_clockSetBack_staysBehindWhatIsThere() throws Exception {
    try (var log = log(Log.WRITING, Log.FILING)) {
      log.appended(1);
      log.clock.set(Instant.parse("2026-11-20T00:00:00Z"));
      log.reopen(() -> {});

      assertThat(log.appended(2)).isEqualTo(new Position(DAY, 2, 1));
      assertThat(log.numbers()).containsExactly(1L, 2L);
    }
  }

  @Test
  void append_settledBeyondAllFiles_staysBehindIt() throws Exception {
    try (var log = log(Log.WRITING, Log.FILING)) {
      log.segments().settled(new Position(DAY.plusDays(3), 9, 5), List.of());

      assertThat(log.appended(1)).isEqualTo(new Position(DAY.plusDays(3), 10, 1));
    }
  }

  @Test
  void open_compressionChanged_readsBoth() throws Exception {
    try (var log = log(Log.WRITING, Log.FILING)) {
      log.appended(1);
      log.writing =
          new Writing(
              Compression.GZIP, Fsync.FLUSH, Duration.ZERO, Duration.ZERO, 1 << 20, 1 << 20);
      log.reopen(() -> {});
      log.appended(2);

      assertThat(log.numbers()).containsExactly(1L, 2L);
      assertThat(log.files()).contains("2026-11-22/seg-000002.wal.gz");
    }
  }

  @Test
  void await_frameComes_saysSo() throws Exception {
    try (var log = log(Log.WRITING, Log.FILING)) {
      assertThat(log.segments().await(null, Duration.ZERO)).isFalse();
      var position = log.appended(1);

      assertThat(log.segments().await(null, Duration.ZERO)).isTrue();
      assertThat(log.segments().await(position, Duration.ZERO)).isFalse();
      var _ = log.segments().append(NumberFrames.frame(2), true);
      assertThat(log.segments().await(position, Duration.ofSeconds(30))).isTrue();
    }
  }

  @Test
  void close_unhurried_writesItAndTakesNoMore() throws Exception {
    var log = log(Log.WRITING, Log.FILING);
    var written = log.segments().append(NumberFrames.frame(1), false).toCompletableFuture();

    log.close();
    log.close();

    Log.appended(written.get(1, TimeUnit.SECONDS));
    assertThat(log.append(2)).isInstanceOf(Written.Not.class);
    log.reopen(() -> {});
    assertThat(log.numbers()).containsExactly(1L);
    log.close();
  }

  @Test
  void open_twice_isRefusedUntilTheFirstHasEnded() throws Exception {
    try (var log = log(Log.WRITING, Log.FILING)) {
      assertThatThrownBy(() -> new Log(log.node))
          .isInstanceOf(IOException.class)
          .hasMessageContaining(log.node.toString())
          .hasMessageContaining("another process");
    }
    new Log(folder.resolve("node-a")).close();
  }

  @Test
  void settled_aboveTheHighWatermark_prunesTheOldestToTheLow() throws Exception {
    long size = NumberFrames.frame(10).bytes().length;
    var filing = new Filing(1, Duration.ofHours(1), 4 * size, 2 * size, 0);
    try (var log = log(Log.WRITING, filing)) {
      var positions = LongStream.range(10, 18).mapToObj(log::appended).toList();

      log.segments().settled(positions.get(2), List.of());
      log.reopen(() -> {});
      assertThat(log.numbers()).hasSize(8);

      log.segments().settled(positions.get(4), List.of(positions.get(1)));
      log.reopen(() -> {});
      assertThat(log.numbers()).containsExactly(11L, 13L, 14L, 15L, 16L, 17L);
      log.segments().settled(positions.get(4), List.of(positions.get(1)));
      assertThat(log.segments().segments().stream().filter(Segments.Segment::settled)).hasSize(2);
    }
  }

  @Test
  void settled_everything_keepsTheNewestSegmentAlone() throws Exception {
    try (var log = log(Log.WRITING, new Filing(1, Duration.ofHours(1), 0, 0, 0))) {
      log.appended(1);
      log.clock.advance(Duration.ofDays(1));
      var last = log.appended(2);

      log.segments().settled(last, List.of());
      log.reopen(() -> {});

      assertThat(log.files())
          .containsExactly("2026-11-23/seg-000001.wal.idx", "2026-11-23/seg-000001.wal.zst");
      assertThat(log.node.resolve("2026-11-22")).doesNotExist();
      assertThat(log.appended(3)).isGreaterThan(last);
    }
  }

  @Test
  void quarantine_anyFrame_keepsItsBytes() throws Exception {
    try (var log = log(Log.WRITING, Log.FILING)) {
      log.appended(1);
      var position = log.appended(2);
      var frame = Objects.requireNonNull(log.segments().find(position));

      var copy = log.segments().quarantine(frame);

      assertThat(copy).hasFileName("2026-11-22-seg-000001-2.wal.zst");
      assertThat(NumberFrames.number(Files.readAllBytes(copy))).isEqualTo(2);
    }
  }

  @Test
  void segments_afterARestart_countsRecords() throws Exception {
    try (var log = log(Log.WRITING, filing(1))) {
      log.append(NumberFrames.frame(1, Compression.ZSTD, 5, 10));
      log.append(NumberFrames.frame(2, Compression.ZSTD, 7, 10));
      var before = log.segments().segments();

      log.reopen(() -> {});

      assertThat(log.segments().segments()).isEqualTo(before);
      assertThat(before.stream().map(Segments.Segment::records)).containsExactly(5L, 7L);
    }
  }

  @Test
  void segments_twiceAfterARestart_countsOnce() throws Exception {
    try (var log = log(Log.WRITING, filing(1))) {
      log.append(NumberFrames.frame(1, Compression.ZSTD, 5, 10));
      log.appended(2);
      log.reopen(() -> {});
      var first = log.segments().segments();
      var index = log.node.resolve("2026-11-22/seg-000001.wal.idx");
      Files.delete(index);

      assertThat(log.segments().segments()).isEqualTo(first);
      assertThat(index).doesNotExist();
    }
  }

  @Test
  void append_manySmallFrames_startsANewSegment() throws Exception {
    var writing = writing(Fsync.NEVER, 1 << 30, 1 << 30);
    try (var log = log(writing, Log.FILING)) {
      var frame = NumberFrames.frame(1);
      for (int i = 0; i < SegmentWriter.MAX_FRAMES - 1; i++) {
        var _ = log.segments().append(frame, false);
      }

      assertThat(log.appended(2).frame()).isEqualTo(SegmentWriter.MAX_FRAMES);
      assertThat(log.appended(3)).isEqualTo(new Position(DAY, 2, 1));
    }
  }

  @Test
  void append_answered_findsTheFilesFree() throws Exception {
    try (var log = log(Log.WRITING, Log.FILING)) {
      log.appended(1);
      Files.writeString(log.node.resolve("2026-11-22/seg-000001.wal.idx"), "x");
      var found =
          log.segments()
              .append(NumberFrames.frame(2), true)
              .thenApply(_ -> CompletableFuture.supplyAsync(() -> mended(log)).join());

      assertThat(found.toCompletableFuture().get(30, TimeUnit.SECONDS)).isEqualTo(2);
    }
  }

  /** By another thread than the one that writes: mending needs the files. */
  private static int mended(Log log) {
    try {
      return log.all().size();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void known_beyondAllFiles_isNotUsedAgain() throws Exception {
    try (var log = log(Log.WRITING, Log.FILING)) {
      log.segments().known(new Position(DAY, 7, 3));

      assertThat(log.appended(1)).isEqualTo(new Position(DAY, 8, 1));
    }
  }
}
