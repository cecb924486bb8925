package dev.sluice.clickhouse;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.sluice.bench.Allocates;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.otlp.SampleLogs;
import dev.sluice.core.port.LogEnricher;
import dev.sluice.core.port.LogStore.DeliverySlice;
import dev.sluice.core.port.SpoolConsumer.Delivery;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
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
 * What does it cost to make columns in ClickHouse's Native format of one log in OTLP, against
 * having protobuf-java parse it first?
 *
 * <pre>java -jar gateway-bench/target/benchmarks.jar LogColumnsBenchmark -prof gc</pre>
 *
 * <p>An operation is one log of about 185 bytes with two attributes, of a delivery of 4,000 in
 * eight batches, to the last byte of the block; nothing is sent and nothing has a template. Both
 * ways use the same columns and must make the same bytes, or nothing is measured. Read the
 * allocation column first: {@code columns} must stay at what a delivery costs, a fraction of a
 * byte.
 */
@Fork(3)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 1)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@OperationsPerInvocation(LogBlockBuilderBenchmark.LOGS)
@State(Scope.Thread)
@NullUnmarked // JMH fills the fields
public class LogBlockBuilderBenchmark {
  static final int LOGS = 4_000;
  private static final int BATCHES = 8;
  private static final int SLICES = 8;

  private final LogBlockBuilder builder = new LogBlockBuilder();
  private final ObjectColumnsBaseline baseline = new ObjectColumnsBaseline();
  private final DeliverySlice[] slices = new DeliverySlice[SLICES];
  private int next;

  @Setup(Level.Trial)
  public void generate() throws InterruptedException, IOException {
    var random = new SplittableRandom(42);
    for (int i = 0; i < SLICES; i++) {
      var batches = new ArrayList<LogBatch>();
      for (int j = 0; j < BATCHES; j++) {
        batches.add(SampleLogs.batch(random, LOGS / BATCHES));
      }
      slices[i] = DeliverySlice.of(new Delivery("token", batches, false));
      var ours = new ByteArrayOutputStream();
      columns(slices[i], ours);
      var theirs = new ByteArrayOutputStream();
      objects(slices[i], theirs);
      if (!Arrays.equals(ours.toByteArray(), theirs.toByteArray())) {
        throw new IllegalStateException(
            "%d bytes and %d, not the same".formatted(ours.size(), theirs.size()));
      }
    }
  }

  private DeliverySlice nextSlice() {
    return slices[next++ & SLICES - 1];
  }

  private long columns(DeliverySlice slice, OutputStream out)
      throws InterruptedException, IOException {
    return builder.fill(
        slice,
        InsertPartitioner.first(Long.MAX_VALUE),
        LogEnricher.NONE,
        block -> block.writeTo(out));
  }

  private void objects(DeliverySlice slice, OutputStream out)
      throws InvalidProtocolBufferException, IOException {
    baseline.fill(slice.batches());
    baseline.writeTo(out);
  }

  @Benchmark
  @Allocates(0.21)
  public long columns() throws InterruptedException, IOException {
    return columns(nextSlice(), OutputStream.nullOutputStream());
  }

  @Benchmark
  public Object protobufJava() throws IOException {
    objects(nextSlice(), OutputStream.nullOutputStream());
    return baseline;
  }
}
