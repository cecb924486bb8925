package dev.sluice.clickhouse;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.sluice.bench.Allocates;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.RecordIds;
import dev.sluice.core.otlp.SampleLogs;
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
 * Measures the conversion of an OTLP log to columns in ClickHouse's Native format, compared with a
 * parse by protobuf-java first.
 *
 * <pre>java -jar gateway-bench/target/benchmarks.jar LogBlockBuilderBenchmark -prof gc</pre>
 *
 * <p>An operation is one log of about 185 bytes with two attributes, of a delivery of 4,000 logs in
 * eight batches, up to the last byte of the block. Nothing is sent, and no log has a template. The
 * benchmark first verifies that both variants, which use the same columns, produce the same bytes.
 * Read the allocation column first: {@code columns} must stay at the cost of a delivery, a fraction
 * of a byte per log.
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
      var actual = new ByteArrayOutputStream();
      columns(slices[i], actual);
      var expected = new ByteArrayOutputStream();
      objects(slices[i], expected);
      if (!Arrays.equals(actual.toByteArray(), expected.toByteArray())) {
        throw new IllegalStateException(
            "different blocks of %d and %d bytes".formatted(actual.size(), expected.size()));
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
        RecordIds.NONE,
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
