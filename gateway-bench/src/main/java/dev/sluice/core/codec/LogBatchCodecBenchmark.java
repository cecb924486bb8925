package dev.sluice.core.codec;

import dev.sluice.bench.Allocates;
import dev.sluice.bench.CompressorUnderTest;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.otlp.SampleLogs;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.NullUnmarked;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Measures the encoding of a log into an entry of the spool and its decoding, with zstd instead of
 * LZ4 for comparison.
 *
 * <pre>java -jar gateway-bench/target/benchmarks.jar LogBatchCodecBenchmark -prof gc</pre>
 *
 * <p>An operation is one log of about 185 bytes with two attributes, of 500 in an entry. {@code
 * zstd} and {@code unzstd} omit header and hash, whose cost is per entry. Both variants allocate an
 * array for each entry. The benchmark first prints the compressed sizes, which determine the memory
 * in Redis.
 */
@Fork(2)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@OperationsPerInvocation(LogBatchCodecBenchmark.LOGS)
@State(Scope.Thread)
@NullUnmarked // JMH fills the fields
public class LogBatchCodecBenchmark {
  static final int LOGS = 500;
  private static final int BATCHES = 64;

  private final CompressorUnderTest compressor = CompressorUnderTest.Level.ZSTD_1.create();
  private final LogBatch[] batches = new LogBatch[BATCHES];
  private final byte[][] entries = new byte[BATCHES][];
  private final byte[][] frames = new byte[BATCHES][];
  private int next;

  @Setup(Level.Trial)
  public void generate() throws UnreadableBatchException {
    var random = new SplittableRandom(42);
    long lz4Bytes = 0;
    long zstdBytes = 0;
    for (int i = 0; i < BATCHES; i++) {
      batches[i] = SampleLogs.batch(random, LOGS);
      next = i;
      entries[i] = encode();
      next = i;
      frames[i] = zstd();
      next = i;
      var decompressed = unzstd();
      if (!Arrays.equals(LogBatchCodec.decode(entries[i]).otlp(), decompressed)) {
        throw new IllegalStateException("the decoded batch differs from the encoded one");
      }
      lz4Bytes += entries[i].length;
      zstdBytes += frames[i].length;
    }
    System.out.printf(
        "%n# %.1f bytes per log by LZ4, %.1f by zstd%n",
        (double) lz4Bytes / BATCHES / LOGS, (double) zstdBytes / BATCHES / LOGS);
  }

  @Benchmark
  @Allocates(250)
  public byte[] encode() {
    return LogBatchCodec.encode(batches[next++ & BATCHES - 1]);
  }

  @Benchmark
  @Allocates(197)
  public byte[] decode() throws UnreadableBatchException {
    return LogBatchCodec.decode(entries[next++ & BATCHES - 1]).otlp();
  }

  @Benchmark
  public byte[] zstd() {
    var otlp = batches[next++ & BATCHES - 1].otlp();
    var buffer = CompressorUnderTest.outputBuffer(otlp.length);
    return Arrays.copyOf(buffer, compressor.compress(otlp, otlp.length, buffer));
  }

  @Benchmark
  public byte[] unzstd() {
    int i = next++ & BATCHES - 1;
    var otlp = new byte[batches[i].otlp().length];
    compressor.decompress(frames[i], otlp, otlp.length);
    return otlp;
  }
}
