package dev.sluice.templates.dictionary;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.bench.Allocates;
import dev.sluice.bench.HotPathBenchmark;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import dev.sluice.templates.dictionary.SharedDictionaryCache.CacheSettings;
import java.io.ByteArrayOutputStream;
import java.util.SplittableRandom;
import org.jspecify.annotations.NullUnmarked;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Setup;

/**
 * Measures the cache lookup of the known masked message of a log.
 *
 * <p>An operation is the lookup of one masked message of 40 to 120 bytes, chosen at random from
 * {@code shapes}: both hashes and the tables. A thousand messages fit into the worker's own table;
 * of a hundred thousand nearly all are in the shared table. Every eighth lookup also looks up its
 * namespace by the name of the service, as with eight logs per resource.
 */
@OperationsPerInvocation(WorkerDictionaryCacheBenchmark.LOGS)
@NullUnmarked // JMH fills the fields
public class WorkerDictionaryCacheBenchmark extends HotPathBenchmark {
  static final int LOGS = 100_000;
  private static final long RECEIVED_NANOS = 1_800_000_000_000_000_000L;

  @Param({"1000", "100000"})
  private int shapes;

  private WorkerDictionaryCache cache;
  private byte[] bytes;
  private final byte[] service = "checkout".getBytes(UTF_8);
  private int[] starts;
  private final int[] order = new int[LOGS];

  @Setup
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
    }
    cache.flush();
    for (int i = 0; i < LOGS; i++) {
      order[i] = random.nextInt(shapes);
    }
    if (known() != LOGS) {
      throw new IllegalStateException(known() + " of " + LOGS + " are known");
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
}
