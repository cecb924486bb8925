package dev.sluice.templates.dictionary;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.bench.Allocates;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import dev.sluice.templates.dictionary.SharedDictionaryCache.CacheSettings;
import java.io.ByteArrayOutputStream;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
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
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Measures the cache lookup of the known masked message of a log, compared with a map of strings.
 *
 * <pre>java -jar gateway-bench/target/benchmarks.jar WorkerDictionaryCacheBenchmark -prof gc</pre>
 *
 * <p>An operation is the lookup of one masked message of 40 to 120 bytes, chosen at random from
 * {@code shapes}: both hashes and the tables. A thousand messages fit into the worker's own table;
 * of a hundred thousand nearly all are in the shared table. Every eighth lookup also looks up its
 * namespace by the name of the service, as with eight logs per resource. Read the allocation column
 * first: {@code known} must stay at 0. {@code map} creates a string for each message, and has only
 * one namespace.
 */
@Fork(3)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@OperationsPerInvocation(WorkerDictionaryCacheBenchmark.LOGS)
@State(org.openjdk.jmh.annotations.Scope.Thread)
@NullUnmarked // JMH fills the fields
public class WorkerDictionaryCacheBenchmark {
  static final int LOGS = 100_000;
  private static final long RECEIVED_NANOS = 1_800_000_000_000_000_000L;

  @Param({"1000", "100000"})
  private int shapes;

  private WorkerDictionaryCache cache;
  private byte[] bytes;
  private final byte[] service = "checkout".getBytes(UTF_8);
  private int[] starts;
  private final Map<String, UUID> map = new ConcurrentHashMap<>();
  private final int[] order = new int[LOGS];

  @Setup(Level.Trial)
  public void populate() throws InterruptedException {
    var random = new SplittableRandom(42);
    var out = new ByteArrayOutputStream();
    starts = new int[shapes + 1];
    for (int i = 0; i < shapes; i++) {
      var shape = "connection %d to <*> was reset, retrying in <*> ms ".formatted(i);
      out.writeBytes((shape + "x".repeat(random.nextInt(70))).getBytes(UTF_8));
      starts[i + 1] = out.size();
    }
    bytes = out.toByteArray();
    cache = new SharedDictionaryCache(CacheSettings.DEFAULT, new NoopDictionary()).newWorkerCache();
    cache.setReceiveTime(RECEIVED_NANOS);
    var namespace = cache.namespace(EntryKind.TEMPLATE, "acme", service, 0, service.length);
    for (int i = 0; i < shapes; i++) {
      cache.findOrPut(namespace, bytes, starts[i], starts[i + 1] - starts[i]);
      var text = new String(bytes, starts[i], starts[i + 1] - starts[i], UTF_8);
      map.put(text, new UUID(cache.idHigh(), cache.idLow()));
    }
    cache.flush();
    for (int i = 0; i < LOGS; i++) {
      order[i] = random.nextInt(shapes);
    }
    if (known() != LOGS || map() != LOGS) {
      throw new IllegalStateException(known() + " and " + map() + " of " + LOGS + " are known");
    }
  }

  @Benchmark
  @Allocates(0)
  public int known() {
    int known = 0;
    var namespace = cache.namespace(EntryKind.TEMPLATE, "acme", service, 0, service.length);
    for (int i = 0; i < LOGS; i++) {
      if (i % 8 == 0) {
        namespace = cache.namespace(EntryKind.TEMPLATE, "acme", service, 0, service.length);
      }
      int from = starts[order[i]];
      if (cache.find(namespace, bytes, from, starts[order[i] + 1] - from)) {
        known++;
      }
    }
    return known;
  }

  @Benchmark
  public int map() {
    int known = 0;
    for (int i = 0; i < LOGS; i++) {
      int from = starts[order[i]];
      if (map.get(new String(bytes, from, starts[order[i] + 1] - from, UTF_8)) != null) {
        known++;
      }
    }
    return known;
  }
}
