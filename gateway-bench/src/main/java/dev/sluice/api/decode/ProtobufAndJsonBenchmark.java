package dev.sluice.api.decode;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.sluice.bench.Allocates;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.core.otlp.MalformedOtlpException;
import dev.sluice.core.otlp.OtlpWalker;
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
import tools.jackson.databind.json.JsonMapper;

/**
 * How much cheaper is a log in protobuf than the same log in JSON, when every field of it is read?
 *
 * <pre>java -jar gateway-bench/target/benchmarks.jar ProtobufAndJsonBenchmark -prof gc</pre>
 *
 * <p>An operation is one log of about 185 bytes of OTLP with two attributes, of 500 in a body, in
 * one of the forms in which clients send it, from the bytes to each of its fields. {@code
 * protobufJava} and {@code jacksonTree} are the same by the usual libraries. All come to the same
 * sum of all fields ({@link FieldSum}), by their whole content, or nothing is measured.
 */
@Fork(3)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 1)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@OperationsPerInvocation(ProtobufAndJsonBenchmark.LOGS)
@State(Scope.Thread)
@NullUnmarked // JMH fills the fields
public class ProtobufAndJsonBenchmark {
  static final int LOGS = 500;
  private static final int BODIES = 16;

  private final OtlpWalker walker = new OtlpWalker(Limits.DEFAULT);
  private final JsonMapper mapper = new JsonMapper();
  private final SampleForms[] forms = new SampleForms[BODIES];
  private FieldSum sum = new FieldSum(true);
  private int next;

  private interface Way {
    long sum() throws MalformedOtlpException, InvalidProtocolBufferException;
  }

  @Setup(Level.Trial)
  public void generate() throws MalformedOtlpException, InvalidProtocolBufferException {
    var random = new SplittableRandom(42);
    for (int i = 0; i < BODIES; i++) {
      forms[i] = SampleForms.of(random, LOGS);
    }
    sum = new FieldSum(true);
    compare();
    sum = new FieldSum(false);
    compare();
    System.out.printf(
        "%n# bytes per log: OTLP %.1f, in JSON %.1f, native protobuf %.1f, native JSON %.1f%n",
        (double) forms[0].otlp().length / LOGS,
        (double) forms[0].otlpJson().length / LOGS,
        (double) forms[0].flat().length / LOGS,
        (double) forms[0].json().length / LOGS);
  }

  private void compare() throws MalformedOtlpException, InvalidProtocolBufferException {
    for (int i = 0; i < BODIES; i++) {
      long wanted = of(i, this::protobuf);
      for (var way :
          new Way[] {
            this::nativeProtobuf,
            this::otlpJson,
            this::nativeJson,
            this::protobufJava,
            this::jacksonTree
          }) {
        long got = of(i, way);
        if (got != wanted) {
          throw new IllegalStateException("%x is %x in another form".formatted(wanted, got));
        }
      }
    }
  }

  private long of(int form, Way way) throws MalformedOtlpException, InvalidProtocolBufferException {
    next = form;
    return way.sum();
  }

  private SampleForms form() {
    return forms[next++ & BODIES - 1];
  }

  private long walked(OtlpPayload payload) throws MalformedOtlpException {
    if (payload.rejectedCount() != 0) {
      throw new IllegalStateException(payload.rejections().toString());
    }
    walker.walk(payload.bytes(), 0, payload.length(), sum);
    return sum.take();
  }

  @Benchmark
  @Allocates(0)
  public long protobuf() throws MalformedOtlpException {
    var body = form().otlp();
    walker.walk(body, 0, body.length, sum);
    return sum.take();
  }

  @Benchmark
  @Allocates(273.7)
  public long nativeProtobuf() throws MalformedOtlpException {
    return walked(NativeProtobufDecoder.ofRequest(form().flat(), Limits.DEFAULT));
  }

  @Benchmark
  @Allocates(1245)
  public long otlpJson() throws MalformedOtlpException {
    return walked(OtlpJsonDecoder.read(form().otlpJson(), Limits.DEFAULT));
  }

  @Benchmark
  @Allocates(1198) // why more than most runs show: NativeLogsBenchmark
  public long nativeJson() throws MalformedOtlpException {
    return walked(NativeJsonDecoder.ofJson(form().json(), Limits.DEFAULT));
  }

  @Benchmark
  public long protobufJava() throws InvalidProtocolBufferException {
    sum.add(ExportLogsServiceRequest.parseFrom(form().otlp()));
    return sum.take();
  }

  @Benchmark
  public long jacksonTree() {
    sum.add(mapper.readTree(form().otlpJson()));
    return sum.take();
  }
}
