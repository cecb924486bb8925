package dev.sluice.core.codec;

import dev.sluice.bench.Allocates;
import dev.sluice.bench.HotPathBenchmark;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.otlp.SampleLogs;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Setup;

/**
 * Measures the encoding of a log into an entry of the spool and its decoding.
 *
 * <p>An operation is one log of about 185 bytes with two attributes, of 500 in an entry. The
 * benchmark first prints the compressed size, which determines the memory in Redis.
 */
@OperationsPerInvocation(LogBatchCodecBenchmark.LOGS)
public class LogBatchCodecBenchmark extends HotPathBenchmark {
  static final int LOGS = 500;
  private static final int BATCHES = 64;

  private final LogBatch[] batches = new LogBatch[BATCHES];
  private final byte[][] entries = new byte[BATCHES][];
  private int next;

  @Setup
  public void generate() throws UnreadableBatchException {
    var random = new SplittableRandom(42);
    long bytes = 0;
    for (int i = 0; i < BATCHES; i++) {
      batches[i] = SampleLogs.batch(random, LOGS);
      entries[i] = LogBatchCodec.encode(batches[i]);
      if (!Arrays.equals(LogBatchCodec.decode(entries[i]).otlp(), batches[i].otlp())) {
        throw new IllegalStateException("the decoded batch differs from the encoded one");
      }
      bytes += entries[i].length;
    }
    System.out.printf("%n# %.1f bytes per log%n", (double) bytes / BATCHES / LOGS);
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
}
