package dev.sluice.wal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.wal.FaultyDisk.Step;
import dev.sluice.wal.Segments.Written;
import dev.sluice.wal.WalSpool.Filing;
import dev.sluice.wal.WalSpool.Fsync;
import dev.sluice.wal.WalSpool.Writing;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SegmentsFaultTest {
  @TempDir Path folder;
  private final FaultyDisk disk = new FaultyDisk();

  private Log log(Fsync fsync, Filing filing) throws IOException {
    var writing =
        new Writing(
            Compression.ZSTD,
            fsync,
            Duration.ofSeconds(5),
            Duration.ofSeconds(2),
            1 << 20,
            1 << 20);
    return new Log(folder.resolve("node-a"), writing, filing, disk);
  }

  @ParameterizedTest
  @CsvSource({"CREATE,zst", "CREATE,idx", "WRITE,zst", "WRITE,idx", "FORCE,zst", "FORCE,idx"})
  void append_aStepFails_leavesNothingAndGoesOn(Step step, String suffix) throws Exception {
    try (var log = log(Fsync.FLUSH, step == Step.CREATE ? eachItsOwn() : Log.FILING)) {
      log.appended(1);
      disk.fail(step, suffix);
      assertThat(log.append(2)).isInstanceOf(Written.Not.class);
      assertThat(log.append(3)).isInstanceOf(Written.Not.class);
      assertThat(log.numbers()).containsExactly(1L);
      assertThat(log.segments().obstacle()).contains("cannot be written");
      log.clock.advance(Segments.RETRY);
      assertThat(log.segments().obstacle()).isNull();

      disk.heal();
      log.appended(4);
      log.appended(5);

      assertThat(log.numbers()).containsExactly(1L, 4L, 5L);
      assertThat(log.segments().obstacle()).isNull();
      Log.assertWhole(log.node);
      log.reopen(() -> {});
      assertThat(log.numbers()).containsExactly(1L, 4L, 5L);
    }
  }

  private static Filing eachItsOwn() {
    return new Filing(1, Duration.ofHours(1), Long.MAX_VALUE, Long.MAX_VALUE, 0);
  }

  @ParameterizedTest
  @ValueSource(strings = {"zst", "idx"})
  void append_writeAndTruncationFail_isCutOffLater(String suffix) throws Exception {
    try (var log = log(Fsync.FLUSH, Log.FILING)) {
      log.appended(1);
      disk.fail(Step.WRITE, "idx");
      disk.fail(Step.TRUNCATE, suffix);
      assertThat(log.append(2)).isInstanceOf(Written.Not.class);
      disk.heal();

      assertThat(log.appended(3).segment()).isEqualTo(2);

      log.appended(4);
      log.reopen(() -> {});
      assertThat(log.numbers()).containsExactly(1L, 3L, 4L);
      Log.assertWhole(log.node);
    }
  }

  @Test
  void append_cutOffTwoAppendsLater_closesItsFilesThen() throws Exception {
    try (var log = log(Fsync.FLUSH, Log.FILING)) {
      log.appended(1);
      disk.fail(Step.WRITE, "idx");
      disk.fail(Step.TRUNCATE, "zst");
      assertThat(log.append(2)).isInstanceOf(Written.Not.class);
      assertThat(log.append(3)).isInstanceOf(Written.Not.class);
      disk.heal();

      log.appended(4);

      assertThat(disk.open()).isEqualTo(2); // the newest segment and its index
    }
  }

  @Test
  void append_forceFailed_isNotAskedAgainOfThatFile() throws Exception {
    try (var log = log(Fsync.FLUSH, Log.FILING)) {
      log.appended(1);
      disk.fail(Step.FORCE, "zst");
      assertThat(log.append(2)).isInstanceOf(Written.Not.class);
      disk.heal();

      assertThat(log.appended(3)).isEqualTo(log.all().getLast().position());
      assertThat(log.all().getLast().position().segment()).isEqualTo(2);
    }
  }

  @Test
  void append_flushPolicy_forcesDataAndIndexOnceForAll() throws Exception {
    try (var log = log(Fsync.FLUSH, Log.FILING)) {
      log.appended(1);
      long before = disk.count(Step.FORCE, "zst");
      for (int i = 0; i < 10; i++) {
        var _ = log.segments().append(NumberFrames.frame(i), false);
      }
      log.appended(11);

      assertThat(log.numbers()).hasSize(12);
      assertThat(disk.count(Step.FORCE, "zst")).isEqualTo(before + 1);
      assertThat(disk.count(Step.FORCE, "idx")).isEqualTo(before + 1);
    }
  }

  @Test
  void append_intervalPolicy_forcesWhenItIsTimeThoughNothingComes() throws Exception {
    try (var log = log(Fsync.INTERVAL, Log.FILING)) {
      log.appended(1);
      log.appended(2);
      assertThat(disk.count(Step.FORCE, "zst")).isZero();

      log.clock.advance(Duration.ofSeconds(5));
      log.appended(3);
      log.appended(4); // once it is written, all that was due before has been seen to

      assertThat(disk.count(Step.FORCE, "zst")).isEqualTo(1);
      assertThat(disk.count(Step.FORCE, "idx")).isEqualTo(1);
    }
  }

  @Test
  void append_neverPolicy_forcesAtCloseAlone() throws Exception {
    try (var log = log(Fsync.NEVER, eachItsOwn())) {
      log.appended(1);
      log.appended(2);
      log.clock.advance(Duration.ofHours(1));
      assertThat(disk.count(Step.FORCE, "zst")).isZero();

      log.reopen(() -> {});

      assertThat(disk.count(Step.FORCE, "zst")).isEqualTo(2);
    }
  }

  @Test
  void append_lessRoomThanHeadroom_isRefusedUntilThereIs() throws Exception {
    var filing = new Filing(1 << 30, Duration.ofHours(1), Long.MAX_VALUE, Long.MAX_VALUE, 1000);
    try (var log = log(Fsync.FLUSH, filing)) {
      log.appended(1);
      disk.usable(999);

      assertThat(log.append(2)).isInstanceOf(Written.Not.class);
      assertThat(log.segments().obstacle()).contains("999 bytes").contains("1000");

      disk.usable(2000);
      assertThat(log.append(3)).isInstanceOf(Written.At.class);
      assertThat(log.segments().obstacle()).isNull();
      assertThat(log.numbers()).containsExactly(1L, 3L);
    }
  }

  @Test
  void append_lessRoomThanHeadroom_prunesWhatIsSettledFirst() throws Exception {
    var filing = new Filing(1, Duration.ofHours(1), Long.MAX_VALUE, Long.MAX_VALUE, 1000);
    try (var log = log(Fsync.FLUSH, filing)) {
      log.appended(1);
      var settled = log.appended(2);
      log.appended(3);
      log.segments().settled(settled, List.of());
      disk.usable(999);

      assertThat(log.append(4)).isInstanceOf(Written.Not.class);

      assertThat(log.numbers()).containsExactly(3L);
    }
  }

  private static Filing oneSegment(long headroom) {
    return new Filing(1 << 30, Duration.ofHours(1), Long.MAX_VALUE, Long.MAX_VALUE, headroom);
  }

  @Test
  void append_lessRoomThanHeadroom_prunesTheNewestSegmentOnceItIsSettled() throws Exception {
    try (var log = log(Fsync.FLUSH, oneSegment(1000))) {
      log.appended(1);
      var last = log.appended(2);
      disk.usable(999);
      assertThat(log.append(3)).isInstanceOf(Written.Not.class);
      assertThat(log.numbers()).containsExactly(1L, 2L);

      log.segments().settled(last, List.of());
      assertThat(log.append(4)).isInstanceOf(Written.Not.class);

      assertThat(log.files()).isEmpty();
      disk.usable(100_000);
      assertThat(log.appended(5)).isEqualTo(new Position(last.day(), 2, 1));
    }
  }

  @Test
  void append_lessRoomThanHeadroomAfterARestart_prunesWhatIsSettled() throws Exception {
    try (var log = log(Fsync.FLUSH, oneSegment(1000))) {
      var last = log.appended(1);
      log.reopen(() -> disk.usable(999));

      log.segments().settled(last, List.of());
      assertThat(log.append(2)).isInstanceOf(Written.Not.class);

      assertThat(log.files()).isEmpty();
    }
  }

  @Test
  void append_lessRoomThanHeadroom_keepsANewestSegmentThatIsNeeded() throws Exception {
    try (var log = log(Fsync.FLUSH, oneSegment(1000))) {
      var aside = log.appended(1);
      var last = log.appended(2);
      disk.usable(999);

      log.segments().settled(last, List.of(aside));
      assertThat(log.append(3)).isInstanceOf(Written.Not.class);

      assertThat(log.numbers()).containsExactly(1L, 2L);
    }
  }

  @Test
  void append_diskFullWithoutHeadroom_prunesTheNewestSegmentOnceItIsSettled() throws Exception {
    try (var log = log(Fsync.FLUSH, oneSegment(0))) {
      var last = log.appended(1);
      disk.usable(0);
      disk.fail(Step.WRITE, "zst");
      assertThat(log.append(2)).isInstanceOf(Written.Not.class);
      assertThat(log.numbers()).containsExactly(1L);

      log.segments().settled(last, List.of());
      assertThat(log.append(3)).isInstanceOf(Written.Not.class);
      log.segments().close(); // when the writer is through with it

      assertThat(log.files()).isEmpty();
    }
  }

  @Test
  void append_writeFailsWithRoomLeft_prunesNothing() throws Exception {
    try (var log = log(Fsync.FLUSH, oneSegment(0))) {
      log.segments().settled(log.appended(1), List.of());
      disk.fail(Step.WRITE, "zst");

      assertThat(log.append(2)).isInstanceOf(Written.Not.class);
      log.segments().close(); // when the writer is through with it

      assertThat(log.numbers()).containsExactly(1L);
    }
  }

  @Test
  void obstacle_clockSetBack_isForgotten() throws Exception {
    try (var log = log(Fsync.FLUSH, Log.FILING)) {
      disk.fail(Step.WRITE, "zst");
      assertThat(log.append(1)).isInstanceOf(Written.Not.class);
      assertThat(log.segments().obstacle()).isNotNull();

      log.clock.advance(Duration.ofHours(-1));

      assertThat(log.segments().obstacle()).isNull();
    }
  }

  @Test
  void open_newFolders_areDurable() throws Exception {
    var base = folder.toRealPath();
    new Log(base.resolve("one/two/node"), Log.WRITING, Log.FILING, disk).close();

    assertThat(disk.asked)
        .containsSubsequence(
            "FORCE " + base, "FORCE " + base.resolve("one"), "FORCE " + base.resolve("one/two"));
  }
}
