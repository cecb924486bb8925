package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;
import static org.assertj.core.api.Assertions.within;

import dev.sluice.core.dictionary.ContentId;
import dev.sluice.core.port.Dictionary;
import dev.sluice.core.port.Dictionary.DictionaryEntry;
import dev.sluice.core.port.Dictionary.EntryKind;
import dev.sluice.core.port.Dictionary.WriteResult.Written;
import dev.sluice.core.port.LogReader.QueryTooExpensiveException;
import dev.sluice.core.port.TemplateStats.MinuteRange;
import dev.sluice.core.port.TemplateStats.TemplateQuery;
import dev.sluice.core.port.TemplateVectorStore;
import dev.sluice.core.port.TemplateVectorStore.Candidate;
import dev.sluice.core.port.TemplateVectorStore.TemplateSample;
import dev.sluice.core.port.TemplateVectorStore.UnembeddedTemplate;
import dev.sluice.core.port.TemplateVectorStore.VectorRow;
import dev.sluice.core.port.TemplateVectorStore.Vectors;
import dev.sluice.core.query.LogFilter;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What every {@link TemplateVectorStore} keeps to. Each test begins with nothing stored. */
@Timeout(60)
public abstract class TemplateVectorsContract {
  /** Numbers in all vectors here. */
  protected static final int DIMENSION = 3;

  private static final String RECIPE = "model/3/1";
  private static final UUID A = ContentId.of("a");
  private static final UUID B = ContentId.of("b");
  private static final UUID C = ContentId.of("c");
  private static final long AT = MinuteRange.startNanos(29_474_400); // 2026-01-15T08:00:00Z
  private static final long MINUTE = 60_000_000_000L;

  /**
   * A log that is stored.
   *
   * @param component by the attribute of this name
   */
  protected record Log(
      String tenant,
      UUID template,
      long timeNanos,
      int severity,
      String service,
      String component,
      String body) {}

  /** Always the same within a test, whose vectors are of {@link #DIMENSION}. */
  protected abstract TemplateVectorStore vectors();

  protected abstract Dictionary dictionary();

  /** Stores logs in one go. */
  protected abstract void store(List<Log> logs);

  private static VectorRow row(String tenant, UUID id, String words, float... vector) {
    return new VectorRow(tenant, words, new Vectors(id, vector, new byte[] {1, -2, 3}));
  }

  private static Log log(UUID template, long nanos, int severity, String service) {
    return new Log("acme", template, nanos, severity, service, "", "body");
  }

  private static TemplateQuery all() {
    return new TemplateQuery("acme", null, Set.of(), 0, MinuteRange.ALL, Set.of());
  }

  private static TemplateQuery scope(
      @Nullable String service, Set<Integer> severities, int least, MinuteRange minuteRange) {
    return new TemplateQuery("acme", service, severities, least, minuteRange, Set.of());
  }

  private List<UUID> nearest(TemplateQuery scope) throws InterruptedException {
    return vectors().nearest(RECIPE, scope, new float[] {1, 0, 0}, List.of(), 10).stream()
        .map(Candidate::id)
        .toList();
  }

  @Test
  void find_whatWasWritten_isAsItWasWritten() throws Exception {
    vectors()
        .write(RECIPE, List.of(row("acme", A, "a", 0.6f, 0.8f, 0), row("acme", B, "b", 0, 0, 1)));

    var found = vectors().find(RECIPE, "acme", List.of(A, C));

    assertThat(found).hasSize(1);
    assertThat(found.getFirst().id()).isEqualTo(A);
    assertThat(found.getFirst().sentenceVector()).containsExactly(0.6f, 0.8f, 0);
    assertThat(found.getFirst().tokenVectors()).containsExactly(1, -2, 3);
    assertThat(vectors().find(RECIPE, "other", List.of(A))).isEmpty();
    assertThat(vectors().find("another", "acme", List.of(A))).isEmpty();
    assertThat(vectors().find(RECIPE, "acme", List.of())).isEmpty();
  }

  @Test
  void write_again_replaces() throws Exception {
    vectors().write(RECIPE, List.of(row("acme", A, "a", 1, 0, 0)));
    vectors().write(RECIPE, List.of(row("acme", A, "a", 1, 0, 0)));

    for (int i = 0; i < 2; i++) {
      assertThat(vectors().find(RECIPE, "acme", List.of(A))).hasSize(1);
      assertThat(nearest(all())).containsExactly(A);
      assertThat(vectors().matchKeywords(RECIPE, all(), List.of("a"), 10)).hasSize(1);
      vectors().compact(RECIPE);
    }
  }

  @Test
  void write_aVectorOfAnotherDimension_isRefused() {
    assertThatThrownBy(() -> vectors().write(RECIPE, List.of(row("acme", A, "a", 1, 0))))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void find_moreIdsThanMayBe_isAMistake() {
    var many =
        IntStream.rangeClosed(0, TemplateVectorStore.MAX_IDS)
            .mapToObj(i -> new UUID(1, i))
            .toList();

    assertThatThrownBy(() -> vectors().findUnembedded(RECIPE, "acme", many, 10))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> vectors().find(RECIPE, "acme", many))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void wanting_someTemplates_areThoseWithoutARowOfTheRecipeTheFirstSeenFirst() throws Exception {
    assertThat(vectors().findUnembedded(RECIPE, "acme", List.of(), 10)).isEmpty();
    write("a", AT + 2);
    write("b", AT + 1);
    write("c", AT);
    write("c", AT + 9); // seen again
    var text = new DictionaryEntry("acme", EntryKind.TEXT, ContentId.of("d"), "d", AT, AT, null);
    assertThat(dictionary().write(List.of(text))).isEqualTo(new Written());

    assertThat(vectors().findUnembedded(RECIPE, "acme", List.of(), 10))
        .containsExactly(
            new UnembeddedTemplate(C, "c", AT),
            new UnembeddedTemplate(B, "b", AT + 1),
            new UnembeddedTemplate(A, "a", AT + 2));
    assertThat(vectors().findUnembedded(RECIPE, "acme", List.of(), 1)).hasSize(1);
    assertThat(vectors().findUnembedded(RECIPE, "acme", List.of(C), 1))
        .extracting(UnembeddedTemplate::id)
        .containsExactly(B);

    vectors().write(RECIPE, List.of(row("acme", A, "a", 1, 0, 0)));
    vectors().write("another", List.of(row("acme", B, "b", 1, 0, 0)));
    assertThat(vectors().findUnembedded(RECIPE, "acme", List.of(), 10))
        .extracting(UnembeddedTemplate::id)
        .containsExactly(C, B);
    assertThat(vectors().findUnembedded(RECIPE, "other", List.of(), 10)).isEmpty();
  }

  private void write(String text, long seen) throws InterruptedException {
    var entry =
        new DictionaryEntry("acme", EntryKind.TEMPLATE, ContentId.of(text), text, seen, seen, null);
    assertThat(dictionary().write(List.of(entry))).isEqualTo(new Written());
  }

  @Test
  void backlog_someTemplates_countsThoseWithoutARowOfTheRecipe() throws Exception {
    assertThat(vectors().backlog(RECIPE, "acme")).isZero();
    for (var text : List.of("a", "b", "c")) {
      write(text, AT);
    }
    var text = new DictionaryEntry("acme", EntryKind.TEXT, ContentId.of("d"), "d", AT, AT, null);
    assertThat(dictionary().write(List.of(text))).isEqualTo(new Written());

    vectors().write(RECIPE, List.of(row("acme", A, "a", 1, 0, 0)));
    vectors().write("another", List.of(row("acme", B, "b", 1, 0, 0)));

    assertThat(vectors().backlog(RECIPE, "acme")).isEqualTo(2);
    assertThat(vectors().backlog(RECIPE, "other")).isZero();
  }

  @Test
  void samples_logsOfAMinute_tellWhereATemplateComesFrom() throws Exception {
    store(
        List.of(
            new Log("acme", A, AT + 7, 9, "web", "http.Server", "first, it's \\ ü"),
            new Log("acme", B, AT - 5 * MINUTE, 9, "web", "", "long before"),
            new Log("acme", C, AT + 5 * MINUTE, 9, "web", "", "long after"),
            new Log("other", B, AT, 9, "web", "", "somebody else's")));
    var then = new MinuteRange(MinuteRange.minuteOf(AT), MinuteRange.minuteOf(AT) + 1);

    assertThat(vectors().samples("acme", Map.of(A, then, B, then, C, then)))
        .containsExactly(
            Map.entry(A, new TemplateSample("web", "http.Server", "first, it's \\ ü")));
    assertThat(vectors().samples("acme", Map.of(A, then, C, MinuteRange.ALL))).hasSize(2);
    assertThat(vectors().samples("acme", Map.of())).isEmpty();
  }

  @Test
  void samples_severalLogsOfEach_areOneWholeLogOfEach() throws Exception {
    var logs =
        List.of(
            new Log("acme", A, AT + 7, 9, "web", "http.Server", "first"),
            new Log("acme", A, AT + 8, 9, "db", "sql.Pool", "second"),
            new Log("acme", A, AT + 9, 9, "web", "http.Client", "third"),
            new Log("acme", C, AT + 9, 9, "cart", "", "of another"));
    store(logs);
    var then = new MinuteRange(MinuteRange.minuteOf(AT), MinuteRange.minuteOf(AT) + 1);

    var samples = vectors().samples("acme", Map.of(A, then, C, then));

    assertThat(samples).containsOnlyKeys(A, C);
    assertThat(logs)
        .extracting(log -> new TemplateSample(log.service(), log.component(), log.body()))
        .containsAll(samples.values());
  }

  @Test
  void nearest_someRows_areInTheOrderOfTheirCloseness() throws Exception {
    vectors()
        .write(
            RECIPE,
            List.of(
                row("acme", A, "a", 0, 1, 0),
                row("acme", B, "b", 1, 0, 0),
                row("acme", C, "c", 0.8f, 0.6f, 0)));
    vectors().write("another", List.of(row("acme", A, "a", 1, 0, 0)));
    vectors().write(RECIPE, List.of(row("other", ContentId.of("d"), "d", 1, 0, 0)));

    var nearest = vectors().nearest(RECIPE, all(), new float[] {1, 0, 0}, List.of(), 10);

    assertThat(nearest).extracting(Candidate::id).containsExactly(B, C, A);
    assertThat(nearest.get(0).score()).isCloseTo(1, within(1e-5));
    assertThat(nearest.get(1).score()).isCloseTo(0.8, within(1e-5));
    assertThat(nearest.get(2).score()).isCloseTo(0, within(1e-5));
    assertThat(vectors().nearest(RECIPE, all(), new float[] {1, 0, 0}, List.of(), 2)).hasSize(2);
  }

  @Test
  void nearest_withWords_areThoseWithAllOfThemFirst() throws Exception {
    vectors()
        .write(
            RECIPE,
            List.of(
                row("acme", A, "connection refused by peer", 0, 1, 0),
                row("acme", B, "connection reset by peer", 1, 0, 0),
                row("acme", C, "peer refused größer", 0.8f, 0.6f, 0)));
    var vector = new float[] {1, 0, 0};

    assertThat(vectors().nearest(RECIPE, all(), vector, List.of("refused", "peer"), 10))
        .extracting(Candidate::id, Candidate::matchesAllKeywords)
        .containsExactly(tuple(C, true), tuple(A, true), tuple(B, false));
    assertThat(vectors().nearest(RECIPE, all(), vector, List.of("größer"), 2))
        .extracting(Candidate::id, Candidate::matchesAllKeywords)
        .containsExactly(tuple(C, true), tuple(B, false));
    assertThat(vectors().nearest(RECIPE, all(), vector, List.of("ref"), 1))
        .extracting(Candidate::id, Candidate::matchesAllKeywords)
        .containsExactly(tuple(B, false));
  }

  @Test
  void nearest_withinAScope_areTemplatesOfItsLogsAlone() throws Exception {
    vectors()
        .write(
            RECIPE,
            List.of(
                row("acme", A, "a", 1, 0, 0),
                row("acme", B, "b", 0.8f, 0.6f, 0),
                row("acme", C, "c", 0, 1, 0)));
    store(
        List.of(
            log(A, MinuteRange.startNanos(100), 9, "web"),
            log(B, MinuteRange.startNanos(100), 17, "db"),
            log(B, MinuteRange.startNanos(200), 9, "web"),
            log(C, MinuteRange.startNanos(200), 17, "web' OR 1=1 --"),
            new Log("other", C, MinuteRange.startNanos(100), 9, "web", "", "")));

    assertThat(nearest(scope("web", Set.of(), 0, MinuteRange.ALL))).containsExactly(A, B);
    assertThat(nearest(scope("web' OR 1=1 --", Set.of(), 0, MinuteRange.ALL))).containsExactly(C);
    assertThat(nearest(scope(null, Set.of(17), 0, MinuteRange.ALL))).containsExactly(B, C);
    assertThat(nearest(scope(null, Set.of(), 10, MinuteRange.ALL))).containsExactly(B, C);
    assertThat(nearest(scope(null, Set.of(), 0, new MinuteRange(100, 101)))).containsExactly(A, B);
    assertThat(nearest(scope("web", Set.of(), 0, new MinuteRange(150, 300)))).containsExactly(B);
    assertThat(nearest(scope(null, Set.of(), 0, since(200)))).containsExactly(B, C);
    assertThat(nearest(scope(null, Set.of(), 0, since(201)))).isEmpty();
    assertThat(nearest(scope("db", Set.of(), 0, since(101)))).isEmpty();
    assertThat(nearest(scope(null, Set.of(9), 0, since(101)))).containsExactly(B);
    assertThat(nearest(scope(null, Set.of(), 0, new MinuteRange(0, 101)))).containsExactly(A, B);
    assertThat(nearest(scope(null, Set.of(), 0, new MinuteRange(0, 100)))).isEmpty();
    assertThat(nearest(scope("nowhere", Set.of(), 0, MinuteRange.ALL))).isEmpty();
    assertThat(nearest(all().withIds(Set.of(C)))).containsExactly(C);
  }

  private static MinuteRange since(long minute) {
    return new MinuteRange(minute, MinuteRange.ALL.to());
  }

  @Test
  void saying_someWords_areThoseWithTheMostOfThem() throws Exception {
    vectors()
        .write(
            RECIPE,
            List.of(
                row("acme", A, "connection refused by peer", 1, 0, 0),
                row("acme", B, "connection reset by peer", 1, 0, 0),
                row("acme", C, "verbindung größer über peers", 1, 0, 0)));

    assertThat(vectors().matchKeywords(RECIPE, all(), List.of("connection", "refused"), 10))
        .containsExactly(new Candidate(A, 2, true), new Candidate(B, 1, false));
    assertThat(vectors().matchKeywords(RECIPE, all(), List.of("größer"), 10))
        .containsExactly(new Candidate(C, 1, true));
    assertThat(vectors().matchKeywords(RECIPE, all(), List.of("peer"), 1)).hasSize(1);
    assertThat(vectors().matchKeywords(RECIPE, all(), List.of("ref"), 10)).isEmpty();
    assertThat(vectors().matchKeywords(RECIPE, all().withIds(Set.of(B)), List.of("peer"), 10))
        .hasSize(1);
    assertThat(vectors().matchKeywords("another", all(), List.of("peer"), 10)).isEmpty();
  }

  /**
   * What of another tenant would be found by every question: a template that is only his, though
   * logs of both have its id, and one of both of which he has other words.
   */
  private List<TemplateQuery> besideAnotherTenant() throws InterruptedException {
    vectors()
        .write(
            RECIPE,
            List.of(
                row("acme", A, "connection refused", 1, 0, 0),
                row("other", A, "connection secret", 0, 1, 0),
                row("other", B, "connection secret", 0, 1, 0)));
    store(
        List.of(
            log(A, MinuteRange.startNanos(100), 9, "web"),
            log(B, MinuteRange.startNanos(100), 9, "web"),
            new Log("other", A, MinuteRange.startNanos(100), 9, "web", "", "body"),
            new Log("other", B, MinuteRange.startNanos(100), 9, "web", "", "body")));
    return List.of(
        all(),
        all().withIds(Set.of(A, B)),
        scope("web", Set.of(), 0, MinuteRange.ALL),
        scope(null, Set.of(9), 0, MinuteRange.ALL),
        scope(null, Set.of(), 0, new MinuteRange(100, 101)),
        scope("web", Set.of(), 0, since(100)).withIds(Set.of(A, B)));
  }

  @Test
  void find_idsThatAnotherTenantHasToo_areOfOwnRowsAlone() throws Exception {
    besideAnotherTenant();

    assertThat(vectors().find(RECIPE, "acme", List.of(A, B)))
        .satisfiesExactly(
            each -> {
              assertThat(each.id()).isEqualTo(A);
              assertThat(each.sentenceVector()).containsExactly(1, 0, 0);
            });
  }

  @Test
  void nearest_rowsOfAnotherTenant_areNotAmongThem() throws Exception {
    var vector = new float[] {0, 1, 0};

    for (var scope : besideAnotherTenant()) {
      for (var words : List.of(List.<String>of(), List.of("secret"))) {
        assertThat(vectors().nearest(RECIPE, scope, vector, words, 10))
            .as("%s %s", scope, words)
            .satisfiesExactly(
                each -> {
                  assertThat(each.id()).isEqualTo(A);
                  assertThat(each.score()).isCloseTo(0, within(1e-5));
                  assertThat(each.matchesAllKeywords()).isFalse();
                });
      }
    }
  }

  @Test
  void saying_rowsOfAnotherTenant_areNotAmongThem() throws Exception {
    for (var scope : besideAnotherTenant()) {
      assertThat(vectors().matchKeywords(RECIPE, scope, List.of("connection"), 10))
          .as("%s", scope)
          .containsExactly(new Candidate(A, 1, true));
      assertThat(vectors().matchKeywords(RECIPE, scope, List.of("secret"), 10))
          .as("%s", scope)
          .isEmpty();
    }
  }

  @Test
  void waiting_someWords_areTemplatesWithoutARowThatHaveTheMostOfThem() throws Exception {
    var texts =
        List.of("Connection <*> refused by peer", "connection reset by <*>", "Größer über peers");
    for (var text : texts) {
      write(text, AT);
      write(text, AT + 1); // seen again
    }
    var refused = ContentId.of(texts.get(0));
    var reset = ContentId.of(texts.get(1));
    var other =
        new DictionaryEntry("other", EntryKind.TEMPLATE, refused, "connection", AT, AT, null);
    assertThat(dictionary().write(List.of(other))).isEqualTo(new Written());

    assertThat(
            vectors().matchKeywordsUnembedded(RECIPE, all(), List.of("connection", "refused"), 10))
        .containsExactly(new Candidate(refused, 2, true), new Candidate(reset, 1, false));
    assertThat(vectors().matchKeywordsUnembedded(RECIPE, all(), List.of("größer"), 10))
        .containsExactly(new Candidate(ContentId.of(texts.get(2)), 1, true));
    assertThat(vectors().matchKeywordsUnembedded(RECIPE, all(), List.of("connection"), 1))
        .hasSize(1);
    assertThat(vectors().matchKeywordsUnembedded(RECIPE, all(), List.of("ref"), 10)).isEmpty();

    store(List.of(log(reset, AT, 9, "web"), log(refused, AT, 9, "db")));
    assertThat(
            vectors()
                .matchKeywordsUnembedded(
                    RECIPE, scope("web", Set.of(), 0, MinuteRange.ALL), List.of("connection"), 9))
        .extracting(Candidate::id)
        .containsExactly(reset);

    vectors().write(RECIPE, List.of(row("acme", refused, "a", 1, 0, 0)));
    assertThat(vectors().matchKeywordsUnembedded(RECIPE, all(), List.of("refused"), 10)).isEmpty();
    assertThat(vectors().matchKeywordsUnembedded("another", all(), List.of("refused"), 10))
        .hasSize(1);
  }

  @Test
  void words_someTemplates_areThoseOfTemplatesOfToday() throws Exception {
    assertThat(vectors().vocabulary("acme", 10)).isEmpty();
    write("Connection 7 refused by <*>", AT);
    write("Größer", AT);
    write("user fztu", AT);
    var link =
        new DictionaryEntry(
            "acme",
            EntryKind.TEMPLATE,
            ContentId.of("user fztu"),
            "user fztu",
            AT,
            AT,
            ContentId.of("user"));
    var foreign =
        new DictionaryEntry("other", EntryKind.TEMPLATE, ContentId.of("x"), "peer", AT, AT, null);
    assertThat(dictionary().write(List.of(link, foreign))).isEqualTo(new Written());

    assertThat(vectors().vocabulary("acme", 10))
        .containsExactlyInAnyOrder("connection", "7", "refused", "by", "größer");
    assertThat(vectors().vocabulary("acme", 5)).hasSize(5);
    assertThatThrownBy(() -> vectors().vocabulary("acme", 4))
        .isInstanceOf(QueryTooExpensiveException.class);
  }

  @Test
  void having_aFilter_areTheTemplatesOfItsLogs() throws Exception {
    store(
        List.of(
            log(A, MinuteRange.startNanos(100), 9, "web"),
            log(A, MinuteRange.startNanos(101), 9, "web"),
            log(B, MinuteRange.startNanos(100), 9, "db"),
            new Log("other", C, MinuteRange.startNanos(100), 9, "web", "", "")));

    assertThat(vectors().templatesMatching(LogFilter.of("acme").build()))
        .containsExactlyInAnyOrder(A, B);
    assertThat(vectors().templatesMatching(LogFilter.of("acme").service("web").build()))
        .containsExactly(A);
    assertThat(vectors().templatesMatching(LogFilter.of("acme").from(0L).to(1L).build())).isEmpty();
  }
}
