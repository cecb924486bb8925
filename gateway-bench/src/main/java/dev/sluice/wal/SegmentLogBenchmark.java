package dev.sluice.wal;

import dev.sluice.wal.WalSpool.Fsync;
import java.io.IOException;
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
 * Measures the append latency of one writer for one frame, compared with an append to a plain file.
 * Compression is not included.
 *
 * <pre>java -jar gateway-bench/target/benchmarks.jar SegmentLogBenchmark -prof gc</pre>
 *
 * <p>{@code plainFile} has no index, and forces each append or none.
 */
@Fork(1)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 5, time = 1)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@State(Scope.Benchmark)
@NullUnmarked // JMH fills the fields
public class SegmentLogBenchmark {
  @Param({"1000", "10000", "100000", "1000000"})
  int bytes;

  @Param Fsync fsync;

  private CountingSegmentLog log;
  private PlainFile plain;
  private Frame frame;

  @Setup
  public void open() throws IOException {
    log = new CountingSegmentLog(fsync);
    plain = new PlainFile();
    frame = CountingSegmentLog.frame(bytes);
  }

  @TearDown(Level.Iteration)
  public void markAllDelivered() {
    log.markAllDelivered();
  }

  @TearDown
  public void close() throws IOException {
    log.close();
    plain.close();
  }

  @Benchmark
  public Object append() {
    return log.append(frame);
  }

  @Benchmark
  public long plainFile() throws IOException {
    return plain.append(frame.bytes(), fsync == Fsync.FLUSH);
  }
}
