package dev.sluice.wal;

import dev.sluice.wal.WalSpool.Fsync;
import java.io.IOException;
import java.util.ArrayList;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.NullUnmarked;
import org.openjdk.jmh.annotations.AuxCounters;
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
 * Measures the number of 10 kB appends that share one disk sync, by the number of writers that each
 * wait for their append, compared with a sync per append.
 *
 * <pre>java -jar gateway-bench/target/benchmarks.jar GroupCommitBenchmark -prof gc</pre>
 *
 * <p>Read {@code appends} and {@code forces}, both per second; a group needs two forces, one of its
 * data and one of its index. An operation is twenty appends of each writer. {@code plainFile} is
 * one file with one writer at a time and without an index.
 */
@Fork(1)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 5, time = 1)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@State(Scope.Benchmark)
@NullUnmarked // JMH fills the fields
public class GroupCommitBenchmark {
  private static final int APPENDS = 20;

  @Param({"1", "4", "16", "64", "256"})
  int writers;

  private CountingSegmentLog log;
  private PlainFile plain;
  private Frame frame;

  /** The counters that JMH reports besides the operations. */
  @AuxCounters
  @State(Scope.Thread)
  public static class Counters {
    public long appends;
    public long forces;
  }

  @Setup
  public void open() throws IOException {
    log = new CountingSegmentLog(Fsync.FLUSH);
    plain = new PlainFile();
    frame = CountingSegmentLog.frame(10_000);
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
  public void append(Counters counters) {
    long before = log.forces();
    all(() -> log.append(frame), counters);
    counters.forces += log.forces() - before;
  }

  @Benchmark
  public void plainFile(Counters counters) {
    long before = plain.forces();
    all(() -> plain.append(frame.bytes(), true), counters);
    counters.forces += plain.forces() - before;
  }

  private void all(Callable<?> append, Counters counters) {
    var written = new ArrayList<Future<?>>();
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i < writers; i++) {
        written.add(threads.submit(() -> write(append)));
      }
    }
    written.forEach(Future::resultNow); // throws when a writer failed
    counters.appends += (long) writers * APPENDS;
  }

  private static int write(Callable<?> append) throws Exception {
    for (int i = 0; i < APPENDS; i++) {
      var _ = append.call();
    }
    return APPENDS;
  }
}
