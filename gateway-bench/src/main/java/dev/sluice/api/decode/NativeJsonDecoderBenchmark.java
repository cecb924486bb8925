package dev.sluice.api.decode;

import dev.sluice.api.protocol.json.NativeJsonAccess;
import dev.sluice.bench.Allocates;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.Severity;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.core.otlp.OtlpFields;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.NullUnmarked;
import org.jspecify.annotations.Nullable;
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
 * Measures the conversion of a log from native JSON to OTLP, compared with data binding to an
 * object first.
 *
 * <pre>java -jar gateway-bench/target/benchmarks.jar NativeJsonDecoderBenchmark -prof gc</pre>
 *
 * <p>An operation is one log of about 330 bytes of JSON, of 500 in an array ({@code array}, {@code
 * binding}) or with one log per line ({@code lines}). The benchmark first verifies that all
 * variants produce the same OTLP.
 */
@Fork(3)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 1)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@OperationsPerInvocation(NativeJsonDecoderBenchmark.LOGS)
@State(Scope.Thread)
@NullUnmarked // JMH fills the fields
public class NativeJsonDecoderBenchmark {
  static final int LOGS = 500;
  private static final int BODIES = 16;

  private final JsonMapper mapper = new JsonMapper();
  private final SamplePayloads[] payloads = new SamplePayloads[BODIES];
  private int next;

  /** A log in the native JSON format. */
  record Row(
      String timestamp,
      String observed_timestamp,
      String severity,
      String service,
      String host,
      String body,
      Map<String, String> attributes,
      @Nullable String trace_id,
      @Nullable String span_id) {}

  @Setup(Level.Trial)
  public void generate() {
    var random = new SplittableRandom(42);
    for (int i = 0; i < BODIES; i++) {
      payloads[i] = SamplePayloads.of(random, LOGS);
      next = i;
      var array = array();
      next = i;
      var lines = lines();
      next = i;
      var binding = binding();
      if (array.rejectedCount() != 0 || !same(array, lines) || !same(array, binding)) {
        throw new IllegalStateException(
            "different OTLP of %d, %d and %d bytes"
                .formatted(array.length(), lines.length(), binding.length()));
      }
    }
  }

  private static boolean same(OtlpPayload one, OtlpPayload other) {
    return Arrays.equals(one.bytes(), 0, one.length(), other.bytes(), 0, other.length());
  }

  private SamplePayloads nextPayload() {
    return payloads[next++ & BODIES - 1];
  }

  /*
   * The figures of array and lines are those of the worst start. The parser hashes names with a
   * seed from its start time, so that an attacker cannot construct collisions, and the allocation
   * per log depends on the seed.
   */
  @Benchmark
  @Allocates(1198)
  public OtlpPayload array() {
    return NativeJsonAccess.ofJson(nextPayload().nativeJson(), Limits.DEFAULT);
  }

  @Benchmark
  @Allocates(1988)
  public OtlpPayload lines() {
    return NativeJsonAccess.ofNdjson(nextPayload().nativeNdjson(), Limits.DEFAULT);
  }

  @Benchmark
  public OtlpPayload binding() {
    var body = nextPayload().nativeJson();
    var rows = new OtlpRequestBuilder(Limits.DEFAULT, body.length);
    for (var row : mapper.readValue(body, Row[].class)) {
      rows.begin();
      write(row, rows);
      rows.end();
    }
    return rows.payload();
  }

  private static void write(Row row, OtlpRequestBuilder rows) {
    try {
      rows.record.writeFixed64(
          OtlpFields.LOG_RECORD_TIME_UNIX_NANO, Timestamps.ofText(row.timestamp()));
      rows.record.writeFixed64(
          OtlpFields.LOG_RECORD_OBSERVED_TIME_UNIX_NANO,
          Timestamps.ofText(row.observed_timestamp()));
    } catch (Timestamps.InvalidTimestampException e) {
      throw new IllegalStateException(e);
    }
    rows.record.writeVarint(
        OtlpFields.LOG_RECORD_SEVERITY_NUMBER, Severity.numberOf(row.severity()).orElseThrow());
    rows.record.writeString(OtlpFields.LOG_RECORD_SEVERITY_TEXT, row.severity());
    int body = rows.record.beginMessage(OtlpFields.LOG_RECORD_BODY);
    rows.record.writeString(OtlpFields.ANY_VALUE_STRING_VALUE, row.body());
    rows.record.endMessage(body);
    row.attributes()
        .forEach(
            (key, value) ->
                rows.record.writeAttribute(OtlpFields.LOG_RECORD_ATTRIBUTES, key, value));
    if (row.trace_id() != null && row.span_id() != null) {
      rows.record.writeBytes(
          OtlpFields.LOG_RECORD_TRACE_ID, HexFormat.of().parseHex(row.trace_id()), 0, 16);
      rows.record.writeBytes(
          OtlpFields.LOG_RECORD_SPAN_ID, HexFormat.of().parseHex(row.span_id()), 0, 8);
    }
    rows.resource.writeAttribute(OtlpFields.RESOURCE_ATTRIBUTES, "service.name", row.service());
    rows.resource.writeAttribute(OtlpFields.RESOURCE_ATTRIBUTES, "host.name", row.host());
  }
}
