package dev.sluice.api.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.query.port.EmbeddingMetrics;
import dev.sluice.query.search.EmbeddingBackfill;
import dev.sluice.templates.dictionary.ContentId;
import dev.sluice.templates.dictionary.Dictionary.DictionaryEntry;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import dev.sluice.testkit.FakeEmbedder;
import dev.sluice.testkit.InMemoryDictionary;
import dev.sluice.testkit.InMemoryTemplateStats;
import dev.sluice.testkit.InMemoryTemplateVectorStore;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class EmbeddingsLifecycleTest {
  private final InMemoryDictionary dictionary = new InMemoryDictionary();
  private final InMemoryTemplateVectorStore vectors =
      new InMemoryTemplateVectorStore(dictionary, 3);
  private final FakeEmbedder embedder = new FakeEmbedder("concepts", 3, Map.of("disk", 1));
  private final AtomicInteger failed = new AtomicInteger();
  private final EmbeddingsLifecycle lifecycle = lifecycle(0.5);

  private EmbeddingsLifecycle lifecycle(double share) {
    return new EmbeddingsLifecycle(
        new EmbeddingBackfill(
            new InMemoryTemplateStats(dictionary),
            vectors,
            embedder,
            new FailureCounter(failed),
            InstantSource.system()),
        Duration.ofMillis(1),
        share);
  }

  private record FailureCounter(AtomicInteger count) implements EmbeddingMetrics {
    @Override
    public void recordEmbedded(Duration duration) {}

    @Override
    public void recordFailure() {
      count.incrementAndGet();
    }

    @Override
    public void recordBacklog(long templates) {}
  }

  /** Adds an old template, for which the backfill does not wait for a sample log. */
  private void addTemplate(String text) {
    dictionary.write(
        List.of(
            new DictionaryEntry(
                "default", EntryKind.TEMPLATE, ContentId.of(text), text, 1, 1, null)));
  }

  private boolean isEmbedded(String text) {
    return !vectors.find("concepts/3/1", "default", List.of(ContentId.of(text))).isEmpty();
  }

  @AfterEach
  void stop() {
    lifecycle.stop();
  }

  @Test
  void start_existingAndNewTemplates_areEmbedded() {
    addTemplate("disk full");
    lifecycle.start();
    await().until(() -> isEmbedded("disk full"));

    addTemplate("disk gone");

    await().until(() -> isEmbedded("disk gone"));
  }

  @Test
  void run_modelUnavailable_retriesUntilItIsAvailable() {
    embedder.setUnavailable("unavailable");
    addTemplate("disk full");
    lifecycle.start();
    await().until(() -> failed.get() > 0);
    assertThat(isEmbedded("disk full")).isFalse();

    embedder.setUnavailable(null);

    await().until(() -> isEmbedded("disk full"));
  }

  @Test
  void throttle_afterWork_keepsTheCpuShare() {
    assertThat(EmbeddingsLifecycle.throttle(Duration.ofMillis(30), 0.15))
        .isEqualTo(Duration.ofMillis(170));
    assertThat(EmbeddingsLifecycle.throttle(Duration.ofMillis(30), 1)).isZero();
  }

  /** The search for samples takes a moment, which this share turns into an hour of throttling. */
  @Test
  void run_tinyCpuShare_throttlesBeforeItEmbeds() {
    addTemplate("disk full");
    var others = Thread.getAllStackTraces().keySet();
    var throttled = lifecycle(1e-12);
    throttled.start();
    await()
        .until(
            () ->
                Thread.getAllStackTraces().keySet().stream()
                    .filter(thread -> thread.getName().equals("embeddings"))
                    .filter(thread -> !others.contains(thread))
                    .anyMatch(thread -> thread.getState() == Thread.State.TIMED_WAITING));

    throttled.stop();

    assertThat(embedder.calls()).isZero();
  }

  @Test
  void stop_whileWaiting_stopsAndCanBeRestarted() {
    lifecycle.start();
    assertThat(lifecycle.isRunning()).isTrue();

    lifecycle.stop();
    lifecycle.stop();

    assertThat(lifecycle.isRunning()).isFalse();
    addTemplate("disk full");
    lifecycle.start();
    await().until(() -> isEmbedded("disk full"));
  }
}
