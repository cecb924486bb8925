package dev.sluice.templates.dictionary;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.port.WriteResult.Written;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import dev.sluice.templates.dictionary.SharedDictionaryCache.CacheSettings;
import dev.sluice.testkit.Threads;
import java.util.UUID;
import org.junit.jupiter.api.extension.ExtendWith;
import org.pastalab.fray.junit.junit5.FrayTestExtension;
import org.pastalab.fray.junit.junit5.annotations.FrayTest;

/** Workers that share one dictionary cache, in many thread schedules. */
@ExtendWith(FrayTestExtension.class)
class SharedDictionaryCacheInterleavingTest {
  private static final long NOON = 20_000 * 86_400_000_000_000L + 43_200_000_000_000L;
  private static final CacheSettings SETTINGS = new CacheSettings(8, 8);

  private final FakeDictionary dictionary = new FakeDictionary();
  private final SharedDictionaryCache sharedCache = new SharedDictionaryCache(SETTINGS, dictionary);

  @FrayTest(iterations = 300, resetClassLoaderPerIteration = false)
  void findOrPut_sameNewTextsInTwoWorkers_haveTheirMd5AndAreInTheDictionary() throws Exception {
    Threads.runAll(
        () -> resolve("select 1", "select 2", "select 1"),
        () -> resolve("select 2", "select 1", "select 2"));

    assertThat(dictionary.entries()).hasSize(2);
  }

  /** Resolves texts as a worker does: an id may be used once the flush is confirmed. */
  private void resolve(String... texts) {
    var worker = sharedCache.newWorkerCache();
    worker.setReceiveTime(NOON);
    var namespace = worker.namespace(EntryKind.TEXT, "acme", new byte[0], 0, 0);
    for (var text : texts) {
      var bytes = text.getBytes(UTF_8);
      worker.findOrPut(namespace, bytes, 0, bytes.length);
      var id = new UUID(worker.idHigh(), worker.idLow());
      assertThat(id).isEqualTo(ContentId.of(text));
      try {
        assertThat(worker.flush()).isEqualTo(new Written());
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
      assertThat(dictionary.has("acme", id)).isTrue();
    }
  }
}
