package dev.sluice.core.otlp;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.sluice.bench.Allocates;
import dev.sluice.core.domain.Limits;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
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
 * Measures the validation of a log, compared with a parse by protobuf-java.
 *
 * <pre>java -jar gateway-bench/target/benchmarks.jar OtlpWalkerBenchmark -prof gc</pre>
 *
 * <p>An operation is one log of about 185 bytes with two attributes. Read the allocation column
 * first: {@code walk} must stay at 0. The benchmark cycles through 256 bodies of 500 logs, so that
 * each is evicted from the near CPU caches before it is used again, like a body from the network.
 */
@Fork(3)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 1)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@OperationsPerInvocation(OtlpWalkerBenchmark.LOGS)
@State(Scope.Thread)
@NullUnmarked // JMH fills the fields
public class OtlpWalkerBenchmark {
  static final int LOGS = 500;
  private static final int BODIES = 256;

  private final OtlpWalker walker = new OtlpWalker(Limits.DEFAULT);
  private final Checksum sink = new Checksum();
  private byte[][] bodies;
  private int next;

  @Setup(Level.Trial)
  public void generate() throws MalformedOtlpException {
    var random = new SplittableRandom(42);
    bodies = new byte[BODIES][];
    long bytes = 0;
    for (int i = 0; i < BODIES; i++) {
      bodies[i] = SampleLogs.body(random, LOGS);
      bytes += bodies[i].length;
    }
    walker.walk(bodies[0], 0, bodies[0].length, sink);
    if (walker.records() != LOGS || sink.rejected != 0) {
      throw new IllegalStateException(walker.records() + " logs, " + sink.rejected + " rejected");
    }
    System.out.printf("%n# %.1f bytes per log%n", (double) bytes / BODIES / LOGS);
  }

  private byte[] body() {
    return bodies[next++ & BODIES - 1];
  }

  @Benchmark
  @Allocates(0)
  public long walk() throws MalformedOtlpException {
    var body = body();
    walker.walk(body, 0, body.length, sink);
    return sink.sum;
  }

  @Benchmark
  public Object protobufJava() throws InvalidProtocolBufferException {
    return ExportLogsServiceRequest.parseFrom(body());
  }

  /** A visitor that reads each record, so that the JIT cannot remove the walk. */
  private static final class Checksum implements OtlpRecordVisitor {
    long sum;
    int rejected;

    @Override
    public void visitRecord(OtlpRecord log) {
      sum += log.timeNanos() + log.body().length() + log.attributes().size();
    }

    @Override
    public void visitRejected(int ordinal, String field, String reason) {
      rejected++;
    }
  }
}
