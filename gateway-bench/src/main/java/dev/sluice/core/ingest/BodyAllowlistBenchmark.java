package dev.sluice.core.ingest;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.bench.Allocates;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
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
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Measures the allowlist check of a log, compared with a set of strings.
 *
 * <pre>java -jar gateway-bench/target/benchmarks.jar BodyAllowlistBenchmark -prof gc</pre>
 *
 * <p>An operation is one body of some 50 bytes of ASCII. One body in ten is listed, in upper case
 * where the list has lower case. Read the allocation column first: {@code contains} must stay at 0.
 */
@Fork(3)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@OperationsPerInvocation(BodyAllowlistBenchmark.LOGS)
@State(Scope.Thread)
@NullUnmarked // JMH fills the fields
public class BodyAllowlistBenchmark {
  static final int LOGS = 10_000;

  @Param({"10", "1000"})
  private int messages;

  private BodyAllowlist allowlist;
  private final Set<String> set = new HashSet<>();
  private byte[] bytes;
  private final int[] ends = new int[LOGS];

  @Setup(Level.Trial)
  public void generate() {
    var random = new SplittableRandom(42);
    var listed = new ArrayList<String>();
    for (int i = 0; i < messages; i++) {
      listed.add("order %d was accepted, express delivery to Berlin".formatted(i));
    }
    allowlist = BodyAllowlist.of(listed);
    listed.forEach(message -> set.add(message.toLowerCase(Locale.ROOT)));
    var bodies = new ByteArrayOutputStream();
    for (int i = 0; i < LOGS; i++) {
      var body =
          i % 10 == 0
              ? listed.get(random.nextInt(messages)).toUpperCase(Locale.ROOT)
              : "connection %d to postgres-primary was reset, retrying"
                  .formatted(random.nextInt(1_000_000));
      bodies.writeBytes(body.getBytes(UTF_8));
      ends[i] = bodies.size();
    }
    bytes = bodies.toByteArray();
    if (contains() != LOGS / 10 || set() != LOGS / 10) {
      throw new IllegalStateException(
          "%d and %d of %d bodies are listed".formatted(contains(), set(), LOGS));
    }
  }

  @Benchmark
  @Allocates(0)
  public int contains() {
    int listed = 0;
    int from = 0;
    for (int end : ends) {
      if (allowlist.contains(bytes, from, end - from)) {
        listed++;
      }
      from = end;
    }
    return listed;
  }

  @Benchmark
  public int set() {
    int listed = 0;
    int from = 0;
    for (int end : ends) {
      if (set.contains(new String(bytes, from, end - from, UTF_8).toLowerCase(Locale.ROOT))) {
        listed++;
      }
      from = end;
    }
    return listed;
  }
}
