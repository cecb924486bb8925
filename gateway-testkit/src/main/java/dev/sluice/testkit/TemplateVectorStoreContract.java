package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;
import static org.assertj.core.api.Assertions.within;

import dev.sluice.core.port.WriteResult.Written;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader.QueryTooExpensiveException;
import dev.sluice.query.port.TemplateStats.MinuteRange;
import dev.sluice.query.port.TemplateStats.TemplateQuery;
import dev.sluice.query.port.TemplateVectorStore;
import dev.sluice.query.port.TemplateVectorStore.Candidate;
import dev.sluice.query.port.TemplateVectorStore.TemplateSample;
import dev.sluice.query.port.TemplateVectorStore.UnembeddedTemplate;
import dev.sluice.query.port.TemplateVectorStore.VectorRow;
import dev.sluice.query.port.TemplateVectorStore.Vectors;
import dev.sluice.templates.dictionary.ContentId;
import dev.sluice.templates.dictionary.Dictionary;
import dev.sluice.templates.dictionary.Dictionary.DictionaryEntry;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The contract of every {@link TemplateVectorStore}. Each test begins without stored rows. */
@Timeout(60)
public abstract class TemplateVectorStoreContract {
  /** The dimension of all vectors here. */
  protected static final int DIMENSION = 3;

  private static final String EMBEDDING_VERSION = "model/3/1";
  private static final UUID A = ContentId.of("a");
  private static final UUID B = ContentId.of("b");
  private static final UUID C = ContentId.of("c");
  private static final long STORED_NANOS =
      MinuteRange.startNanos(29_474_400); // 2026-01-15T08:00:00Z
  private static final long MINUTE = 60_000_000_000L;

  /**
   * A stored log.
   *
   * @param component the value of the attribute {@code component}
   */
  protected record TestLog(
      String tenant,
      UUID template,
      long timeNanos,
      int severity,
      String service,
      String component,
      String body) {}

  /** Returns the vectors, of {@link #DIMENSION}, the same within a test. */
  protected abstract TemplateVectorStore vectors();

  protected abstract Dictionary dictionary();

  /** Stores logs with one insert. */
  protected abstract void store(List<TestLog> logs);

  private static VectorRow row(String tenant, UUID id, String words, float... vector) {
    return new VectorRow(tenant, words, new Vectors(id, vector, new byte[] {1, -2, 3}));
  }

  private static TestLog log(UUID template, long nanos, int severity, String service) {
    return new TestLog("acme", template, nanos, severity, service, "", "body");
  }

  private static TemplateQuery unrestricted() {
    return new TemplateQuery("acme", null, Set.of(), 0, MinuteRange.ALL, Set.of());
  }

  private static TemplateQuery restricted(
      @Nullable String service, Set<Integer> severities, int minSeverity, MinuteRange minuteRange) {
    return new TemplateQuery("acme", service, severities, minSeverity, minuteRange, Set.of());
  }

  private List<UUID> nearest(TemplateQuery query) throws InterruptedException {
    return vectors()
        .nearest(EMBEDDING_VERSION, query, new float[] {1, 0, 0}, List.of(), 10)
        .stream()
        .map(Candidate::id)
        .toList();
  }

  @Test
  void find_writtenRows_areReturnedUnchanged() throws Exception {
    vectors()
        .write(
            EMBEDDING_VERSION,
            List.of(row("acme", A, "a", 0.6f, 0.8f, 0), row("acme", B, "b", 0, 0, 1)));

    var found = vectors().find(EMBEDDING_VERSION, "acme", List.of(A, C));

    assertThat(found).hasSize(1);
    assertThat(found.getFirst().id()).isEqualTo(A);
    assertThat(found.getFirst().sentenceVector()).containsExactly(0.6f, 0.8f, 0);
    assertThat(found.getFirst().tokenVectors()).containsExactly(1, -2, 3);
    assertThat(vectors().find(EMBEDDING_VERSION, "other", List.of(A))).isEmpty();
    assertThat(vectors().find("another", "acme", List.of(A))).isEmpty();
    assertThat(vectors().find(EMBEDDING_VERSION, "acme", List.of())).isEmpty();
  }

  @Test
  void write_sameIdTwice_replaces() throws Exception {
    vectors().write(EMBEDDING_VERSION, List.of(row("acme", A, "a", 1, 0, 0)));
    vectors().write(EMBEDDING_VERSION, List.of(row("acme", A, "a", 1, 0, 0)));

    for (int i = 0; i < 2; i++) {
      assertThat(vectors().find(EMBEDDING_VERSION, "acme", List.of(A))).hasSize(1);
      assertThat(nearest(unrestricted())).containsExactly(A);
      assertThat(vectors().matchKeywords(EMBEDDING_VERSION, unrestricted(), List.of("a"), 10))
          .hasSize(1);
      vectors().compact(EMBEDDING_VERSION);
    }
  }

  @Test
  void write_vectorOfOtherDimension_throws() {
    assertThatThrownBy(() -> vectors().write(EMBEDDING_VERSION, List.of(row("acme", A, "a", 1, 0))))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void find_moreThanMaxIds_throws() {
    var many =
        IntStream.rangeClosed(0, TemplateVectorStore.MAX_IDS)
            .mapToObj(i -> new UUID(1, i))
            .toList();

    assertThatThrownBy(() -> vectors().findUnembedded(EMBEDDING_VERSION, "acme", many, 10))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> vectors().find(EMBEDDING_VERSION, "acme", many))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void findUnembedded_someTemplates_areThoseWithoutARowFirstSeenFirst() throws Exception {
    assertThat(vectors().findUnembedded(EMBEDDING_VERSION, "acme", List.of(), 10)).isEmpty();
    write("a", STORED_NANOS + 2);
    write("b", STORED_NANOS + 1);
    write("c", STORED_NANOS);
    write("c", STORED_NANOS + 9); // seen a second time
    var text =
        new DictionaryEntry(
            "acme", EntryKind.TEXT, ContentId.of("d"), "d", STORED_NANOS, STORED_NANOS, null);
    assertThat(dictionary().write(List.of(text))).isEqualTo(new Written());

    assertThat(vectors().tenants()).containsExactly("acme");
    assertThat(vectors().findUnembedded(EMBEDDING_VERSION, "acme", List.of(), 10))
        .containsExactly(
            new UnembeddedTemplate(C, "c", STORED_NANOS),
            new UnembeddedTemplate(B, "b", STORED_NANOS + 1),
            new UnembeddedTemplate(A, "a", STORED_NANOS + 2));
    assertThat(vectors().findUnembedded(EMBEDDING_VERSION, "acme", List.of(), 1)).hasSize(1);
    assertThat(vectors().findUnembedded(EMBEDDING_VERSION, "acme", List.of(C), 1))
        .extracting(UnembeddedTemplate::id)
        .containsExactly(B);

    vectors().write(EMBEDDING_VERSION, List.of(row("acme", A, "a", 1, 0, 0)));
    vectors().write("another", List.of(row("acme", B, "b", 1, 0, 0)));
    assertThat(vectors().findUnembedded(EMBEDDING_VERSION, "acme", List.of(), 10))
        .extracting(UnembeddedTemplate::id)
        .containsExactly(C, B);
    assertThat(vectors().findUnembedded(EMBEDDING_VERSION, "other", List.of(), 10)).isEmpty();
  }

  private void write(String text, long seen) throws InterruptedException {
    var entry =
        new DictionaryEntry("acme", EntryKind.TEMPLATE, ContentId.of(text), text, seen, seen, null);
    assertThat(dictionary().write(List.of(entry))).isEqualTo(new Written());
  }

  @Test
  void backlog_someTemplates_countsThoseWithoutARow() throws Exception {
    assertThat(vectors().backlog(EMBEDDING_VERSION, "acme")).isZero();
    for (var text : List.of("a", "b", "c")) {
      write(text, STORED_NANOS);
    }
    var text =
        new DictionaryEntry(
            "acme", EntryKind.TEXT, ContentId.of("d"), "d", STORED_NANOS, STORED_NANOS, null);
    assertThat(dictionary().write(List.of(text))).isEqualTo(new Written());

    vectors().write(EMBEDDING_VERSION, List.of(row("acme", A, "a", 1, 0, 0)));
    vectors().write("another", List.of(row("acme", B, "b", 1, 0, 0)));

    assertThat(vectors().backlog(EMBEDDING_VERSION, "acme")).isEqualTo(2);
    assertThat(vectors().backlog(EMBEDDING_VERSION, "other")).isZero();
  }

  @Test
  void samples_logsOfAMinute_haveServiceAndComponent() throws Exception {
    store(
        List.of(
            new TestLog("acme", A, STORED_NANOS + 7, 9, "web", "http.Server", "first, it's \\ ü"),
            new TestLog("acme", B, STORED_NANOS - 5 * MINUTE, 9, "web", "", "long before"),
            new TestLog("acme", C, STORED_NANOS + 5 * MINUTE, 9, "web", "", "long after"),
            new TestLog("other", B, STORED_NANOS, 9, "web", "", "of another tenant")));
    var then =
        new MinuteRange(MinuteRange.minuteOf(STORED_NANOS), MinuteRange.minuteOf(STORED_NANOS) + 1);

    assertThat(vectors().samples("acme", Map.of(A, then, B, then, C, then)))
        .containsExactly(
            Map.entry(A, new TemplateSample("web", "http.Server", "first, it's \\ ü")));
    assertThat(vectors().samples("acme", Map.of(A, then, C, MinuteRange.ALL))).hasSize(2);
    assertThat(vectors().samples("acme", Map.of())).isEmpty();
  }

  @Test
  void samples_severalLogsOfEach_areOneCompleteLogOfEach() throws Exception {
    var logs =
        List.of(
            new TestLog("acme", A, STORED_NANOS + 7, 9, "web", "http.Server", "first"),
            new TestLog("acme", A, STORED_NANOS + 8, 9, "db", "sql.Pool", "second"),
            new TestLog("acme", A, STORED_NANOS + 9, 9, "web", "http.Client", "third"),
            new TestLog("acme", C, STORED_NANOS + 9, 9, "cart", "", "of another"));
    store(logs);
    var then =
        new MinuteRange(MinuteRange.minuteOf(STORED_NANOS), MinuteRange.minuteOf(STORED_NANOS) + 1);

    var samples = vectors().samples("acme", Map.of(A, then, C, then));

    assertThat(samples).containsOnlyKeys(A, C);
    assertThat(logs)
        .extracting(log -> new TemplateSample(log.service(), log.component(), log.body()))
        .containsAll(samples.values());
  }

  @Test
  void nearest_someRows_areOrderedBySimilarity() throws Exception {
    vectors()
        .write(
            EMBEDDING_VERSION,
            List.of(
                row("acme", A, "a", 0, 1, 0),
                row("acme", B, "b", 1, 0, 0),
                row("acme", C, "c", 0.8f, 0.6f, 0)));
    vectors().write("another", List.of(row("acme", A, "a", 1, 0, 0)));
    vectors().write(EMBEDDING_VERSION, List.of(row("other", ContentId.of("d"), "d", 1, 0, 0)));

    var nearest =
        vectors().nearest(EMBEDDING_VERSION, unrestricted(), new float[] {1, 0, 0}, List.of(), 10);

    assertThat(nearest).extracting(Candidate::id).containsExactly(B, C, A);
    assertThat(nearest.get(0).score()).isCloseTo(1, within(1e-5));
    assertThat(nearest.get(1).score()).isCloseTo(0.8, within(1e-5));
    assertThat(nearest.get(2).score()).isCloseTo(0, within(1e-5));
    assertThat(
            vectors()
                .nearest(EMBEDDING_VERSION, unrestricted(), new float[] {1, 0, 0}, List.of(), 2))
        .hasSize(2);
  }

  @Test
  void nearest_withKeywords_ranksFullMatchesFirst() throws Exception {
    vectors()
        .write(
            EMBEDDING_VERSION,
            List.of(
                row("acme", A, "connection refused by peer", 0, 1, 0),
                row("acme", B, "connection reset by peer", 1, 0, 0),
                row("acme", C, "peer refused größer", 0.8f, 0.6f, 0)));
    var vector = new float[] {1, 0, 0};

    assertThat(
            vectors()
                .nearest(EMBEDDING_VERSION, unrestricted(), vector, List.of("refused", "peer"), 10))
        .extracting(Candidate::id, Candidate::matchesAllKeywords)
        .containsExactly(tuple(C, true), tuple(A, true), tuple(B, false));
    assertThat(vectors().nearest(EMBEDDING_VERSION, unrestricted(), vector, List.of("größer"), 2))
        .extracting(Candidate::id, Candidate::matchesAllKeywords)
        .containsExactly(tuple(C, true), tuple(B, false));
    assertThat(vectors().nearest(EMBEDDING_VERSION, unrestricted(), vector, List.of("ref"), 1))
        .extracting(Candidate::id, Candidate::matchesAllKeywords)
        .containsExactly(tuple(B, false));
  }

  @Test
  void nearest_restrictedQuery_areOnlyTemplatesOfMatchingLogs() throws Exception {
    vectors()
        .write(
            EMBEDDING_VERSION,
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
            new TestLog("other", C, MinuteRange.startNanos(100), 9, "web", "", "")));

    assertThat(nearest(restricted("web", Set.of(), 0, MinuteRange.ALL))).containsExactly(A, B);
    assertThat(nearest(restricted("web' OR 1=1 --", Set.of(), 0, MinuteRange.ALL)))
        .containsExactly(C);
    assertThat(nearest(restricted(null, Set.of(17), 0, MinuteRange.ALL))).containsExactly(B, C);
    assertThat(nearest(restricted(null, Set.of(), 10, MinuteRange.ALL))).containsExactly(B, C);
    assertThat(nearest(restricted(null, Set.of(), 0, new MinuteRange(100, 101))))
        .containsExactly(A, B);
    assertThat(nearest(restricted("web", Set.of(), 0, new MinuteRange(150, 300))))
        .containsExactly(B);
    assertThat(nearest(restricted(null, Set.of(), 0, minutesFrom(200)))).containsExactly(B, C);
    assertThat(nearest(restricted(null, Set.of(), 0, minutesFrom(201)))).isEmpty();
    assertThat(nearest(restricted("db", Set.of(), 0, minutesFrom(101)))).isEmpty();
    assertThat(nearest(restricted(null, Set.of(9), 0, minutesFrom(101)))).containsExactly(B);
    assertThat(nearest(restricted(null, Set.of(), 0, new MinuteRange(0, 101))))
        .containsExactly(A, B);
    assertThat(nearest(restricted(null, Set.of(), 0, new MinuteRange(0, 100)))).isEmpty();
    assertThat(nearest(restricted("nowhere", Set.of(), 0, MinuteRange.ALL))).isEmpty();
    assertThat(nearest(unrestricted().withIds(Set.of(C)))).containsExactly(C);
  }

  private static MinuteRange minutesFrom(long minute) {
    return new MinuteRange(minute, MinuteRange.ALL.to());
  }

  @Test
  void matchKeywords_someKeywords_ranksMostMatchesFirst() throws Exception {
    vectors()
        .write(
            EMBEDDING_VERSION,
            List.of(
                row("acme", A, "connection refused by peer", 1, 0, 0),
                row("acme", B, "connection reset by peer", 1, 0, 0),
                row("acme", C, "verbindung größer über peers", 1, 0, 0)));

    assertThat(
            vectors()
                .matchKeywords(
                    EMBEDDING_VERSION, unrestricted(), List.of("connection", "refused"), 10))
        .containsExactly(new Candidate(A, 2, true), new Candidate(B, 1, false));
    assertThat(vectors().matchKeywords(EMBEDDING_VERSION, unrestricted(), List.of("größer"), 10))
        .containsExactly(new Candidate(C, 1, true));
    assertThat(vectors().matchKeywords(EMBEDDING_VERSION, unrestricted(), List.of("peer"), 1))
        .hasSize(1);
    assertThat(vectors().matchKeywords(EMBEDDING_VERSION, unrestricted(), List.of("ref"), 10))
        .isEmpty();
    assertThat(
            vectors()
                .matchKeywords(
                    EMBEDDING_VERSION, unrestricted().withIds(Set.of(B)), List.of("peer"), 10))
        .hasSize(1);
    assertThat(vectors().matchKeywords("another", unrestricted(), List.of("peer"), 10)).isEmpty();
  }

  /**
   * Writes rows of two tenants such that every query would find rows of the other tenant without
   * isolation: a template of the other tenant alone, although logs of both tenants have its id, and
   * a template of both tenants with different words.
   */
  private List<TemplateQuery> writeRowsOfTwoTenants() throws InterruptedException {
    vectors()
        .write(
            EMBEDDING_VERSION,
            List.of(
                row("acme", A, "connection refused", 1, 0, 0),
                row("other", A, "connection secret", 0, 1, 0),
                row("other", B, "connection secret", 0, 1, 0)));
    store(
        List.of(
            log(A, MinuteRange.startNanos(100), 9, "web"),
            log(B, MinuteRange.startNanos(100), 9, "web"),
            new TestLog("other", A, MinuteRange.startNanos(100), 9, "web", "", "body"),
            new TestLog("other", B, MinuteRange.startNanos(100), 9, "web", "", "body")));
    return List.of(
        unrestricted(),
        unrestricted().withIds(Set.of(A, B)),
        restricted("web", Set.of(), 0, MinuteRange.ALL),
        restricted(null, Set.of(9), 0, MinuteRange.ALL),
        restricted(null, Set.of(), 0, new MinuteRange(100, 101)),
        restricted("web", Set.of(), 0, minutesFrom(100)).withIds(Set.of(A, B)));
  }

  @Test
  void find_idsOfAnotherTenantToo_returnsOnlyOwnRows() throws Exception {
    writeRowsOfTwoTenants();

    assertThat(vectors().find(EMBEDDING_VERSION, "acme", List.of(A, B)))
        .satisfiesExactly(
            each -> {
              assertThat(each.id()).isEqualTo(A);
              assertThat(each.sentenceVector()).containsExactly(1, 0, 0);
            });
  }

  @Test
  void nearest_rowsOfAnotherTenant_areExcluded() throws Exception {
    var vector = new float[] {0, 1, 0};

    for (var scope : writeRowsOfTwoTenants()) {
      for (var words : List.of(List.<String>of(), List.of("secret"))) {
        assertThat(vectors().nearest(EMBEDDING_VERSION, scope, vector, words, 10))
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
  void matchKeywords_rowsOfAnotherTenant_areExcluded() throws Exception {
    for (var scope : writeRowsOfTwoTenants()) {
      assertThat(vectors().matchKeywords(EMBEDDING_VERSION, scope, List.of("connection"), 10))
          .as("%s", scope)
          .containsExactly(new Candidate(A, 1, true));
      assertThat(vectors().matchKeywords(EMBEDDING_VERSION, scope, List.of("secret"), 10))
          .as("%s", scope)
          .isEmpty();
    }
  }

  @Test
  void matchKeywordsUnembedded_someKeywords_ranksMostMatchesFirst() throws Exception {
    var texts =
        List.of("Connection <*> refused by peer", "connection reset by <*>", "Größer über peers");
    for (var text : texts) {
      write(text, STORED_NANOS);
      write(text, STORED_NANOS + 1); // seen a second time
    }
    var refused = ContentId.of(texts.get(0));
    var reset = ContentId.of(texts.get(1));
    var other =
        new DictionaryEntry(
            "other", EntryKind.TEMPLATE, refused, "connection", STORED_NANOS, STORED_NANOS, null);
    assertThat(dictionary().write(List.of(other))).isEqualTo(new Written());

    assertThat(
            vectors()
                .matchKeywordsUnembedded(
                    EMBEDDING_VERSION, unrestricted(), List.of("connection", "refused"), 10))
        .containsExactly(new Candidate(refused, 2, true), new Candidate(reset, 1, false));
    assertThat(
            vectors()
                .matchKeywordsUnembedded(EMBEDDING_VERSION, unrestricted(), List.of("größer"), 10))
        .containsExactly(new Candidate(ContentId.of(texts.get(2)), 1, true));
    assertThat(
            vectors()
                .matchKeywordsUnembedded(
                    EMBEDDING_VERSION, unrestricted(), List.of("connection"), 1))
        .hasSize(1);
    assertThat(
            vectors()
                .matchKeywordsUnembedded(EMBEDDING_VERSION, unrestricted(), List.of("ref"), 10))
        .isEmpty();

    store(List.of(log(reset, STORED_NANOS, 9, "web"), log(refused, STORED_NANOS, 9, "db")));
    assertThat(
            vectors()
                .matchKeywordsUnembedded(
                    EMBEDDING_VERSION,
                    restricted("web", Set.of(), 0, MinuteRange.ALL),
                    List.of("connection"),
                    9))
        .extracting(Candidate::id)
        .containsExactly(reset);

    vectors().write(EMBEDDING_VERSION, List.of(row("acme", refused, "a", 1, 0, 0)));
    assertThat(
            vectors()
                .matchKeywordsUnembedded(EMBEDDING_VERSION, unrestricted(), List.of("refused"), 10))
        .isEmpty();
    assertThat(vectors().matchKeywordsUnembedded("another", unrestricted(), List.of("refused"), 10))
        .hasSize(1);
  }

  @Test
  void vocabulary_someTemplates_hasTheWordsOfUnmergedTemplates() throws Exception {
    assertThat(vectors().vocabulary("acme", 10)).isEmpty();
    write("Connection 7 refused by <*>", STORED_NANOS);
    write("Größer", STORED_NANOS);
    write("user fztu", STORED_NANOS);
    var link =
        new DictionaryEntry(
            "acme",
            EntryKind.TEMPLATE,
            ContentId.of("user fztu"),
            "user fztu",
            STORED_NANOS,
            STORED_NANOS,
            ContentId.of("user"));
    var foreign =
        new DictionaryEntry(
            "other",
            EntryKind.TEMPLATE,
            ContentId.of("x"),
            "peer",
            STORED_NANOS,
            STORED_NANOS,
            null);
    assertThat(dictionary().write(List.of(link, foreign))).isEqualTo(new Written());

    assertThat(vectors().vocabulary("acme", 10))
        .containsExactlyInAnyOrder("connection", "7", "refused", "by", "größer");
    assertThat(vectors().vocabulary("acme", 5)).hasSize(5);
    assertThatThrownBy(() -> vectors().vocabulary("acme", 4))
        .isInstanceOf(QueryTooExpensiveException.class);
  }

  @Test
  void templatesMatching_filter_areTheTemplatesOfItsLogs() throws Exception {
    store(
        List.of(
            log(A, MinuteRange.startNanos(100), 9, "web"),
            log(A, MinuteRange.startNanos(101), 9, "web"),
            log(B, MinuteRange.startNanos(100), 9, "db"),
            new TestLog("other", C, MinuteRange.startNanos(100), 9, "web", "", "")));

    assertThat(vectors().templatesMatching(LogFilter.of("acme").build()))
        .containsExactlyInAnyOrder(A, B);
    assertThat(vectors().templatesMatching(LogFilter.of("acme").service("web").build()))
        .containsExactly(A);
    assertThat(vectors().templatesMatching(LogFilter.of("acme").from(0L).to(1L).build())).isEmpty();
  }
}
