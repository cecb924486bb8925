package dev.sluice.wal;

import dev.sluice.core.otlp.ByteOutput;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/**
 * The pooled resources for encoding and decoding a frame, which are expensive to create. All codecs
 * share one pool for each compression. Thread-local instances would be too many, because virtual
 * threads use codecs.
 *
 * <p>For use by one thread at a time, from {@link #acquire} to {@link #close}.
 */
final class PooledCodec implements AutoCloseable {
  /** Maximum size of an array that stays in the pool, in bytes. */
  static final int MAX_POOLED_BYTES = 8 << 20;

  private static final int POOL_SIZE = Runtime.getRuntime().availableProcessors() + 1;
  private static final BlockingQueue<PooledCodec> ZSTD = new ArrayBlockingQueue<>(POOL_SIZE);
  private static final BlockingQueue<PooledCodec> GZIP = new ArrayBlockingQueue<>(POOL_SIZE);

  private final BlockingQueue<PooledCodec> pool;
  final FrameCompressor compressor;
  final OtlpJsonLineWriter writer = new OtlpJsonLineWriter();
  ByteOutput lines = new ByteOutput(1 << 16); // not final: replaced when it has grown too large

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

  /** Returns the codec to the pool, or closes its compressor when the pool is full. */
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
