package dev.sluice.templates;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.bench.Allocates;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import dev.sluice.templates.dictionary.HashNamespace;
import dev.sluice.templates.dictionary.NoopDictionary;
import dev.sluice.templates.dictionary.SharedDictionaryCache;
import dev.sluice.templates.dictionary.WorkerDictionaryCache;
import java.io.ByteArrayOutputStream;
import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;
import java.util.regex.Pattern;
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
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Measures the template lookup of a known message, and the masking alone, compared with a regular
 * expression and a map.
 *
 * <pre>java -jar gateway-bench/target/benchmarks.jar TemplateKeyBenchmark -prof gc</pre>
 *
 * <p>An operation is one message of about {@code length} bytes; all messages differ and have twelve
 * shapes. {@code mask} builds the key, {@code known} also looks it up. Read the allocation column
 * first: both must stay at 0. {@code regex} masks only numbers, which is less than {@code mask}
 * does.
 *
 * <p>The {@code main} method measures the CPU time of the thread instead, in the best of many short
 * rounds; on a machine with other load, wall-clock time has little meaning. The exit status is 1
 * when a message of the shorter length takes more than 0.3 microseconds.
 *
 * <pre>
 * java -cp gateway-bench/target/benchmarks.jar dev.sluice.templates.TemplateKeyBenchmark
 * </pre>
 */
@Fork(3)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@OperationsPerInvocation(TemplateKeyBenchmark.LOGS)
@State(org.openjdk.jmh.annotations.Scope.Thread)
@NullUnmarked // JMH fills the fields
public class TemplateKeyBenchmark {
  static final int LOGS = 100_000;
  private static final int ROUNDS = 100;
  private static final double MAX_MICROS = 0.3;
  private static final String[] MESSAGE_FORMATS = {
    "GET /api/v2/orders/%d HTTP/1.1 200 in %d ms for client 10.12.%d.17",
    "connection %d to postgres-primary:5432 reset by peer after %d ms, retry %d",
    "order %d accepted: %d items, total %d.90 EUR, express delivery",
    "kafka consumer lag %d on partition %d of topic payments, rebalance %d",
    "user %d signed in from a new device, session %d, %d factors",
    "Failed password for invalid user backup from 10.0.%d.%d port %d ssh2",
    "level=info component=cache key=session-%d hits=%d evicted=%d",
    "Received block blk_-%d of size %d from /10.250.%d.20",
    "task attempt_%d_m_%d finished with status SUCCEEDED after %d tries",
    "disk quota of volume data-%d is at %d percent, %d files",
    "[worker-%d] heartbeat lost, last seen %d s ago, %d in queue",
    "certificate of node-%d.eu.internal expires in %d days, serial %d"
  };
  private static final Pattern NUMBER = Pattern.compile("\\d+");
  private static final String SUFFIX =
      "; the request was handled by the pool of the frontend and its answer was written to the log";

  @Param({"70", "150"})
  private int length;

  private final MessageMasker masker = new MessageMasker();
  private final int[] starts = new int[LOGS + 1];
  private byte[] bytes;
  private final Map<String, UUID> map = new ConcurrentHashMap<>();
  private WorkerDictionaryCache cache;
  private HashNamespace namespace;

  @Setup(Level.Trial)
  public void populate() throws InterruptedException {
    var random = new SplittableRandom(42);
    var out = new ByteArrayOutputStream();
    var suffix = SUFFIX.substring(0, Math.min(SUFFIX.length(), length - 65));
    for (int i = 0; i < LOGS; i++) {
      var format = MESSAGE_FORMATS[random.nextInt(MESSAGE_FORMATS.length)] + suffix;
      out.writeBytes(
          format
              .formatted(random.nextInt(1_000_000), random.nextInt(900), random.nextInt(250))
              .getBytes(UTF_8));
      starts[i + 1] = out.size();
    }
    bytes = out.toByteArray();
    System.out.printf("%n# %.1f bytes per message%n", (double) bytes.length / LOGS);
    cache =
        new SharedDictionaryCache(SharedDictionaryCache.CacheSettings.DEFAULT, new NoopDictionary())
            .newWorkerCache();
    cache.setReceiveTime(1_800_000_000_000_000_000L);
    var service = "checkout".getBytes(UTF_8);
    namespace = cache.namespace(EntryKind.TEMPLATE, "acme", service, 0, service.length);
    for (int i = 0; i < LOGS; i++) {
      masker.apply(bytes, starts[i], starts[i + 1] - starts[i]);
      cache.findOrPut(namespace, masker.bytes(), 0, masker.length());
      map.put(masked(i), new UUID(cache.idHigh(), cache.idLow()));
    }
    cache.flush();
    if (known() != LOGS || regex() != LOGS) {
      throw new IllegalStateException("some messages are not known");
    }
  }

  @Benchmark
  @Allocates(0)
  public int mask() {
    int length = 0;
    for (int i = 0; i < LOGS; i++) {
      masker.apply(bytes, starts[i], starts[i + 1] - starts[i]);
      length += masker.length();
    }
    return length;
  }

  @Benchmark
  @Allocates(0)
  public int known() {
    int known = 0;
    for (int i = 0; i < LOGS; i++) {
      masker.apply(bytes, starts[i], starts[i + 1] - starts[i]);
      if (cache.find(namespace, masker.bytes(), 0, masker.length())) {
        known++;
      }
    }
    return known;
  }

  @Benchmark
  public int regex() {
    int known = 0;
    for (int i = 0; i < LOGS; i++) {
      if (map.get(masked(i)) != null) {
        known++;
      }
    }
    return known;
  }

  private String masked(int i) {
    var message = new String(bytes, starts[i], starts[i + 1] - starts[i], UTF_8);
    return NUMBER.matcher(message).replaceAll("<*>");
  }

  public static void main(String[] args) throws InterruptedException {
    boolean reached = true;
    for (var length : new int[] {70, 150}) {
      var benchmark = new TemplateKeyBenchmark();
      benchmark.length = length;
      benchmark.populate();
      double mask = micros(benchmark::mask);
      double known = micros(benchmark::known);
      System.out.printf("mask %.3f us, known %.3f us of CPU%n", mask, known);
      reached &= length != 70 || known <= MAX_MICROS;
    }
    System.exit(reached ? 0 : 1);
  }

  /** Returns the CPU microseconds per log of the best round. */
  private static double micros(IntSupplier round) {
    var threads = ManagementFactory.getThreadMXBean();
    long best = Long.MAX_VALUE;
    int result = 0;
    for (int i = 0; i < ROUNDS; i++) {
      long startNanos = threads.getCurrentThreadCpuTime();
      result |= round.getAsInt();
      best = Math.min(best, threads.getCurrentThreadCpuTime() - startNanos);
    }
    if (result == 0) {
      throw new IllegalStateException("the rounds had no result");
    }
    return best / 1e3 / LOGS;
  }
}
