package dev.sluice.templates;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.bench.Allocates;
import dev.sluice.bench.HotPathBenchmark;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import dev.sluice.templates.dictionary.HashNamespace;
import dev.sluice.templates.dictionary.NoopDictionary;
import dev.sluice.templates.dictionary.SharedDictionaryCache;
import dev.sluice.templates.dictionary.WorkerDictionaryCache;
import java.io.ByteArrayOutputStream;
import java.util.SplittableRandom;
import org.jspecify.annotations.NullUnmarked;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Setup;

/**
 * Measures the template lookup of a known message, and the masking alone.
 *
 * <p>An operation is one message of about {@code length} bytes; all messages differ and have twelve
 * shapes. {@code mask} builds the key, {@code known} also looks it up.
 */
@OperationsPerInvocation(TemplateKeyBenchmark.LOGS)
@NullUnmarked // JMH fills the fields
public class TemplateKeyBenchmark extends HotPathBenchmark {
  static final int LOGS = 100_000;
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
  private static final String SUFFIX =
      "; the request was handled by the pool of the frontend and its answer was written to the log";

  @Param({"70", "150"})
  private int length;

  private final MessageMasker masker = new MessageMasker();
  private final int[] starts = new int[LOGS + 1];
  private byte[] bytes;
  private WorkerDictionaryCache cache;
  private HashNamespace namespace;

  @Setup
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
    }
    cache.flush();
    if (known() != LOGS) {
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
}
