package dev.sluice.clickhouse;

import dev.sluice.bench.Allocates;
import dev.sluice.bench.HotPathBenchmark;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.RecordIds;
import dev.sluice.core.otlp.SampleLogs;
import dev.sluice.core.port.LogStore.DeliverySlice;
import dev.sluice.core.port.SpoolConsumer.Delivery;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.SplittableRandom;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Setup;

/**
 * Measures the conversion of an OTLP log to columns in ClickHouse's Native format.
 *
 * <p>An operation is one log of about 185 bytes with two attributes, of a delivery of 4,000 logs in
 * eight batches, up to the last byte of the block. Nothing is sent, and no log has a template. The
 * allocation must stay at the cost of a delivery, a fraction of a byte per log.
 */
@OperationsPerInvocation(LogBlockBuilderBenchmark.LOGS)
public class LogBlockBuilderBenchmark extends HotPathBenchmark {
  static final int LOGS = 4_000;
  private static final int BATCHES = 8;
  private static final int SLICES = 8;

  private final LogBlockBuilder builder = new LogBlockBuilder();
  private final DeliverySlice[] slices = new DeliverySlice[SLICES];
  private int next;

  @Setup
  public void generate() {
    var random = new SplittableRandom(42);
    for (int i = 0; i < SLICES; i++) {
      var batches = new ArrayList<LogBatch>();
      for (int j = 0; j < BATCHES; j++) {
        batches.add(SampleLogs.batch(random, LOGS / BATCHES));
      }
      slices[i] = DeliverySlice.of(new Delivery("token", batches, false));
    }
  }

  @Benchmark
  @Allocates(0.21)
  public long columns() throws InterruptedException, IOException {
    return builder.fill(
        slices[next++ & SLICES - 1],
        InsertPartitioner.first(PartitionKey.RECEIVE_DAY, Long.MAX_VALUE),
        RecordIds.NONE,
        block -> block.writeTo(OutputStream.nullOutputStream()));
  }
}
