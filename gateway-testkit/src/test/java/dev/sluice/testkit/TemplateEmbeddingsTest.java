package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.core.dictionary.ContentId;
import dev.sluice.core.port.Dictionary.DictionaryEntry;
import dev.sluice.core.port.Dictionary.EntryKind;
import dev.sluice.core.port.Embedder;
import dev.sluice.core.port.EmbeddingMetrics;
import dev.sluice.core.port.TemplateVectorStore.TemplateSample;
import dev.sluice.core.search.EmbeddingBackfill;
import dev.sluice.core.search.EmbeddingBackfill.Throttle;
import dev.sluice.testkit.InMemoryTemplateVectors.StoredSample;
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
class TemplateEmbeddingsTest {
  private static final String TENANT = "default";
  private static final String RECIPE = "concepts/4/1";
  private static final Throttle ON = _ -> true;

  private final HandClock clock = new HandClock("2026-01-15T08:00:00Z");
  private final InMemoryDictionary dictionary = new InMemoryDictionary();
  private final InMemoryTemplates templates = new InMemoryTemplates(dictionary);
  private final InMemoryTemplateVectors vectors = new InMemoryTemplateVectors(dictionary, 4);
  private final ConceptEmbedder embedder = embedder("concepts");
  private final Meter meter = new Meter();

  private static final class Meter implements EmbeddingMetrics {
    private int embedded;
    private int failed;
    private long backlog = -1;

    @Override
    public void recordEmbedded(Duration took) {
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

  private static ConceptEmbedder embedder(String name) {
    return new ConceptEmbedder(name, 4, Map.of("disk", 1, "memory", 2));
  }

  private EmbeddingBackfill embeddings(Embedder by) {
    return new EmbeddingBackfill(templates, vectors, by, meter, clock, TENANT);
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

  private void stored(String template, String service, String body) {
    templates.count(TENANT, service, ContentId.of(template), 9, now());
    vectors.store(
        new StoredSample(
            TENANT, ContentId.of(template), now(), 9, new TemplateSample(service, "", body)));
  }

  private boolean has(String template) {
    return !vectors.find(RECIPE, TENANT, List.of(ContentId.of(template))).isEmpty();
  }

  @Test
  void next_nothingMoreForAWhile_settlesOnce() throws Exception {
    template("disk <*> full", null);
    stored("disk <*> full", "web", "disk 7 full");
    var embeddings = embeddings(embedder);
    embeddings.embedNextPage(ON);
    clock.advance(Duration.ofSeconds(9));
    embeddings.embedNextPage(ON);
    assertThat(vectors.settled()).isZero();

    clock.advance(Duration.ofSeconds(1));
    embeddings.embedNextPage(ON);
    embeddings.embedNextPage(ON);
    assertThat(vectors.settled()).isEqualTo(1);
  }

  @Test
  void next_newTemplates_areEmbeddedOnceEach() throws Exception {
    template("disk <*> full", null);
    stored("disk <*> full", "web", "disk 7 full");
    template("out of memory", "out of <*>");
    stored("out of memory", "web", "out of memory");
    var embeddings = embeddings(embedder);

    assertThat(embeddings.embedNextPage(ON)).isTrue();

    assertThat(has("disk <*> full")).isTrue();
    assertThat(has("out of memory")).isTrue(); // logs have it, whatever became of it
    assertThat(meter.embedded).isEqualTo(2);
    assertThat(meter.backlog).isZero();
    int before = embedder.embedded();
    assertThat(embeddings.embedNextPage(ON)).isTrue();
    assertThat(embeddings(embedder).embedNextPage(ON)).isTrue(); // as after a restart
    assertThat(embedder.embedded()).isEqualTo(before);
  }

  @Test
  void next_moreThanAtOnce_isNotDoneUntilItIs() throws Exception {
    for (int i = 0; i < 2_500; i++) {
      template("disk " + i, null);
      stored("disk " + i, "web", "disk");
    }
    var embeddings = embeddings(embedder);

    int rounds = 1;
    while (!embeddings.embedNextPage(ON)) {
      rounds++;
    }

    assertThat(rounds).isEqualTo(3);
    assertThat(meter.backlog).isZero();
  }

  /**
   * A page of them takes a minute by a small share of a core, and nobody is to see nothing of it.
   */
  @Test
  void next_manyTemplates_tellsWhileItEmbedsHowManyWait() throws Exception {
    for (int i = 0; i < 100; i++) {
      template("disk " + i, null);
      stored("disk " + i, "web", "disk");
    }
    var told = new TreeSet<Long>();

    embeddings(embedder)
        .embedNextPage(
            _ -> {
              told.add(meter.backlog);
              return true;
            });

    assertThat(told.last()).isEqualTo(100);
    assertThat(told.first()).isBetween(1L, 99L);
    assertThat(meter.backlog).isZero();
  }

  @Test
  void next_noLogYet_waitsForOneAMinute() throws Exception {
    template("disk <*> full", null);
    var embeddings = embeddings(embedder);

    assertThat(embeddings.embedNextPage(ON)).isTrue();
    assertThat(has("disk <*> full")).isFalse();
    assertThat(meter.backlog).isEqualTo(1);

    clock.advance(Duration.ofSeconds(61));
    embeddings.embedNextPage(ON);
    assertThat(has("disk <*> full")).isTrue();
  }

  @Test
  void next_theLogComes_isEmbeddedWithIt() throws Exception {
    template("disk <*> full", null);
    var embeddings = embeddings(embedder);
    embeddings.embedNextPage(ON);
    stored("disk <*> full", "web", "disk 7 full");

    embeddings.embedNextPage(ON);

    assertThat(has("disk <*> full")).isTrue();
  }

  @Test
  void next_modelIsAway_storesNothingAndCatchesUp() throws Exception {
    template("disk <*> full", null);
    stored("disk <*> full", "web", "disk 7 full");
    var embeddings = embeddings(embedder);
    embedder.trouble("away");

    assertThatThrownBy(() -> embeddings.embedNextPage(ON))
        .isInstanceOf(Embedder.EmbedderUnavailableException.class);
    assertThat(has("disk <*> full")).isFalse();
    assertThat(meter.failed).isEqualTo(1);
    assertThat(meter.backlog).isEqualTo(1);

    embedder.trouble(null);
    embeddings.embedNextPage(ON);
    assertThat(has("disk <*> full")).isTrue();
    assertThat(meter.backlog).isZero();
  }

  @Test
  void next_modelGoesAwayInBetween_keepsWhatWasEmbedded() throws Exception {
    for (var text : List.of("disk a", "disk b", "disk c")) {
      template(text, null);
      stored(text, "web", text);
    }
    var embeddings = embeddings(embedder);
    var asked = new AtomicInteger();

    assertThatThrownBy(
            () ->
                embeddings.embedNextPage(
                    _ -> {
                      if (asked.incrementAndGet() == 3) {
                        embedder.trouble("away");
                      }
                      return true;
                    }))
        .isInstanceOf(Embedder.EmbedderUnavailableException.class);

    assertThat(vectors.backlog(RECIPE, TENANT)).isEqualTo(1);
  }

  @Test
  void next_aTextTheModelNeverTakes_keepsNoOtherWaiting() throws Exception {
    for (var text : List.of("disk a", "poison", "disk b")) {
      template(text, null);
      stored(text, "web", text);
    }
    embedder.refuse("poison");
    var embeddings = embeddings(embedder);

    assertThat(embeddings.embedNextPage(ON)).isTrue();
    embeddings.embedNextPage(ON);

    assertThat(has("disk a")).isTrue();
    assertThat(has("disk b")).isTrue();
    assertThat(has("poison")).isFalse();
    assertThat(meter.failed).isEqualTo(1);
    assertThat(meter.backlog).isEqualTo(1);
  }

  @Test
  void next_modelThatComputesElsewhere_isAskedForManyTogether() throws Exception {
    for (int i = 0; i < 128; i++) {
      template("disk " + i, null);
      stored("disk " + i, "web", "disk");
    }
    embedder.goElsewhere();
    var took = new ArrayList<Duration>();

    embeddings(embedder).embedNextPage(took::add);

    assertThat(vectors.backlog(RECIPE, TENANT)).isZero();
    assertThat(embedder.asked()).isEqualTo(2);
    assertThat(meter.embedded).isEqualTo(128);
    assertThat(took).as("samples were looked up before each").hasSize(2);
  }

  @Test
  void next_modelThatComputesHere_isAskedForOneAfterTheOther() throws Exception {
    for (int i = 0; i < 64; i++) {
      template("disk " + i, null);
      stored("disk " + i, "web", "disk");
    }
    var took = new ArrayList<Duration>();

    embeddings(embedder).embedNextPage(took::add);

    assertThat(embedder.asked()).isEqualTo(64);
    assertThat(took).hasSize(64).allSatisfy(each -> assertThat(each).isPositive());
  }

  @Test
  void next_oneOfManyThatTheModelNeverTakes_keepsNoOtherWaiting() throws Exception {
    for (var text : List.of("disk a", "poison", "disk b")) {
      template(text, null);
      stored(text, "web", text);
    }
    embedder.refuse("poison");
    embedder.goElsewhere();
    var embeddings = embeddings(embedder);

    assertThat(embeddings.embedNextPage(ON)).isTrue();

    assertThat(has("disk a")).isTrue();
    assertThat(has("disk b")).isTrue();
    assertThat(meter.failed).isEqualTo(1);
    assertThat(meter.embedded).isEqualTo(2);
    assertThat(embedder.asked()).as("together, and then each").isEqualTo(4);
    embeddings.embedNextPage(ON);
    assertThat(embedder.asked()).isEqualTo(4);
  }

  /** They were paid for, and without them it would come to the refused one never. */
  @Test
  void next_modelGoesAwayWhileOneOfManyIsLookedFor_keepsWhatWasEmbedded() throws Exception {
    for (var text : List.of("disk a", "disk b", "poison")) {
      template(text, null);
      stored(text, "web", text);
    }
    embedder.refuse("poison");
    embedder.goElsewhere();
    embedder.goAwayAfter(2); // of all three, and of one

    assertThatThrownBy(() -> embeddings(embedder).embedNextPage(ON))
        .isInstanceOf(Embedder.EmbedderUnavailableException.class);

    assertThat(vectors.backlog(RECIPE, TENANT)).isEqualTo(2);
  }

  @Test
  void next_isToEnd_keepsWhatWasEmbedded() {
    for (var text : List.of("disk a", "disk b")) {
      template(text, null);
      stored(text, "web", text);
    }
    var embeddings = embeddings(embedder);
    var asked = new AtomicInteger();

    assertThatThrownBy(() -> embeddings.embedNextPage(_ -> asked.incrementAndGet() == 1))
        .isInstanceOf(InterruptedException.class);

    assertThat(vectors.backlog(RECIPE, TENANT)).isEqualTo(1);
  }

  @Test
  void next_anotherModel_embedsAllOfThemAgainAndMixesNothing() throws Exception {
    template("disk <*> full", null);
    stored("disk <*> full", "web", "disk 7 full");
    embeddings(embedder).embedNextPage(ON);

    embeddings(embedder("newer")).embedNextPage(ON);

    assertThat(vectors.find("newer/4/1", TENANT, List.of(ContentId.of("disk <*> full"))))
        .hasSize(1);
    assertThat(has("disk <*> full")).isTrue();
  }
}
