package dev.sluice.wal;

import dev.sluice.bench.Allocates;
import dev.sluice.bench.HotPathBenchmark;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.SampleLogs;
import java.util.SplittableRandom;
import org.jspecify.annotations.NullUnmarked;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Setup;

/**
 * Measures the encoding of a log into a WAL frame and its decoding, and the share of the
 * compression.
 *
 * <p>An operation is one log of about 185 bytes with two attributes, of 500 in a frame. {@code
 * lines} is {@code encode} without the compression. The benchmark cycles through 64 batches, so
 * that each is evicted from the near CPU caches before it is used again.
 */
@OperationsPerInvocation(FrameCodecBenchmark.LOGS)
@NullUnmarked // JMH fills the fields
public class FrameCodecBenchmark extends HotPathBenchmark {
  static final int LOGS = 500;
  private static final int BATCHES = 64;

  @Param public Compression compression;

  private final OtlpJsonLineWriter writer = new OtlpJsonLineWriter();
  private final ByteOutput lines = new ByteOutput(1 << 20);
  private FrameCodec codec;
  private LogBatch[] batches;
  private byte[][] frames;
  private int next;

  @Setup
  public void generate() {
    var random = new SplittableRandom(42);
    codec = new FrameCodec(compression);
    batches = new LogBatch[BATCHES];
    frames = new byte[BATCHES][];
    long compressed = 0;
    long payload = 0;
    for (int i = 0; i < BATCHES; i++) {
      batches[i] = SampleLogs.batch(random, LOGS);
      var frame = codec.encode(new WalEntry(batches[i], false, null));
      frames[i] = frame.bytes();
      compressed += frame.bytes().length;
      payload += frame.payloadBytes();
    }
    System.out.printf(
        "%n# %.1f bytes of JSON per log, %.1f compressed%n",
        (double) payload / BATCHES / LOGS, (double) compressed / BATCHES / LOGS);
  }

  @Benchmark
  @Allocates(0.7)
  public Object lines() {
    lines.clear();
    writer.write(
        new WalEntry(batches[next++ & BATCHES - 1], false, null),
        lines,
        FrameCompressor.MAX_PAYLOAD_BYTES);
    return lines;
  }

  @Benchmark
  @Allocates(79.8)
  public Object encode() {
    return codec.encode(new WalEntry(batches[next++ & BATCHES - 1], false, null));
  }

  @Benchmark
  @Allocates(1550)
  public Object decode() throws UnreadableFrameException {
    return FrameCodec.decode(frames[next++ & BATCHES - 1]);
  }
}
