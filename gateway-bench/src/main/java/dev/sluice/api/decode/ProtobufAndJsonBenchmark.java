package dev.sluice.api.decode;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.sluice.api.protocol.json.NativeJsonAccess;
import dev.sluice.api.protocol.protobuf.NativeProtobufAccess;
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
 * Measures a log in protobuf and in JSON, with every field read.
 *
 * <pre>java -jar gateway-bench/target/benchmarks.jar ProtobufAndJsonBenchmark -prof gc</pre>
 *
 * <p>An operation is one log of about 185 bytes of OTLP with two attributes, of 500 in a body, in
 * one of the formats that clients send, from the bytes to each field. {@code protobufJava} and
 * {@code jacksonTree} do the same with the usual libraries. The benchmark first verifies that all
 * variants have the same checksum of all fields ({@link FieldChecksum}), with their full content.
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
  private final SamplePayloads[] payloads = new SamplePayloads[BODIES];
  private FieldChecksum sum = new FieldChecksum(true);
  private int next;

  private interface ChecksumFunction {
    long sum() throws MalformedOtlpException, InvalidProtocolBufferException;
  }

  @Setup(Level.Trial)
  public void generate() throws MalformedOtlpException, InvalidProtocolBufferException {
    var random = new SplittableRandom(42);
    for (int i = 0; i < BODIES; i++) {
      payloads[i] = SamplePayloads.of(random, LOGS);
    }
    sum = new FieldChecksum(true);
    compare();
    sum = new FieldChecksum(false);
    compare();
    System.out.printf(
        "%n# bytes per log: OTLP %.1f, in JSON %.1f, native protobuf %.1f, native JSON %.1f%n",
        (double) payloads[0].otlp().length / LOGS,
        (double) payloads[0].otlpJson().length / LOGS,
        (double) payloads[0].nativeProtobuf().length / LOGS,
        (double) payloads[0].nativeJson().length / LOGS);
  }

  private void compare() throws MalformedOtlpException, InvalidProtocolBufferException {
    for (int i = 0; i < BODIES; i++) {
      long expected = checksumOf(i, this::protobuf);
      for (var function :
          new ChecksumFunction[] {
            this::nativeProtobuf,
            this::otlpJson,
            this::nativeJson,
            this::protobufJava,
            this::jacksonTree
          }) {
        long actual = checksumOf(i, function);
        if (actual != expected) {
          throw new IllegalStateException(
              "checksum %x, but %x in another format".formatted(expected, actual));
        }
      }
    }
  }

  private long checksumOf(int form, ChecksumFunction function)
      throws MalformedOtlpException, InvalidProtocolBufferException {
    next = form;
    return function.sum();
  }

  private SamplePayloads nextPayload() {
    return payloads[next++ & BODIES - 1];
  }

  private long checksum(OtlpPayload payload) throws MalformedOtlpException {
    if (payload.rejectedCount() != 0) {
      throw new IllegalStateException(payload.rejections().toString());
    }
    walker.walk(payload.bytes(), 0, payload.length(), sum);
    return sum.takeSum();
  }

  @Benchmark
  @Allocates(0)
  public long protobuf() throws MalformedOtlpException {
    var body = nextPayload().otlp();
    walker.walk(body, 0, body.length, sum);
    return sum.takeSum();
  }

  @Benchmark
  @Allocates(273.7)
  public long nativeProtobuf() throws MalformedOtlpException {
    return checksum(NativeProtobufAccess.ofRequest(nextPayload().nativeProtobuf(), Limits.DEFAULT));
  }

  @Benchmark
  @Allocates(1245)
  public long otlpJson() throws MalformedOtlpException {
    return checksum(OtlpJsonDecoder.read(nextPayload().otlpJson(), Limits.DEFAULT));
  }

  @Benchmark
  @Allocates(1198) // the worst start, see NativeJsonDecoderBenchmark
  public long nativeJson() throws MalformedOtlpException {
    return checksum(NativeJsonAccess.ofJson(nextPayload().nativeJson(), Limits.DEFAULT));
  }

  @Benchmark
  public long protobufJava() throws InvalidProtocolBufferException {
    sum.add(ExportLogsServiceRequest.parseFrom(nextPayload().otlp()));
    return sum.takeSum();
  }

  @Benchmark
  public long jacksonTree() {
    sum.add(mapper.readTree(nextPayload().otlpJson()));
    return sum.takeSum();
  }
}
