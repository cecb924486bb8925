package dev.sluice.wal;

import dev.sluice.core.otlp.ByteOutput;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/**
 * What it takes to make and read frames, costly to set up and so lent from a few that are kept.
 * Kept by all codecs together and not by thread: of virtual ones there are too many.
 *
 * <p>For one thread at a time, from {@link #acquire} to {@link #close}.
 */
final class PooledCodec implements AutoCloseable {
  /** No larger array is kept from one use to the next. */
  static final int MAX_POOLED_BYTES = 8 << 20;

  private static final int POOL_SIZE = Runtime.getRuntime().availableProcessors() + 1;
  private static final BlockingQueue<PooledCodec> ZSTD = new ArrayBlockingQueue<>(POOL_SIZE);
  private static final BlockingQueue<PooledCodec> GZIP = new ArrayBlockingQueue<>(POOL_SIZE);

  private final BlockingQueue<PooledCodec> pool;
  final FrameCompressor compressor;
  final OtlpJsonLineWriter writer = new OtlpJsonLineWriter();
  ByteOutput lines = new ByteOutput(1 << 16); // another after one that has grown too large

  private PooledCodec(Compression compression) {
    pool = pool(compression);
    compressor = FrameCompressor.of(compression);
  }

  static PooledCodec acquire(Compression compression) {
    var codec = pool(compression).poll();
    return codec == null ? new PooledCodec(compression) : codec;
  }

  private static BlockingQueue<PooledCodec> pool(Compression compression) {
    return switch (compression) {
      case ZSTD -> ZSTD;
      case GZIP -> GZIP;
    };
  }

  /** Puts it back. */
  @Override
  public void close() {
    lines.clear();
    if (lines.array().length > MAX_POOLED_BYTES) {
      lines = new ByteOutput(1 << 16);
    }
    if (!pool.offer(this)) {
      compressor.close();
    }
  }
}
