package dev.sluice.wal;

import dev.sluice.bench.Allocates;
import dev.sluice.bench.CompressorUnderTest;
import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.SampleLogs;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.NullUnmarked;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Measures the size and the CPU of a log by compressor and level.
 *
 * <pre>java -jar gateway-bench/target/benchmarks.jar CompressionLevelsBenchmark -prof gc</pre>
 *
 * <p>An operation is one log with two attributes, of 500 that are compressed together: as the OTLP
 * of a Redis stream entry, or as the JSON lines of a WAL frame. The sizes are printed before each
 * run. All compressors are native and reused. The benchmark first verifies that the decompressed
 * bytes equal the original.
 */
@Fork(1)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 5, time = 1)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@OperationsPerInvocation(CompressionLevelsBenchmark.LOGS)
@State(Scope.Thread)
@NullUnmarked // JMH fills the fields
public class CompressionLevelsBenchmark {
  static final int LOGS = 500;
  private static final int BATCHES = 64;

  /** The contents to compress. */
  public enum Content {
    OTLP,
    LINES
  }

  @Param public Content content;

  @Param public CompressorUnderTest.Level level;

  private final byte[][] contents = new byte[BATCHES][];
  private final byte[][] compressed = new byte[BATCHES][];
  private CompressorUnderTest compressor;
  private byte[] compressBuffer = {};
  private byte[] decompressBuffer = {};
  private int next;

  @Setup
  public void generate() {
    var random = new SplittableRandom(42);
    compressor = level.create();
    long plain = 0;
    long small = 0;
    for (int i = 0; i < BATCHES; i++) {
      var bytes = content(random);
      contents[i] = bytes;
      if (decompressBuffer.length < bytes.length) {
        compressBuffer = CompressorUnderTest.outputBuffer(bytes.length);
        decompressBuffer = new byte[bytes.length];
      }
      compressed[i] =
          Arrays.copyOf(compressBuffer, compressor.compress(bytes, bytes.length, compressBuffer));
      int length = compressor.decompress(compressed[i], decompressBuffer, bytes.length);
      if (!Arrays.equals(decompressBuffer, 0, length, bytes, 0, bytes.length)) {
        throw new IllegalStateException(
            level + ": the decompressed bytes differ from the original");
      }
      plain += bytes.length;
      small += compressed[i].length;
    }
    System.out.printf(
        "%n# %.1f bytes per log, %.1f by %s%n",
        (double) plain / BATCHES / LOGS, (double) small / BATCHES / LOGS, level);
  }

  private byte[] content(SplittableRandom random) {
    var batch = SampleLogs.batch(random, LOGS);
    if (content == Content.OTLP) {
      return batch.otlp();
    }
    var lines = new ByteOutput(1 << 18);
    new OtlpJsonLineWriter()
        .write(new WalEntry(batch, false, null), lines, FrameCompressor.MAX_PAYLOAD_BYTES);
    return lines.toByteArray();
  }

  @Benchmark
  @Allocates(0)
  public int compress() {
    var bytes = contents[next++ & BATCHES - 1];
    return compressor.compress(bytes, bytes.length, compressBuffer);
  }

  @Benchmark
  @Allocates(0)
  public int decompress() {
    int i = next++ & BATCHES - 1;
    return compressor.decompress(compressed[i], decompressBuffer, contents[i].length);
  }
}
