package dev.sluice.core.otlp;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.sluice.bench.Allocates;
import dev.sluice.bench.HotPathBenchmark;
import dev.sluice.core.domain.Limits;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import java.util.SplittableRandom;
import org.jspecify.annotations.NullUnmarked;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Setup;

/**
 * Measures the validation of a log, compared with a parse by protobuf-java.
 *
 * <p>An operation is one log of about 185 bytes with two attributes. The allocation of {@code walk}
 * must stay at 0. The benchmark cycles through 256 bodies of 500 logs, so that each is evicted from
 * the near CPU caches before it is used again, like a body from the network.
 */
@OperationsPerInvocation(OtlpWalkerBenchmark.LOGS)
@NullUnmarked // JMH fills the fields
public class OtlpWalkerBenchmark extends HotPathBenchmark {
  static final int LOGS = 500;
  private static final int BODIES = 256;

  private final OtlpWalker walker = new OtlpWalker(Limits.DEFAULT);
  private final Checksum sink = new Checksum();
  private byte[][] bodies;
  private int next;

  @Setup
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
