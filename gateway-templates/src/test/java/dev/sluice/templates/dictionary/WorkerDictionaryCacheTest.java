package dev.sluice.templates.dictionary;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import dev.sluice.core.port.WriteResult.Retryable;
import dev.sluice.core.port.WriteResult.Written;
import dev.sluice.templates.dictionary.Dictionary.DictionaryEntry;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import dev.sluice.templates.dictionary.SharedDictionaryCache.CacheSettings;
import java.lang.management.ManagementFactory;
import java.util.HashSet;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class WorkerDictionaryCacheTest {
  private static final long DAY = 86_400_000_000_000L;
  private static final long NOON = 20_000 * DAY + DAY / 2;
  private static final CacheSettings SETTINGS = new CacheSettings(64, 1_024);

  private final FakeDictionary dictionary = new FakeDictionary();
  private final SharedDictionaryCache sharedCache = new SharedDictionaryCache(SETTINGS, dictionary);
  private final WorkerDictionaryCache workerCache = newWorkerCache(sharedCache);

  @Test
  void findOrPut_newText_isItsMd5AndWritten() throws Exception {
    findOrPut(workerCache, "select 1");

    assertThat(id(workerCache)).isEqualTo(ContentId.of("select 1"));
    assertThat(dictionary.writes()).isEmpty();
    assertThat(workerCache.flush()).isEqualTo(new Written());
    assertThat(dictionary.writes())
        .containsExactly(
            new DictionaryEntry(
                "acme", EntryKind.TEXT, ContentId.of("select 1"), "select 1", NOON, NOON, null));
  }

  @Test
  void findOrPut_sameTextInOneDelivery_isDigestedAndWrittenOnce() throws Exception {
    for (int i = 0; i < 100; i++) {
      findOrPut(workerCache, "select 1");
      assertThat(id(workerCache)).isEqualTo(ContentId.of("select 1"));
    }
    workerCache.flush();

    assertThat(dictionary.writes()).hasSize(1);
    assertThat(sharedCache.stats().digests()).isEqualTo(1);
    assertThat(sharedCache.stats().pendingHits()).isEqualTo(99);
  }

  @Test
  void find_beforeFlush_isNotInTheSharedCache() throws Exception {
    var other = newWorkerCache(sharedCache);
    findOrPut(workerCache, "select 1");

    assertThat(find(other, "select 1")).isFalse();
    workerCache.flush();
    assertThat(find(other, "select 1")).isTrue();
    assertThat(id(other)).isEqualTo(ContentId.of("select 1"));
  }

  @Test
  void flush_failed_leavesTheTextUnknownAndIsRetriedWithTheNext() throws Exception {
    dictionary.setFailing(true);
    findOrPut(workerCache, "select 1");

    assertThat(workerCache.flush()).isInstanceOf(Retryable.class);
    assertThat(find(workerCache, "select 1")).isFalse();
    assertThat(find(newWorkerCache(sharedCache), "select 1")).isFalse();

    dictionary.setFailing(false);
    findOrPut(workerCache, "select 1");
    assertThat(workerCache.flush()).isEqualTo(new Written());
    assertThat(dictionary.has("acme", ContentId.of("select 1"))).isTrue();
    assertThat(sharedCache.stats().failedWrites()).isEqualTo(1);
    assertThat(sharedCache.stats().writtenEntries()).isEqualTo(1);
  }

  @Test
  void putTransient_afterFlush_isUnknown() throws Exception {
    assertThat(find(workerCache, "select 1")).isFalse();
    workerCache.putTransient(ContentId.of("a statement"), "a statement");

    assertThat(find(workerCache, "select 1")).isTrue();
    assertThat(workerCache.flush()).isEqualTo(new Written());

    assertThat(dictionary.has("acme", ContentId.of("a statement"))).isTrue();
    assertThat(find(workerCache, "select 1")).isFalse();
  }

  @Test
  void findOrPut_nextDay_isWrittenOncePerDay() throws Exception {
    for (int day = 0; day < 3; day++) {
      for (int i = 0; i < 5; i++) {
        workerCache.setReceiveTime(NOON + day * DAY + i);
        findOrPut(workerCache, "select 1");
        workerCache.flush();
      }
    }

    assertThat(dictionary.writes()).hasSize(3);
    assertThat(dictionary.entries())
        .containsExactly(
            new DictionaryEntry(
                "acme",
                EntryKind.TEXT,
                ContentId.of("select 1"),
                "select 1",
                NOON,
                NOON + 2 * DAY,
                null));
  }

  @Test
  void findOrPut_midnightWithinADelivery_isWrittenForTheLaterDay() throws Exception {
    findOrPut(workerCache, "select 1");
    workerCache.setReceiveTime(NOON + DAY);
    findOrPut(workerCache, "select 1");
    workerCache.flush();

    findOrPut(workerCache, "select 1");
    workerCache.flush();

    assertThat(dictionary.writes()).hasSize(1);
    assertThat(dictionary.writes().getFirst().firstSeenNanos()).isEqualTo(NOON);
    assertThat(dictionary.writes().getFirst().lastSeenNanos()).isEqualTo(NOON + DAY);
  }

  @Test
  void findOrPut_logsOfYesterdayAmongThoseOfToday_areNotRewritten() throws Exception {
    workerCache.setReceiveTime(NOON + DAY);
    findOrPut(workerCache, "select 1");
    workerCache.flush();

    workerCache.setReceiveTime(NOON);
    findOrPut(workerCache, "select 1");
    workerCache.flush();

    assertThat(dictionary.writes()).hasSize(1);
  }

  @Test
  void findOrPut_keyCollision_isTwoEntries() throws Exception {
    var hashKeys = HashKeys.random();
    var colliding =
        newWorkerCache(new SharedDictionaryCache(SETTINGS, dictionary, hashKeys, (_, _, _) -> 42));
    var texts = IntStream.range(0, 6).mapToObj(i -> "x".repeat(i * 100) + i).toList();

    for (int round = 0; round < 3; round++) {
      for (var text : texts) {
        findOrPut(colliding, text);
        assertThat(id(colliding)).isEqualTo(ContentId.of(text));
      }
      colliding.flush();
    }

    assertThat(dictionary.writes())
        .extracting(DictionaryEntry::text)
        .containsExactlyElementsOf(texts);
  }

  @Test
  void find_sameBytesInAnotherNamespace_isUnknown() throws Exception {
    var bytes = "user <*> is gone".getBytes(UTF_8);
    var namespace = namespace(workerCache, EntryKind.TEMPLATE, "acme", "shop");
    workerCache.find(namespace, bytes, 0, bytes.length);
    workerCache.put(ContentId.of("user <*>"), "user <*>");
    workerCache.flush();

    for (var other :
        List.of(
            namespace(workerCache, EntryKind.TEXT, "acme", "shop"),
            namespace(workerCache, EntryKind.TEMPLATE, "other", "shop"),
            namespace(workerCache, EntryKind.TEMPLATE, "acme", "shops"),
            namespace(workerCache, EntryKind.TEMPLATE, "acmes", "hop"))) {
      assertThat(workerCache.find(other, bytes, 0, bytes.length)).isFalse();
    }
    assertThat(
            workerCache.find(
                namespace(workerCache, EntryKind.TEMPLATE, "acme", "shop"), bytes, 0, bytes.length))
        .isTrue();
    assertThat(id(workerCache)).isEqualTo(ContentId.of("user <*>"));
  }

  @Test
  void put_manyMaskedFormsOfOneTemplate_isOneEntry() throws Exception {
    var template = ContentId.of("user <*>");
    for (int i = 0; i < 10; i++) {
      assertThat(find(workerCache, "skeleton " + i)).isFalse();
      workerCache.put(template, "user <*>");
      assertThat(id(workerCache)).isEqualTo(template);
    }
    workerCache.flush();

    assertThat(dictionary.writes()).hasSize(1);
    assertThat(find(workerCache, "skeleton 7")).isTrue();
    assertThat(id(workerCache)).isEqualTo(template);
  }

  @Test
  void put_withoutAPrecedingMiss_throws() throws Exception {
    assertThatThrownBy(() -> workerCache.put(ContentId.of("a"), "a"))
        .isInstanceOf(IllegalStateException.class);

    findOrPut(workerCache, "a");
    workerCache.flush();
    assertThat(find(workerCache, "b")).isFalse();
    assertThat(find(workerCache, "a")).isTrue();
    assertThatThrownBy(() -> workerCache.put(ContentId.of("b"), "b"))
        .isInstanceOf(IllegalStateException.class);
  }

  @Test
  void addEntry_linkOfATemplate_isWrittenWithTheOthers() throws Exception {
    var link =
        new DictionaryEntry(
            "acme", EntryKind.TEMPLATE, ContentId.of("a b"), "a b", 1, 1, ContentId.of("a <*>"));

    workerCache.addEntry(link);
    workerCache.flush();

    assertThat(dictionary.writes()).containsExactly(link);
  }

  @Test
  void isFull_manyNewTexts_isTrueUntilFlushed() throws Exception {
    for (int i = 0; i < 32; i++) {
      assertThat(workerCache.isFull()).isFalse();
      findOrPut(workerCache, i + "x".repeat(1 << 20));
    }

    assertThat(workerCache.isFull()).isTrue();
    workerCache.flush();
    assertThat(workerCache.isFull()).isFalse();
  }

  @Test
  void findOrPutRepeated_secondOccurrence_isWritten() throws Exception {
    assertThat(findOrPutRepeated("a", 0, 1)).isFalse();
    assertThat(findOrPutRepeated("b", 10, 1)).isFalse();
    assertThat(findOrPutRepeated("a", 20, 1)).isTrue();
    assertThat(id(workerCache)).isEqualTo(ContentId.of("a"));
    workerCache.flush();

    assertThat(dictionary.writes()).extracting(DictionaryEntry::text).containsExactly("a");
    assertThat(findOrPutRepeated("a", 0, 2)).isTrue();
    assertThat(findOrPutRepeated("b", 10, 2)).isTrue();
  }

  /** A retry of the same log is not a second occurrence. */
  @Test
  void findOrPutRepeated_sameOffsetOfTheSameBatch_isNoRepetition() throws Exception {
    for (int i = 0; i < 3; i++) {
      assertThat(findOrPutRepeated("a", 7, 1)).isFalse();
      workerCache.flush();
    }

    assertThat(findOrPutRepeated("a", 7, 2)).isTrue();
  }

  @Test
  void findOrPutRepeated_nextDay_isWrittenAgain() throws Exception {
    findOrPutRepeated("a", 0, 1);
    findOrPutRepeated("a", 1, 1);
    workerCache.flush();
    workerCache.setReceiveTime(NOON + DAY);

    assertThat(findOrPutRepeated("a", 0, 2)).isTrue();
    workerCache.flush();

    assertThat(dictionary.writes())
        .extracting(DictionaryEntry::lastSeenNanos)
        .containsExactly(NOON, NOON + DAY);
  }

  @Test
  void findOrPutRepeated_pendingFull_hasNoIdUntilFlushed() throws Exception {
    findOrPutRepeated("a", 0, 1);
    findOrPut(workerCache, "x".repeat(32 << 20));

    assertThat(findOrPutRepeated("a", 1, 1)).isFalse();
    workerCache.flush();
    assertThat(findOrPutRepeated("a", 1, 1)).isTrue();
  }

  private boolean findOrPutRepeated(String text, int offset, long batch) {
    var bytes = (" ".repeat(offset) + text).getBytes(UTF_8);
    return workerCache.findOrPutRepeated(
        namespace(workerCache, EntryKind.TEXT, "acme", ""),
        bytes,
        offset,
        bytes.length - offset,
        batch);
  }

  @Test
  void stats_eachTier_isCounted() throws Exception {
    findOrPut(workerCache, "a"); // miss
    findOrPut(workerCache, "a"); // pending
    workerCache.flush();
    findOrPut(workerCache, "a"); // worker cache
    var other = newWorkerCache(sharedCache);
    findOrPut(other, "a"); // shared cache
    findOrPut(other, "a"); // worker cache
    workerCache.flush();
    other.flush();

    assertThat(sharedCache.stats())
        .isEqualTo(
            new SharedDictionaryCache.DictionaryCacheStats(
                2, 1, 1, 1, 1, 1, 0, 1, SETTINGS.sharedEntries(), 32L * SETTINGS.sharedEntries()));
  }

  @Test
  void find_known_allocatesNothing() throws Exception {
    var small = text(70);
    var large = text(5_000);
    var hashNamespace = namespace(workerCache, EntryKind.TEXT, "acme", "shop");
    workerCache.findOrPut(hashNamespace, small, 0, small.length);
    workerCache.findOrPut(hashNamespace, large, 0, large.length);
    workerCache.flush();
    var heap = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    findAll(small, large, 20_000);

    long before = heap.getCurrentThreadAllocatedBytes();
    findAll(small, large, 20_000);

    // an allowance for the measurement and the JIT, far below one byte per lookup
    assertThat(heap.getCurrentThreadAllocatedBytes() - before).isLessThan(10_000);
  }

  private void findAll(byte[] small, byte[] large, int times) {
    var service = "shop".getBytes(UTF_8);
    for (int i = 0; i < times; i++) {
      var hashNamespace = workerCache.namespace(EntryKind.TEXT, "acme", service, 0, service.length);
      if (!workerCache.find(hashNamespace, small, 0, small.length)
          || !workerCache.find(hashNamespace, large, 0, large.length)) {
        throw new AssertionError("not known");
      }
    }
  }

  /** Holds for any cache size, with failing writes, and across midnight. */
  @Property(tries = 200)
  void findOrPut_anyCapacity_isTheMd5AndEveryReturnedIdIsWritten(
      @ForAll @IntRange(min = 8, max = 40) int workerEntries,
      @ForAll @IntRange(min = 8, max = 200) int shared,
      @ForAll @IntRange(min = 1, max = 300) int texts,
      @ForAll long seed)
      throws Exception {
    var dictionary = new FakeDictionary();
    var cache = new SharedDictionaryCache(new CacheSettings(workerEntries, shared), dictionary);
    var workerCaches = List.of(newWorkerCache(cache), newWorkerCache(cache));
    var random = new SplittableRandom(seed);
    long now = NOON;
    var confirmed = new HashSet<String>();
    for (int delivery = 0; delivery < 40; delivery++) {
      var workerCache = workerCaches.get(random.nextInt(2));
      var returned = new HashSet<String>();
      for (int i = random.nextInt(30); i > 0; i--) {
        workerCache.setReceiveTime(now += random.nextLong(DAY / 200));
        var text = "text " + random.nextInt(texts);
        findOrPut(workerCache, text);
        assertThat(id(workerCache)).isEqualTo(ContentId.of(text));
        returned.add(text);
      }
      dictionary.setFailing(random.nextInt(4) == 0);
      if (workerCache.flush() instanceof Written) {
        confirmed.addAll(returned);
      }
    }

    assertThat(dictionary.entries()).extracting(DictionaryEntry::text).containsAll(confirmed);
    for (var entry : dictionary.entries()) {
      assertThat(entry.id()).isEqualTo(ContentId.of(entry.text()));
    }
  }

  @Test
  @Timeout(60)
  void findOrPut_concurrentWorkers_returnTheMd5OfWrittenTexts() throws Exception {
    int workers = 4;
    var crowded = new SharedDictionaryCache(new CacheSettings(8, 64), dictionary);
    var start = new CountDownLatch(workers);
    Callable<Void> work =
        () -> {
          var threadCache = newWorkerCache(crowded);
          var random = new SplittableRandom();
          start.countDown();
          start.await();
          for (int i = 0; i < 5_000; i++) {
            var text = "text " + random.nextInt(200);
            if (find(threadCache, text)) {
              assertThat(id(threadCache)).isEqualTo(ContentId.of(text));
              assertThat(dictionary.has("acme", ContentId.of(text))).isTrue();
            } else {
              findOrPut(threadCache, text);
              threadCache.flush();
            }
          }
          return null;
        };

    try (var threads = Executors.newFixedThreadPool(workers)) {
      for (var done : threads.invokeAll(IntStream.range(0, workers).mapToObj(_ -> work).toList())) {
        await(done);
      }
    }

    assertThat(dictionary.entries()).hasSize(200);
  }

  private static void await(Future<Void> done) throws Exception {
    try {
      done.get();
    } catch (ExecutionException e) {
      throw new AssertionError(e.getCause());
    }
  }

  private static WorkerDictionaryCache newWorkerCache(SharedDictionaryCache cache) {
    var workerCache = cache.newWorkerCache();
    workerCache.setReceiveTime(NOON);
    return workerCache;
  }

  private static HashNamespace namespace(
      WorkerDictionaryCache workerCache, EntryKind kind, String tenant, String service) {
    var bytes = service.getBytes(UTF_8);
    return workerCache.namespace(kind, tenant, bytes, 0, bytes.length);
  }

  private static void findOrPut(WorkerDictionaryCache workerCache, String text) {
    var bytes = text.getBytes(UTF_8);
    workerCache.findOrPut(
        namespace(workerCache, EntryKind.TEXT, "acme", ""), bytes, 0, bytes.length);
  }

  private static boolean find(WorkerDictionaryCache workerCache, String text) {
    var bytes = text.getBytes(UTF_8);
    return workerCache.find(
        namespace(workerCache, EntryKind.TEXT, "acme", ""), bytes, 0, bytes.length);
  }

  private static UUID id(WorkerDictionaryCache workerCache) {
    return new UUID(workerCache.idHigh(), workerCache.idLow());
  }

  private static byte[] text(int length) {
    var bytes = new byte[length];
    for (int i = 0; i < length; i++) {
      bytes[i] = (byte) ('a' + i % 26);
    }
    return bytes;
  }
}
