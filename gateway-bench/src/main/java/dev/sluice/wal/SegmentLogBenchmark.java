package dev.sluice.wal;

import static java.util.concurrent.TimeUnit.NANOSECONDS;

import dev.sluice.bench.WorkDir;
import dev.sluice.wal.SegmentLog.FrameWriteResult;
import dev.sluice.wal.SegmentLog.LogDependencies;
import dev.sluice.wal.WalSpool.Fsync;
import dev.sluice.wal.WalSpool.SegmentSettings;
import dev.sluice.wal.WalSpool.WriteSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.NullUnmarked;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Measures the append latency of a WAL frame, without its compression. With {@code -t 64} it shows
 * how many writers share one sync.
 */
@Fork(1)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 5, time = 1)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@State(Scope.Benchmark)
@NullUnmarked // JMH fills the fields
public class SegmentLogBenchmark {
  private static final long RETAINED_BYTES = 256 << 20;

  @Param({"1000", "10000", "100000", "1000000"})
  int bytes;

  @Param Fsync fsync;

  private Path folder;
  private SegmentLog log;
  private Frame frame;

  @Setup
  public void open() throws IOException {
    folder = WorkDir.create();
    log =
        SegmentLog.open(
            folder,
            new WriteSettings(
                Compression.ZSTD,
                fsync,
                Duration.ofSeconds(1),
                Duration.ofSeconds(2),
                64 << 20,
                256 << 20),
            new SegmentSettings(64 << 20, Duration.ofHours(1), RETAINED_BYTES, RETAINED_BYTES, 0),
            new LogDependencies(
                InstantSource.system(),
                (delay, task) ->
                    CompletableFuture.delayedExecutor(delay.toNanos(), NANOSECONDS).execute(task),
                Disk.REAL,
                FrameFormat.CODEC));
    var content = new byte[bytes];
    new SplittableRandom(42).nextBytes(content);
    frame = new Frame(content, bytes, 1, 1, 1, 1);
  }

  @Benchmark
  public FramePosition append() {
    return switch (log.append(frame, true).toCompletableFuture().join()) {
      case FrameWriteResult.FrameWritten(var position) -> position;
      case FrameWriteResult.Failed(_, var reason) -> throw new IllegalStateException(reason);
    };
  }

  /** Marks all frames as acknowledged, so that their segments can be deleted. */
  @TearDown(Level.Iteration)
  public void markAllAcked() {
    for (var last : log.segments().reversed()) {
      if (last.frames() > 0) {
        log.markAcked(new FramePosition(last.day(), last.number(), (int) last.frames()), List.of());
        return;
      }
    }
  }

  @TearDown
  public void close() throws IOException {
    log.close();
    WorkDir.delete(folder);
  }
}
