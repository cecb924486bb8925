package dev.sluice.query.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.query.port.Embedder;
import dev.sluice.query.port.EmbeddingMetrics;
import dev.sluice.query.port.TemplateVectorStore.TemplateSample;
import dev.sluice.query.search.EmbeddingBackfill.Throttle;
import dev.sluice.templates.dictionary.ContentId;
import dev.sluice.templates.dictionary.Dictionary.DictionaryEntry;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import dev.sluice.testkit.FakeEmbedder;
import dev.sluice.testkit.InMemoryDictionary;
import dev.sluice.testkit.InMemoryTemplateStats;
import dev.sluice.testkit.InMemoryTemplateVectorStore;
import dev.sluice.testkit.InMemoryTemplateVectorStore.StoredSample;
import dev.sluice.testkit.ManualClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class EmbeddingBackfillTest {
  private static final String TENANT = "default";
  private static final String EMBEDDING_VERSION = "concepts/4/1";
  private static final Throttle RUNNING = _ -> true;

  private final ManualClock clock = new ManualClock("2026-01-15T08:00:00Z");
  private final InMemoryDictionary dictionary = new InMemoryDictionary();
  private final InMemoryTemplateStats templates = new InMemoryTemplateStats(dictionary);
  private final InMemoryTemplateVectorStore vectors =
      new InMemoryTemplateVectorStore(dictionary, 4);
  private final FakeEmbedder embedder = embedder("concepts");
  private final RecordingEmbeddingMetrics metrics = new RecordingEmbeddingMetrics();

  private static final class RecordingEmbeddingMetrics implements EmbeddingMetrics {
    private int embedded;
    private int failed;
    private long backlog = -1;

    @Override
    public void recordEmbedded(Duration duration) {
      embedded++;
    }

    @Override
    public void recordFailure() {
      failed++;
    }

    @Override
    public void recordBacklog(long templates) {
      backlog = templates;
    }
  }

  private static FakeEmbedder embedder(String name) {
    return new FakeEmbedder(name, 4, Map.of("disk", 1, "memory", 2));
  }

  private EmbeddingBackfill backfill(Embedder by) {
    return new EmbeddingBackfill(templates, vectors, by, metrics, clock);
  }

  private long now() {
    return clock.instant().getEpochSecond() * 1_000_000_000L;
  }

  private void template(String text, @Nullable String into) {
    var link = into == null ? null : ContentId.of(into);
    dictionary.write(
        List.of(
            new DictionaryEntry(
                TENANT, EntryKind.TEMPLATE, ContentId.of(text), text, now(), now(), link)));
  }

  private void storeLog(String template, String service, String body) {
    templates.count(TENANT, service, ContentId.of(template), 9, now());
    vectors.store(
        new StoredSample(
            TENANT, ContentId.of(template), now(), 9, new TemplateSample(service, "", body)));
  }

  private boolean hasVectors(String template) {
    return !vectors.find(EMBEDDING_VERSION, TENANT, List.of(ContentId.of(template))).isEmpty();
  }

  @Test
  void embedNextPage_severalTenants_embedsTheTemplatesOfEach() throws Exception {
    template("disk <*> full", null);
    dictionary.write(
        List.of(
            new DictionaryEntry(
                "other",
                EntryKind.TEMPLATE,
                ContentId.of("memory low"),
                "memory low",
                now(),
                now(),
                null)));
    clock.advance(Duration.ofMinutes(2));

    assertThat(backfill(embedder).embedNextPage(RUNNING)).isTrue();

    assertThat(hasVectors("disk <*> full")).isTrue();
    assertThat(vectors.find(EMBEDDING_VERSION, "other", List.of(ContentId.of("memory low"))))
        .hasSize(1);
    assertThat(metrics.backlog).isZero();
  }

  @Test
  void embedNextPage_idleForAWhile_compactsOnce() throws Exception {
    template("disk <*> full", null);
    storeLog("disk <*> full", "web", "disk 7 full");
    var embeddings = backfill(embedder);
    embeddings.embedNextPage(RUNNING);
    clock.advance(Duration.ofSeconds(9));
    embeddings.embedNextPage(RUNNING);
    assertThat(vectors.compactions()).isZero();

    clock.advance(Duration.ofSeconds(1));
    embeddings.embedNextPage(RUNNING);
    embeddings.embedNextPage(RUNNING);
    assertThat(vectors.compactions()).isEqualTo(1);
  }

  @Test
  void embedNextPage_newTemplates_areEmbeddedOnceEach() throws Exception {
    template("disk <*> full", null);
    storeLog("disk <*> full", "web", "disk 7 full");
    template("out of memory", "out of <*>");
    storeLog("out of memory", "web", "out of memory");
    var embeddings = backfill(embedder);

    assertThat(embeddings.embedNextPage(RUNNING)).isTrue();

    assertThat(hasVectors("disk <*> full")).isTrue();
    assertThat(hasVectors("out of memory")).isTrue(); // logs of the member still refer to it
    assertThat(metrics.embedded).isEqualTo(2);
    assertThat(metrics.backlog).isZero();
    int before = embedder.embeddedTexts();
    assertThat(embeddings.embedNextPage(RUNNING)).isTrue();
    // a new instance, as after a restart
    assertThat(backfill(embedder).embedNextPage(RUNNING)).isTrue();
    assertThat(embedder.embeddedTexts()).isEqualTo(before);
  }

  @Test
  void embedNextPage_moreThanOneBatch_isDoneAfterTheLast() throws Exception {
    for (int i = 0; i < 2_500; i++) {
      template("disk " + i, null);
      storeLog("disk " + i, "web", "disk");
    }
    var embeddings = backfill(embedder);

    int rounds = 1;
    while (!embeddings.embedNextPage(RUNNING)) {
      rounds++;
    }

    assertThat(rounds).isEqualTo(3);
    assertThat(metrics.backlog).isZero();
  }

  /**
   * A page of many templates takes long with a small CPU share; the backlog metric must change
   * during that time.
   */
  @Test
  void embedNextPage_manyTemplates_reportsTheBacklogMeanwhile() throws Exception {
    for (int i = 0; i < 100; i++) {
      template("disk " + i, null);
      storeLog("disk " + i, "web", "disk");
    }
    var backlogs = new TreeSet<Long>();

    backfill(embedder)
        .embedNextPage(
            _ -> {
              backlogs.add(metrics.backlog);
              return true;
            });

    assertThat(backlogs.last()).isEqualTo(100);
    assertThat(backlogs.first()).isBetween(1L, 99L);
    assertThat(metrics.backlog).isZero();
  }

  @Test
  void embedNextPage_noLogYet_waitsAMinuteForOne() throws Exception {
    template("disk <*> full", null);
    var embeddings = backfill(embedder);

    assertThat(embeddings.embedNextPage(RUNNING)).isTrue();
    assertThat(hasVectors("disk <*> full")).isFalse();
    assertThat(metrics.backlog).isEqualTo(1);

    clock.advance(Duration.ofSeconds(61));
    embeddings.embedNextPage(RUNNING);
    assertThat(hasVectors("disk <*> full")).isTrue();
  }

  @Test
  void embedNextPage_logArrives_isEmbeddedWithIt() throws Exception {
    template("disk <*> full", null);
    var embeddings = backfill(embedder);
    embeddings.embedNextPage(RUNNING);
    storeLog("disk <*> full", "web", "disk 7 full");

    embeddings.embedNextPage(RUNNING);

    assertThat(hasVectors("disk <*> full")).isTrue();
  }

  @Test
  void embedNextPage_modelUnavailable_storesNothingAndCatchesUp() throws Exception {
    template("disk <*> full", null);
    storeLog("disk <*> full", "web", "disk 7 full");
    var embeddings = backfill(embedder);
    embedder.setUnavailable("away");

    assertThatThrownBy(() -> embeddings.embedNextPage(RUNNING))
        .isInstanceOf(Embedder.EmbedderUnavailableException.class);
    assertThat(hasVectors("disk <*> full")).isFalse();
    assertThat(metrics.failed).isEqualTo(1);
    assertThat(metrics.backlog).isEqualTo(1);

    embedder.setUnavailable(null);
    embeddings.embedNextPage(RUNNING);
    assertThat(hasVectors("disk <*> full")).isTrue();
    assertThat(metrics.backlog).isZero();
  }

  @Test
  void embedNextPage_modelFailsMidway_keepsFinishedEmbeddings() throws Exception {
    for (var text : List.of("disk a", "disk b", "disk c")) {
      template(text, null);
      storeLog(text, "web", text);
    }
    var embeddings = backfill(embedder);
    var checks = new AtomicInteger();

    assertThatThrownBy(
            () ->
                embeddings.embedNextPage(
                    _ -> {
                      if (checks.incrementAndGet() == 3) {
                        embedder.setUnavailable("away");
                      }
                      return true;
                    }))
        .isInstanceOf(Embedder.EmbedderUnavailableException.class);

    assertThat(vectors.backlog(EMBEDDING_VERSION, TENANT)).isEqualTo(1);
  }

  @Test
  void embedNextPage_invalidText_blocksNoOther() throws Exception {
    for (var text : List.of("disk a", "poison", "disk b")) {
      template(text, null);
      storeLog(text, "web", text);
    }
    embedder.rejectTextsContaining("poison");
    var embeddings = backfill(embedder);

    assertThat(embeddings.embedNextPage(RUNNING)).isTrue();
    embeddings.embedNextPage(RUNNING);

    assertThat(hasVectors("disk a")).isTrue();
    assertThat(hasVectors("disk b")).isTrue();
    assertThat(hasVectors("poison")).isFalse();
    assertThat(metrics.failed).isEqualTo(1);
    assertThat(metrics.backlog).isEqualTo(1);
  }

  @Test
  void embedNextPage_remoteModel_isCalledInBatches() throws Exception {
    for (int i = 0; i < 128; i++) {
      template("disk " + i, null);
      storeLog("disk " + i, "web", "disk");
    }
    embedder.setRemote();
    var durations = new ArrayList<Duration>();

    backfill(embedder).embedNextPage(durations::add);

    assertThat(vectors.backlog(EMBEDDING_VERSION, TENANT)).isZero();
    assertThat(embedder.calls()).isEqualTo(2);
    assertThat(metrics.embedded).isEqualTo(128);
    assertThat(durations).as("samples are looked up before each batch").hasSize(2);
  }

  @Test
  void embedNextPage_localModel_isCalledOneByOne() throws Exception {
    for (int i = 0; i < 64; i++) {
      template("disk " + i, null);
      storeLog("disk " + i, "web", "disk");
    }
    var durations = new ArrayList<Duration>();

    backfill(embedder).embedNextPage(durations::add);

    assertThat(embedder.calls()).isEqualTo(64);
    assertThat(durations).hasSize(64).allSatisfy(each -> assertThat(each).isPositive());
  }

  @Test
  void embedNextPage_invalidTextInABatch_blocksNoOther() throws Exception {
    for (var text : List.of("disk a", "poison", "disk b")) {
      template(text, null);
      storeLog(text, "web", text);
    }
    embedder.rejectTextsContaining("poison");
    embedder.setRemote();
    var embeddings = backfill(embedder);

    assertThat(embeddings.embedNextPage(RUNNING)).isTrue();

    assertThat(hasVectors("disk a")).isTrue();
    assertThat(hasVectors("disk b")).isTrue();
    assertThat(metrics.failed).isEqualTo(1);
    assertThat(metrics.embedded).isEqualTo(2);
    assertThat(embedder.calls()).as("one batch, and then each text").isEqualTo(4);
    embeddings.embedNextPage(RUNNING);
    assertThat(embedder.calls()).isEqualTo(4);
  }

  /**
   * The embeddings are already paid for, and without them the backfill would never reach the
   * invalid text.
   */
  @Test
  void embedNextPage_modelFailsWhileIsolatingInvalidText_keepsFinishedEmbeddings()
      throws Exception {
    for (var text : List.of("disk a", "disk b", "poison")) {
      template(text, null);
      storeLog(text, "web", text);
    }
    embedder.rejectTextsContaining("poison");
    embedder.setRemote();
    embedder.failAfterCalls(2); // one call for all three texts, and one for the first

    assertThatThrownBy(() -> backfill(embedder).embedNextPage(RUNNING))
        .isInstanceOf(Embedder.EmbedderUnavailableException.class);

    assertThat(vectors.backlog(EMBEDDING_VERSION, TENANT)).isEqualTo(2);
  }

  @Test
  void embedNextPage_stopped_keepsFinishedEmbeddings() {
    for (var text : List.of("disk a", "disk b")) {
      template(text, null);
      storeLog(text, "web", text);
    }
    var embeddings = backfill(embedder);
    var checks = new AtomicInteger();

    assertThatThrownBy(() -> embeddings.embedNextPage(_ -> checks.incrementAndGet() == 1))
        .isInstanceOf(InterruptedException.class);

    assertThat(vectors.backlog(EMBEDDING_VERSION, TENANT)).isEqualTo(1);
  }

  @Test
  void embedNextPage_otherModel_embedsAllAgainSeparately() throws Exception {
    template("disk <*> full", null);
    storeLog("disk <*> full", "web", "disk 7 full");
    backfill(embedder).embedNextPage(RUNNING);

    backfill(embedder("newer")).embedNextPage(RUNNING);

    assertThat(vectors.find("newer/4/1", TENANT, List.of(ContentId.of("disk <*> full"))))
        .hasSize(1);
    assertThat(hasVectors("disk <*> full")).isTrue();
  }
}
