package dev.sluice.wal;

import dev.sluice.core.otlp.ByteOutput;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/**
 * What it takes to make and read frames, costly to set up and so lent from a few that are kept.
 * Kept by all codecs together and not by thread: of virtual ones there are too many.
 *
 * <p>For one thread at a time, from {@link #take} to {@link #close}.
 */
final class Workbench implements AutoCloseable {
  /** No larger array is kept from one use to the next. */
  static final int KEPT_BYTES = 8 << 20;

  private static final int KEPT = Runtime.getRuntime().availableProcessors() + 1;
  private static final BlockingQueue<Workbench> ZSTD = new ArrayBlockingQueue<>(KEPT);
  private static final BlockingQueue<Workbench> GZIP = new ArrayBlockingQueue<>(KEPT);

  private final BlockingQueue<Workbench> place;
  final Packing packing;
  final LineWriter writer = new LineWriter();
  ByteOutput lines = new ByteOutput(1 << 16); // another after one that has grown too large

  private Workbench(Compression compression) {
    place = place(compression);
    packing = Packing.of(compression);
  }

  static Workbench take(Compression compression) {
    var bench = place(compression).poll();
    return bench == null ? new Workbench(compression) : bench;
  }

  private static BlockingQueue<Workbench> place(Compression compression) {
    return switch (compression) {
      case ZSTD -> ZSTD;
      case GZIP -> GZIP;
    };
  }

  /** Puts it back. */
  @Override
  public void close() {
    lines.clear();
    if (lines.array().length > KEPT_BYTES) {
      lines = new ByteOutput(1 << 16);
    }
    if (!place.offer(this)) {
      packing.close();
    }
  }
}
