package dev.sluice.wal;

import static java.util.concurrent.TimeUnit.NANOSECONDS;

import dev.sluice.bench.WorkDir;
import dev.sluice.wal.SegmentLog.FrameWriteResult;
import dev.sluice.wal.SegmentLog.LogDependencies;
import dev.sluice.wal.WalSpool.Fsync;
import dev.sluice.wal.WalSpool.SegmentSettings;
import dev.sluice.wal.WalSpool.WriteSettings;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.LongAdder;

/** A segment log that counts its forces. */
final class CountingSegmentLog implements AutoCloseable {
  private static final long RETAINED_BYTES = 256 << 20;

  private final LongAdder forces = new LongAdder();
  private final Path folder;
  private final SegmentLog log;

  CountingSegmentLog(Fsync fsync) throws IOException {
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
                new CountingDisk(forces),
                FrameFormat.CODEC));
  }

  /** Returns a frame of incompressible bytes without a meaning. */
  static Frame frame(int size) {
    var bytes = new byte[size];
    new SplittableRandom(42).nextBytes(bytes);
    return new Frame(bytes, size, 1, 1, 1, 1);
  }

  FramePosition append(Frame frame) {
    return switch (log.append(frame, true).toCompletableFuture().join()) {
      case FrameWriteResult.FrameWritten(var position) -> position;
      case FrameWriteResult.Failed(_, var reason) -> throw new IllegalStateException(reason);
    };
  }

  /** Marks all frames as acknowledged, so that their segments can be deleted. */
  void markAllDelivered() {
    for (var last : log.segments().reversed()) {
      if (last.frames() > 0) {
        log.markAcked(new FramePosition(last.day(), last.number(), (int) last.frames()), List.of());
        return;
      }
    }
  }

  long forces() {
    return forces.sum();
  }

  @Override
  public void close() throws IOException {
    log.close();
    WorkDir.delete(folder);
  }

  private record CountingDisk(LongAdder forces) implements Disk {
    @Override
    public AppendFile create(Path file) throws IOException {
      return new CountingTail(Disk.REAL.create(file), forces);
    }

    @Override
    public void force(Path file) throws IOException {
      forces.increment();
      Disk.REAL.force(file);
    }

    @Override
    public long usableSpace(Path folder) throws IOException {
      return Disk.REAL.usableSpace(folder);
    }
  }

  private record CountingTail(Disk.AppendFile real, LongAdder forces) implements Disk.AppendFile {
    @Override
    public void write(ByteBuffer bytes, long at) throws IOException {
      real.write(bytes, at);
    }

    @Override
    public void truncate(long size) throws IOException {
      real.truncate(size);
    }

    @Override
    public void force() throws IOException {
      forces.increment();
      real.force();
    }

    @Override
    public void close() throws IOException {
      real.close();
    }
  }
}
