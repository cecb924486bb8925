package dev.sluice.wal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.wal.FaultyDisk.Step;
import dev.sluice.wal.SegmentLog.FrameWriteResult;
import dev.sluice.wal.WalSpool.Fsync;
import dev.sluice.wal.WalSpool.SegmentSettings;
import dev.sluice.wal.WalSpool.WriteSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SegmentLogFaultTest {
  @TempDir Path folder;
  private final FaultyDisk disk = new FaultyDisk();

  private SegmentLogFixture log(Fsync fsync, SegmentSettings segmentSettings) throws IOException {
    var writeSettings =
        new WriteSettings(
            Compression.ZSTD,
            fsync,
            Duration.ofSeconds(5),
            Duration.ofSeconds(2),
            1 << 20,
            1 << 20);
    return new SegmentLogFixture(folder.resolve("node-a"), writeSettings, segmentSettings, disk);
  }

  @ParameterizedTest
  @CsvSource({"CREATE,zst", "CREATE,idx", "WRITE,zst", "WRITE,idx", "FORCE,zst", "FORCE,idx"})
  void append_stepFails_leavesNothingAndContinues(Step step, String suffix) throws Exception {
    try (var log =
        log(
            Fsync.FLUSH,
            step == Step.CREATE ? oneFramePerSegment() : SegmentLogFixture.SEGMENT_SETTINGS)) {
      log.appendForPosition(1);
      disk.fail(step, suffix);
      assertThat(log.append(2)).isInstanceOf(FrameWriteResult.Failed.class);
      assertThat(log.append(3)).isInstanceOf(FrameWriteResult.Failed.class);
      assertThat(log.numbers()).containsExactly(1L);
      assertThat(log.segmentLog().unavailableReason()).contains("cannot be written");
      log.clock.advance(SegmentLog.RETRY_AFTER);
      assertThat(log.segmentLog().unavailableReason()).isNull();

      disk.heal();
      log.appendForPosition(4);
      log.appendForPosition(5);

      assertThat(log.numbers()).containsExactly(1L, 4L, 5L);
      assertThat(log.segmentLog().unavailableReason()).isNull();
      SegmentLogFixture.assertIndexMatchesData(log.node);
      log.reopen(() -> {});
      assertThat(log.numbers()).containsExactly(1L, 4L, 5L);
    }
  }

  private static SegmentSettings oneFramePerSegment() {
    return new SegmentSettings(1, Duration.ofHours(1), Long.MAX_VALUE, Long.MAX_VALUE, 0);
  }

  @ParameterizedTest
  @ValueSource(strings = {"zst", "idx"})
  void append_writeAndTruncationFail_isTruncatedLater(String suffix) throws Exception {
    try (var log = log(Fsync.FLUSH, SegmentLogFixture.SEGMENT_SETTINGS)) {
      log.appendForPosition(1);
      disk.fail(Step.WRITE, "idx");
      disk.fail(Step.TRUNCATE, suffix);
      assertThat(log.append(2)).isInstanceOf(FrameWriteResult.Failed.class);
      disk.heal();

      assertThat(log.appendForPosition(3).segment()).isEqualTo(2);

      log.appendForPosition(4);
      log.reopen(() -> {});
      assertThat(log.numbers()).containsExactly(1L, 3L, 4L);
      SegmentLogFixture.assertIndexMatchesData(log.node);
    }
  }

  @Test
  void append_truncatedTwoAppendsLater_closesItsFilesThen() throws Exception {
    try (var log = log(Fsync.FLUSH, SegmentLogFixture.SEGMENT_SETTINGS)) {
      log.appendForPosition(1);
      disk.fail(Step.WRITE, "idx");
      disk.fail(Step.TRUNCATE, "zst");
      assertThat(log.append(2)).isInstanceOf(FrameWriteResult.Failed.class);
      assertThat(log.append(3)).isInstanceOf(FrameWriteResult.Failed.class);
      disk.heal();

      log.appendForPosition(4);

      assertThat(disk.openFiles()).isEqualTo(2); // the newest segment and its index
    }
  }

  @Test
  void append_forceFailed_isNotRetriedOnThatFile() throws Exception {
    try (var log = log(Fsync.FLUSH, SegmentLogFixture.SEGMENT_SETTINGS)) {
      log.appendForPosition(1);
      disk.fail(Step.FORCE, "zst");
      assertThat(log.append(2)).isInstanceOf(FrameWriteResult.Failed.class);
      disk.heal();

      assertThat(log.appendForPosition(3)).isEqualTo(log.all().getLast().position());
      assertThat(log.all().getLast().position().segment()).isEqualTo(2);
    }
  }

  @Test
  void append_flushPolicy_forcesDataAndIndexOnceForAll() throws Exception {
    try (var log = log(Fsync.FLUSH, SegmentLogFixture.SEGMENT_SETTINGS)) {
      log.appendForPosition(1);
      long before = disk.count(Step.FORCE, "zst");
      for (int i = 0; i < 10; i++) {
        var _ = log.segmentLog().append(NumberedFrameFormat.frame(i), false);
      }
      log.appendForPosition(11);

      assertThat(log.numbers()).hasSize(12);
      assertThat(disk.count(Step.FORCE, "zst")).isEqualTo(before + 1);
      assertThat(disk.count(Step.FORCE, "idx")).isEqualTo(before + 1);
    }
  }

  @Test
  void append_intervalPolicy_forcesWithoutFurtherAppends() throws Exception {
    try (var log = log(Fsync.INTERVAL, SegmentLogFixture.SEGMENT_SETTINGS)) {
      log.appendForPosition(1);
      log.appendForPosition(2);
      assertThat(disk.count(Step.FORCE, "zst")).isZero();

      log.clock.advance(Duration.ofSeconds(5));
      log.appendForPosition(3);
      log.appendForPosition(4); // when it is written, the fsync that was due is complete

      assertThat(disk.count(Step.FORCE, "zst")).isEqualTo(1);
      assertThat(disk.count(Step.FORCE, "idx")).isEqualTo(1);
    }
  }

  @Test
  void append_neverPolicy_forcesOnlyAtClose() throws Exception {
    try (var log = log(Fsync.NEVER, oneFramePerSegment())) {
      log.appendForPosition(1);
      log.appendForPosition(2);
      log.clock.advance(Duration.ofHours(1));
      assertThat(disk.count(Step.FORCE, "zst")).isZero();

      log.reopen(() -> {});

      assertThat(disk.count(Step.FORCE, "zst")).isEqualTo(2);
    }
  }

  @Test
  void append_belowMinFreeDisk_failsUntilThereIsSpace() throws Exception {
    var segmentSettings =
        new SegmentSettings(1 << 30, Duration.ofHours(1), Long.MAX_VALUE, Long.MAX_VALUE, 1000);
    try (var log = log(Fsync.FLUSH, segmentSettings)) {
      log.appendForPosition(1);
      disk.usableSpace(999);

      assertThat(log.append(2)).isInstanceOf(FrameWriteResult.Failed.class);
      assertThat(log.segmentLog().unavailableReason()).contains("999 bytes").contains("1000");

      disk.usableSpace(2000);
      assertThat(log.append(3)).isInstanceOf(FrameWriteResult.FrameWritten.class);
      assertThat(log.segmentLog().unavailableReason()).isNull();
      assertThat(log.numbers()).containsExactly(1L, 3L);
    }
  }

  @Test
  void append_belowMinFreeDisk_prunesAckedSegmentsFirst() throws Exception {
    var segmentSettings =
        new SegmentSettings(1, Duration.ofHours(1), Long.MAX_VALUE, Long.MAX_VALUE, 1000);
    try (var log = log(Fsync.FLUSH, segmentSettings)) {
      log.appendForPosition(1);
      var acked = log.appendForPosition(2);
      log.appendForPosition(3);
      log.segmentLog().markAcked(acked, List.of());
      disk.usableSpace(999);

      assertThat(log.append(4)).isInstanceOf(FrameWriteResult.Failed.class);

      assertThat(log.numbers()).containsExactly(3L);
    }
  }

  private static SegmentSettings oneSegment(long minFreeDiskBytes) {
    return new SegmentSettings(
        1 << 30, Duration.ofHours(1), Long.MAX_VALUE, Long.MAX_VALUE, minFreeDiskBytes);
  }

  @Test
  void append_belowMinFreeDisk_prunesTheNewestSegmentOnceAcked() throws Exception {
    try (var log = log(Fsync.FLUSH, oneSegment(1000))) {
      log.appendForPosition(1);
      var last = log.appendForPosition(2);
      disk.usableSpace(999);
      assertThat(log.append(3)).isInstanceOf(FrameWriteResult.Failed.class);
      assertThat(log.numbers()).containsExactly(1L, 2L);

      log.segmentLog().markAcked(last, List.of());
      assertThat(log.append(4)).isInstanceOf(FrameWriteResult.Failed.class);

      assertThat(log.files()).isEmpty();
      disk.usableSpace(100_000);
      assertThat(log.appendForPosition(5)).isEqualTo(new FramePosition(last.day(), 2, 1));
    }
  }

  @Test
  void append_belowMinFreeDiskAfterARestart_prunesAckedSegments() throws Exception {
    try (var log = log(Fsync.FLUSH, oneSegment(1000))) {
      var last = log.appendForPosition(1);
      log.reopen(() -> disk.usableSpace(999));

      log.segmentLog().markAcked(last, List.of());
      assertThat(log.append(2)).isInstanceOf(FrameWriteResult.Failed.class);

      assertThat(log.files()).isEmpty();
    }
  }

  @Test
  void append_belowMinFreeDisk_retainsANewestSegmentWithSkippedFrames() throws Exception {
    try (var log = log(Fsync.FLUSH, oneSegment(1000))) {
      var skipped = log.appendForPosition(1);
      var last = log.appendForPosition(2);
      disk.usableSpace(999);

      log.segmentLog().markAcked(last, List.of(skipped));
      assertThat(log.append(3)).isInstanceOf(FrameWriteResult.Failed.class);

      assertThat(log.numbers()).containsExactly(1L, 2L);
    }
  }

  @Test
  void append_diskFullWithoutMinFreeDisk_prunesTheNewestSegmentOnceAcked() throws Exception {
    try (var log = log(Fsync.FLUSH, oneSegment(0))) {
      var last = log.appendForPosition(1);
      disk.usableSpace(0);
      disk.fail(Step.WRITE, "zst");
      assertThat(log.append(2)).isInstanceOf(FrameWriteResult.Failed.class);
      assertThat(log.numbers()).containsExactly(1L);

      log.segmentLog().markAcked(last, List.of());
      assertThat(log.append(3)).isInstanceOf(FrameWriteResult.Failed.class);
      log.segmentLog().close(); // waits for the writer

      assertThat(log.files()).isEmpty();
    }
  }

  @Test
  void append_writeFailsWithSpaceLeft_prunesNothing() throws Exception {
    try (var log = log(Fsync.FLUSH, oneSegment(0))) {
      log.segmentLog().markAcked(log.appendForPosition(1), List.of());
      disk.fail(Step.WRITE, "zst");

      assertThat(log.append(2)).isInstanceOf(FrameWriteResult.Failed.class);
      log.segmentLog().close(); // waits for the writer

      assertThat(log.numbers()).containsExactly(1L);
    }
  }

  @Test
  void unavailableReason_clockSetBack_isCleared() throws Exception {
    try (var log = log(Fsync.FLUSH, SegmentLogFixture.SEGMENT_SETTINGS)) {
      disk.fail(Step.WRITE, "zst");
      assertThat(log.append(1)).isInstanceOf(FrameWriteResult.Failed.class);
      assertThat(log.segmentLog().unavailableReason()).isNotNull();

      log.clock.advance(Duration.ofHours(-1));

      assertThat(log.segmentLog().unavailableReason()).isNull();
    }
  }

  @Test
  void open_newDirectories_areDurable() throws Exception {
    var base = folder.toRealPath();
    new SegmentLogFixture(
            base.resolve("one/two/node"),
            SegmentLogFixture.WRITE_SETTINGS,
            SegmentLogFixture.SEGMENT_SETTINGS,
            disk)
        .close();

    assertThat(disk.calls)
        .containsSubsequence(
            "FORCE " + base, "FORCE " + base.resolve("one"), "FORCE " + base.resolve("one/two"));
  }
}
