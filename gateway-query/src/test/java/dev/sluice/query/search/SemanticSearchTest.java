package dev.sluice.query.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import dev.sluice.core.port.LogStore.StoreResult.Stored;
import dev.sluice.query.filter.AttributeCondition;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.EmbeddingMetrics;
import dev.sluice.query.port.LogReader.StoredLog;
import dev.sluice.query.port.TemplateStats.SampleLog;
import dev.sluice.query.port.TemplateVectorStore.TemplateSample;
import dev.sluice.query.read.ConcurrencyLimitedReader;
import dev.sluice.query.read.TemplateLinkCache;
import dev.sluice.query.read.TemplateSummaries;
import dev.sluice.query.search.SearchQuery.Mode;
import dev.sluice.query.search.SearchResult.MatchReason;
import dev.sluice.query.search.SemanticSearch.SearchResources;
import dev.sluice.templates.dictionary.ContentId;
import dev.sluice.templates.dictionary.Dictionary.DictionaryEntry;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import dev.sluice.testkit.FakeEmbedder;
import dev.sluice.testkit.InMemoryDictionary;
import dev.sluice.testkit.InMemoryLogStore;
import dev.sluice.testkit.InMemoryTemplateStats;
import dev.sluice.testkit.InMemoryTemplateVectorStore;
import dev.sluice.testkit.InMemoryTemplateVectorStore.StoredSample;
import dev.sluice.testkit.LogBatches;
import dev.sluice.testkit.ManualClock;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.logs.v1.ResourceLogs;
import io.opentelemetry.proto.logs.v1.ScopeLogs;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class SemanticSearchTest {
  private static final String TENANT = "default";
  private static final long MINUTE = 60_000_000_000L;
  private static final String DISK = "disk <*> full";
  private static final String MEMORY = "out of memory in <*>";
  private static final String LOGIN = "login of <*> refused";

  private final ManualClock clock = new ManualClock("2026-01-15T08:00:00Z");
  private final InMemoryDictionary dictionary = new InMemoryDictionary();
  private final InMemoryTemplateStats templates = new InMemoryTemplateStats(dictionary);
  private final InMemoryTemplateVectorStore vectors =
      new InMemoryTemplateVectorStore(dictionary, 6);
  private final InMemoryLogStore logs = new InMemoryLogStore();
  private final ConcurrencyLimitedReader reader =
      new ConcurrencyLimitedReader(logs, Integer.MAX_VALUE);
  private final FakeEmbedder embedder =
      new FakeEmbedder(
          "concepts",
          6,
          Map.of(
              "disk",
              1,
              "storage",
              1,
              "memory",
              2,
              "ram",
              2,
              "login",
              3,
              "password",
              3,
              "full",
              4,
              "exhausted",
              4));
  private final ExecutorService scoring = Executors.newSingleThreadExecutor();
  private final SemanticSearch search = search(vectors, templates, dictionary);
  private final AtomicLong last = new AtomicLong();

  @BeforeEach
  void store() throws Exception {
    template(DISK, null);
    template(MEMORY, null);
    template(LOGIN, null);
    log(DISK, "db", 17, "disk sda7 full");
    log(MEMORY, "web", 17, "out of memory in worker");
    log(LOGIN, "web", 9, "login of fztu refused");
    embed();
  }

  @AfterEach
  void close() {
    scoring.close();
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

  private void log(String template, String service, int severity, String body) {
    long time = now() + last.incrementAndGet() * MINUTE;
    templates.count(TENANT, service, ContentId.of(template), severity, time);
    vectors.store(
        new StoredSample(
            TENANT, ContentId.of(template), time, severity, new TemplateSample(service, "", body)));
  }

  private void embed() throws InterruptedException {
    new EmbeddingBackfill(templates, vectors, embedder, new NoopEmbeddingMetrics(), clock)
        .embedNextPage(_ -> true);
  }

  private static final class NoopEmbeddingMetrics implements EmbeddingMetrics {
    @Override
    public void recordEmbedded(Duration duration) {}

    @Override
    public void recordFailure() {}

    @Override
    public void recordBacklog(long templates) {}
  }

  private SemanticSearch search(
      InMemoryTemplateVectorStore vectors,
      InMemoryTemplateStats templates,
      InMemoryDictionary dictionary) {
    var links = new TemplateLinkCache(templates, Duration.ZERO, () -> 0);
    return new SemanticSearch(
        vectors,
        new TemplateSummaries(templates, dictionary, links),
        reader,
        embedder,
        new SearchResources(scoring, 1 << 20),
        () -> 0);
  }

  private SearchResult runSearch(String text, Mode mode, LogFilter filter)
      throws InterruptedException {
    return search.search(new SearchQuery(text, mode, filter, 0, 10, 1));
  }

  private SearchResult runSearch(String text, Mode mode) throws InterruptedException {
    return runSearch(text, mode, LogFilter.of(TENANT).build());
  }

  private static List<String> texts(SearchResult searchResult) {
    return searchResult.hits().stream()
        .map(hit -> String.valueOf(hit.summary().template().text()))
        .toList();
  }

  @Test
  void search_synonyms_findTheTemplate() throws Exception {
    var searchResult = runSearch("storage exhausted", Mode.HYBRID);

    assertThat(texts(searchResult)).first().isEqualTo(DISK);
    assertThat(searchResult.hits().getFirst().reasons()).containsExactly(MatchReason.MEANING);
    assertThat(searchResult.semanticUnavailableReason()).isNull();
    assertThat(searchResult.backlog()).isZero();
  }

  @Test
  void search_allWordsOfATemplate_rankAboveSimilarity() throws Exception {
    template("storage check", null);
    log("storage check", "db", 9, "storage check");
    embed();

    var searchResult = runSearch("the login is refused", Mode.HYBRID);

    assertThat(texts(searchResult)).first().isEqualTo(LOGIN);
    assertThat(searchResult.hits().getFirst().reasons())
        .containsExactlyInAnyOrder(MatchReason.WORDS, MatchReason.MEANING);
  }

  @Test
  void search_semantic_ignoresKeywords() throws Exception {
    var searchResult = runSearch("refused", Mode.SEMANTIC);

    assertThat(searchResult.hits())
        .allSatisfy(hit -> assertThat(hit.reasons()).containsExactly(MatchReason.MEANING));
  }

  @Test
  void search_keyword_findsKeywordsOnlyRankedByMatches() throws Exception {
    template("memory check", null);
    log("memory check", "web", 9, "memory check");
    embed();

    var searchResult = runSearch("memory worker", Mode.KEYWORD);

    assertThat(texts(searchResult)).containsExactly(MEMORY, "memory check");
    assertThat(runSearch("ram", Mode.KEYWORD).hits()).isEmpty();
  }

  @Test
  void search_filtered_findsOnlyTemplatesOfMatchingLogs() throws Exception {
    assertThat(
            texts(runSearch("storage", Mode.HYBRID, LogFilter.of(TENANT).service("web").build())))
        .doesNotContain(DISK)
        .hasSize(2);
    assertThat(
            texts(
                runSearch(
                    "storage", Mode.HYBRID, LogFilter.of(TENANT).severities(List.of(9)).build())))
        .containsExactly(LOGIN);
    assertThat(
            texts(
                runSearch(
                    "storage",
                    Mode.HYBRID,
                    LogFilter.of(TENANT).from(now()).to(now() + 2 * MINUTE).build())))
        .containsExactly(DISK);
    assertThat(runSearch("storage", Mode.HYBRID, LogFilter.of(TENANT).service("no").build()).hits())
        .isEmpty();
    assertThat(
            runSearch("storage", Mode.HYBRID, LogFilter.of(TENANT).from(5L).to(5L).build()).hits())
        .isEmpty();
    assertThat(runSearch("storage", Mode.HYBRID, LogFilter.of("other").build()).hits()).isEmpty();
  }

  @Test
  void search_attributes_matchThoseOfLogs() throws Exception {
    var filter =
        LogFilter.of(TENANT).service("db").attribute(AttributeCondition.equal("host", "a")).build();

    assertThat(texts(runSearch("ram", Mode.HYBRID, filter))).containsExactly(DISK);
    assertThat(
            runSearch(
                    "ram",
                    Mode.HYBRID,
                    LogFilter.of("other").attribute(AttributeCondition.equal("a", "b")).build())
                .hits())
        .isEmpty();
  }

  private void storeLog(String template, String body) throws InterruptedException {
    var text = AnyValue.newBuilder().setStringValue(body);
    var scope = ScopeLogs.newBuilder().addLogRecords(LogRecord.newBuilder().setBody(text));
    var batch =
        LogBatches.of(
            ExportLogsServiceRequest.newBuilder()
                .addResourceLogs(ResourceLogs.newBuilder().addScopeLogs(scope))
                .build()
                .toByteArray());
    assertThat(logs.store(body, List.of(batch))).isEqualTo(new Stored());
    logs.assignTemplate(logs.logs().getLast().id(), ContentId.of(template));
  }

  /** The sample logs of the templates have other values. */
  @Test
  void search_literalInNoTemplate_findsItsLogs() throws Exception {
    storeLog(LOGIN, "login of alice refused");
    storeLog(LOGIN, "login of bob refused");
    storeLog(DISK, "disk of alice full");

    for (var mode : List.of(Mode.HYBRID, Mode.KEYWORD)) {
      for (var query : List.of("alice login", "what became of \"alice\", login")) {
        var searchResult = runSearch(query, mode);

        assertThat(searchResult.logs())
            .extracting(StoredLog::body)
            .as(query)
            .contains("login of alice refused")
            .doesNotContain("login of bob refused");
        assertThat(texts(searchResult)).first().isEqualTo(LOGIN);
        assertThat(searchResult.hits().getFirst().reasons()).contains(MatchReason.VALUE);
      }
      assertThat(runSearch("alice", mode).logs()).hasSize(2);
    }
    assertThat(runSearch("alice", Mode.SEMANTIC).logs()).isEmpty();
  }

  /** The sample log makes its words known, but a search for such a value must return the log. */
  @Test
  void search_literalInTheSampleOfATemplate_findsItsLogs() throws Exception {
    storeLog(LOGIN, "login of fztu refused");
    storeLog(LOGIN, "login of bob refused");

    for (var mode : List.of(Mode.HYBRID, Mode.KEYWORD)) {
      var searchResult = runSearch("fztu", mode);

      assertThat(searchResult.logs())
          .extracting(StoredLog::body)
          .containsExactly("login of fztu refused");
      assertThat(texts(searchResult)).first().isEqualTo(LOGIN);
      assertThat(runSearch("login refused", mode).logs()).as("words of the template").isEmpty();
    }
  }

  @Test
  void search_wordUnknownToModelAndTemplates_findsItsLogs() throws Exception {
    storeLog(LOGIN, "login of alice refused");
    storeLog(MEMORY, "out of memory in a long sentence");

    embedder.splitIntoSubwords("alice");
    var searchResult = runSearch("what else do we know about alice", Mode.HYBRID);
    assertThat(searchResult.logs())
        .extracting(StoredLog::body)
        .containsExactly("login of alice refused");
    assertThat(texts(searchResult)).first().isEqualTo(LOGIN);
    assertThat(runSearch("what else do we know about alice", Mode.SEMANTIC).logs()).isEmpty();

    embedder.splitIntoSubwords("memory");
    assertThat(runSearch("what else do we know about memory", Mode.HYBRID).logs())
        .as("word of a template")
        .isEmpty();
  }

  /** The check for unknown words is optional. */
  @Test
  void search_vocabularyTooExpensive_treatsNoWordAsLiteral() throws Exception {
    storeLog(LOGIN, "login of alice refused");
    embedder.splitIntoSubwords("alice");
    vectors.failVocabularyAsTooExpensive();

    var searchResult = runSearch("what else do we know about alice and the memory", Mode.HYBRID);

    assertThat(searchResult.logs()).isEmpty();
    assertThat(texts(searchResult)).contains(MEMORY);
  }

  @Test
  void search_sentenceOfKnownWords_isNotSearchedInLogs() throws Exception {
    storeLog(LOGIN, "login of alice refused today");

    assertThat(runSearch("alice refused today", Mode.HYBRID).logs()).isEmpty();
    assertThat(runSearch("alice refused today", Mode.KEYWORD).logs()).hasSize(1);
    assertThat(runSearch("alice today", Mode.HYBRID).logs()).hasSize(1);
  }

  /**
   * Each part of the value is in all of these logs, and the newest logs do not have the complete
   * value.
   */
  @Test
  void search_valueOfSeveralParts_isNotSplit() throws Exception {
    storeLog(LOGIN, "login of 10.0.0.1 refused");
    for (int i = 0; i < 30; i++) {
      storeLog(DISK, "disk 10 of 1 in 0." + i + " full");
    }

    for (var mode : List.of(Mode.HYBRID, Mode.KEYWORD)) {
      for (var query : List.of("10.0.0.1", "login 10.0.0.1", "\"of 10.0.0.1\"")) {
        assertThat(runSearch(query, mode).logs())
            .extracting(StoredLog::body)
            .containsExactly("login of 10.0.0.1 refused");
      }
      assertThat(runSearch("10.1.0.10", mode).logs()).isEmpty();
      assertThat(runSearch("\"login refused\"", mode).logs()).isEmpty();
    }
  }

  /** Such words are in no index, so a search for each would read all logs. */
  @Test
  void search_nonAsciiWords_areLiteralsOnlyWhenQuoted() throws Exception {
    storeLog(DISK, "disk für größe full");

    assertThat(runSearch("größe", Mode.HYBRID).logs()).isEmpty();
    assertThat(runSearch("was ist mit der größe da", Mode.HYBRID).logs()).isEmpty();
    assertThat(runSearch("\"größe\"", Mode.HYBRID).logs()).hasSize(1);
    assertThat(runSearch("größe", Mode.KEYWORD).logs()).hasSize(1);
  }

  @Test
  void search_valueWithWords_findsLogsWithItAndByKeywordThoseWithBoth() throws Exception {
    storeLog(LOGIN, "login of user7 refused");
    storeLog(DISK, "disk of user7 full");

    assertThat(runSearch("login user7", Mode.HYBRID).logs()).hasSize(2);
    assertThat(runSearch("login user7", Mode.KEYWORD).logs())
        .extracting(StoredLog::body)
        .containsExactly("login of user7 refused");
    assertThat(runSearch("anything about user7", Mode.KEYWORD).logs()).hasSize(2);
  }

  /** The template has no vectors yet. */
  @Test
  void search_wordsOfAnUnembeddedTemplate_findIt() throws Exception {
    template("valve of <*> leaks", null);
    storeLog("valve of <*> leaks", "valve of alice leaks");

    for (var mode : List.of(Mode.HYBRID, Mode.KEYWORD)) {
      var searchResult = runSearch("leaks a valve", mode);

      assertThat(searchResult.backlog()).isEqualTo(1);
      assertThat(texts(searchResult)).first().isEqualTo("valve of <*> leaks");
      assertThat(searchResult.hits().getFirst().reasons()).containsExactly(MatchReason.WORDS);
    }
    assertThat(texts(runSearch("valve closed", Mode.KEYWORD)))
        .containsExactly("valve of <*> leaks");
    assertThat(texts(runSearch("valve closed", Mode.HYBRID))).doesNotContain("valve of <*> leaks");
    assertThat(texts(runSearch("valve", Mode.SEMANTIC))).doesNotContain("valve of <*> leaks");
  }

  /** A template that has all words and vectors does not hide it. */
  @Test
  void search_wordsOfUnembeddedAndEmbeddedTemplates_findBoth() throws Exception {
    template("login of <*> refused twice", null);

    for (var mode : List.of(Mode.HYBRID, Mode.KEYWORD)) {
      assertThat(texts(runSearch("login refused", mode)).subList(0, 2))
          .containsExactlyInAnyOrder(LOGIN, "login of <*> refused twice");
    }
  }

  @Test
  void search_modelUnavailable_fallsBackToKeywordsAndReportsIt() throws Exception {
    embedder.setUnavailable("the model is unavailable");

    var searchResult = runSearch("worker has no memory", Mode.HYBRID);

    assertThat(searchResult.semanticUnavailableReason()).isEqualTo("the model is unavailable");
    assertThat(texts(searchResult)).containsExactly(MEMORY);
    assertThat(texts(runSearch("memory", Mode.SEMANTIC))).containsExactly(MEMORY);
    assertThat(runSearch("memory", Mode.KEYWORD).semanticUnavailableReason()).isNull();
  }

  @Test
  void search_mergedTemplates_areFoundAsOne() throws Exception {
    template("login of root refused", LOGIN);
    log("login of root refused", "web", 9, "login of root refused");
    embed();

    var searchResult = runSearch("login of root refused", Mode.HYBRID);

    assertThat(texts(searchResult)).first().isEqualTo(LOGIN);
    assertThat(texts(searchResult)).doesNotHaveDuplicates();
    assertThat(searchResult.hits().getFirst().summary().template().count()).isEqualTo(2);
    assertThat(searchResult.hits().getFirst().summary().newestLogs())
        .extracting(SampleLog::template)
        .containsExactly(ContentId.of("login of root refused"));
  }

  @Test
  void search_cursor_isBoundToItsQuery() throws Exception {
    var filter = LogFilter.of(TENANT).severities(List.of(9, 17)).build();
    var searchQuery = new SearchQuery("memory", Mode.HYBRID, filter, 0, 2, 1);

    assertThat(searchQuery.after(searchQuery.nextCursor()).offset()).isEqualTo(2);
    assertThat(searchQuery.after(searchQuery.after(searchQuery.nextCursor()).nextCursor()).offset())
        .isEqualTo(4);
    for (var other :
        List.of(
            new SearchQuery("storage", Mode.HYBRID, filter, 0, 2, 1),
            new SearchQuery("memory", Mode.SEMANTIC, filter, 0, 2, 1),
            new SearchQuery("memory", Mode.HYBRID, LogFilter.of(TENANT).build(), 0, 2, 1))) {
      assertThatThrownBy(() -> other.after(searchQuery.nextCursor()))
          .isInstanceOf(IllegalArgumentException.class);
    }
    for (var cursor : List.of("", "2", "x", "101.00000000", "2.00000000")) {
      assertThatThrownBy(() -> searchQuery.after(cursor))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }

  /** Each member is as similar to the query as its canonical template. */
  @Test
  void search_manyMergedTemplates_displaceNoOther() throws Exception {
    template("password <*>", null);
    log("password <*>", "web", 9, "password of root");
    for (int i = 0; i < 150; i++) {
      template("password " + i, "password <*>");
      log("password " + i, "web", 9, "password " + i);
    }
    embed();

    var searchResult = runSearch("password storage", Mode.SEMANTIC);

    assertThat(texts(searchResult)).contains("password <*>", LOGIN, DISK).doesNotHaveDuplicates();
  }

  @Test
  void search_bySeverity_showsOnlyItsLogs() throws Exception {
    log(DISK, "db", 9, "disk sdb1 full");

    var searchResult =
        runSearch(
            "storage exhausted", Mode.HYBRID, LogFilter.of(TENANT).severities(List.of(17)).build());

    var templateSummary = searchResult.hits().getFirst().summary();
    assertThat(templateSummary.template().count()).isEqualTo(1);
    assertThat(templateSummary.newestLogs())
        .extracting(SampleLog::severityNumber)
        .containsExactly(17);
  }

  @Test
  void search_rangeBeforeTheLastLog_showsItsNewest() throws Exception {
    log(DISK, "db", 9, "disk sdb1 full");
    var filter = LogFilter.of(TENANT).from(now()).to(now() + 2 * MINUTE).build();

    var templateSummary =
        runSearch("storage exhausted", Mode.HYBRID, filter).hits().getFirst().summary();

    assertThat(templateSummary.newestLogs())
        .extracting(SampleLog::timeNanos)
        .containsExactly(now() + MINUTE);
    assertThat(templates.maxLatestIds()).as("the tail has a later log, so no query runs").isZero();
  }

  @Test
  void search_lastMinuteInTwoServices_showsTheLaterLog() throws Exception {
    long minute = now() + 10 * MINUTE;
    templates.count(TENANT, "db", ContentId.of(DISK), 17, minute + 7);
    templates.count(TENANT, "web", ContentId.of(DISK), 17, minute + 8);
    templates.count(TENANT, "cart", ContentId.of(DISK), 17, minute - 1);

    var templateSummary = runSearch("storage exhausted", Mode.HYBRID).hits().getFirst().summary();

    assertThat(templateSummary.newestLogs())
        .extracting(SampleLog::timeNanos, SampleLog::service)
        .containsExactly(tuple(minute + 8, "web"));
  }

  @Test
  void search_newestNotInTail_queriesIt() throws Exception {
    long minute = now() + 10 * MINUTE;
    templates.count(TENANT, "db", ContentId.of(DISK), 17, minute + 7, false);

    var hits = runSearch("storage exhausted", Mode.HYBRID).hits();

    assertThat(hits.stream().flatMap(hit -> hit.summary().newestLogs().stream()))
        .extracting(SampleLog::timeNanos)
        .contains(minute + 7, now() + 2 * MINUTE, now() + 3 * MINUTE);
  }

  @Test
  void search_tailTooExpensive_queriesTheNewest() throws Exception {
    var before = runSearch("storage exhausted", Mode.HYBRID);
    templates.failLatestAsTooExpensive();

    assertThat(runSearch("storage exhausted", Mode.HYBRID)).isEqualTo(before);
  }

  @Test
  void search_hundredsMergedIntoOne_queriesOnlyItsNewest() throws Exception {
    for (int i = 0; i < 400; i++) {
      template("disk " + i, DISK);
      log("disk " + i, "db", 17, "disk full");
    }

    var templateSummary = runSearch("storage exhausted", Mode.HYBRID).hits().getFirst().summary();

    assertThat(templateSummary.newestLogs())
        .extracting(SampleLog::template)
        .containsExactly(ContentId.of("disk 399"));
    assertThat(templates.maxLatestIds()).isLessThanOrEqualTo(400);
  }

  @Test
  void search_newestOfAMergedMember_isShown() throws Exception {
    template("disk sdz full", DISK);
    long minute = now() + 10 * MINUTE;
    templates.count(TENANT, "web", ContentId.of("disk sdz full"), 17, minute + 8);
    templates.count(TENANT, "db", ContentId.of(DISK), 17, minute + 7);

    var templateSummary = runSearch("storage exhausted", Mode.HYBRID).hits().getFirst().summary();

    assertThat(templateSummary.newestLogs())
        .extracting(SampleLog::timeNanos, SampleLog::service)
        .containsExactly(tuple(minute + 8, "web"));
  }

  /** The tail has a log of one of the two, but not the newest log of both. */
  @Test
  void search_newestOfAMergedMemberSeenLater_isShown() throws Exception {
    template("disk sdz full", DISK);
    long minute = now() + 10 * MINUTE;
    templates.count(TENANT, "db", ContentId.of(DISK), 17, minute + 1);
    templates.count(TENANT, "db", ContentId.of("disk sdz full"), 17, minute + 7);
    templates.count(TENANT, "db", ContentId.of("disk sdz full"), 17, minute + 20 * MINUTE);
    var filter = LogFilter.of(TENANT).to(minute + MINUTE).build();

    var templateSummary =
        runSearch("storage exhausted", Mode.HYBRID, filter).hits().getFirst().summary();

    assertThat(templateSummary.newestLogs())
        .extracting(SampleLog::timeNanos)
        .containsExactly(minute + 7);
  }

  /** There are more time slices than the search scans for each template. */
  @Test
  void search_manyOfManyServices_showsTheNewestOfEach() throws Exception {
    long minute = now() + 200 * MINUTE;
    for (int i = 0; i < 100; i++) {
      var text = "disk " + i + " full";
      template(text, null);
      for (int service = 0; service < 5; service++) {
        var name = text + " in service " + service; // no other template has this service
        templates.count(TENANT, name, ContentId.of(text), 17, minute - 1, false);
        templates.count(TENANT, name, ContentId.of(text), 17, minute + (service + i) % 5, false);
      }
      vectors.store(
          new StoredSample(
              TENANT, ContentId.of(text), minute, 17, new TemplateSample("web", "", text)));
    }
    for (int i = 0; i < 10; i++) { // one page at a time
      embed();
    }
    var filter = LogFilter.of(TENANT).from(minute - MINUTE).to(minute + MINUTE / 2).build();

    var hits = search.search(new SearchQuery("disk", Mode.SEMANTIC, filter, 0, 100, 1)).hits();

    assertThat(hits).hasSize(100);
    assertThat(hits.stream().flatMap(hit -> hit.summary().newestLogs().stream()))
        .extracting(SampleLog::timeNanos)
        .containsOnly(minute + 4)
        .hasSize(100);
  }

  /** Its minute is counted, but none of its logs is shown. */
  @Test
  void search_fromAnInstantWithinTheLastMinute_showsNoLogBefore() throws Exception {
    long time = now() + MINUTE;

    for (long from : List.of(time, time + 1)) {
      var filter = LogFilter.of(TENANT).service("db").from(from).build();
      var templateSummary =
          runSearch("storage exhausted", Mode.HYBRID, filter).hits().getFirst().summary();

      assertThat(templateSummary.template().count()).isEqualTo(1);
      assertThat(templateSummary.newestLogs()).hasSize(from == time ? 1 : 0);
    }
  }

  /** Counts are per minute, so they do not show that the log is later than the range. */
  @Test
  void search_toAnInstantWithinTheLastMinute_showsTheLogBefore() throws Exception {
    long minute = now() + 10 * MINUTE;
    templates.count(TENANT, "db", ContentId.of(DISK), 17, minute + MINUTE - 1);
    var filter = LogFilter.of(TENANT).to(minute + MINUTE / 2).build();

    var templateSummary =
        runSearch("storage exhausted", Mode.HYBRID, filter).hits().getFirst().summary();

    assertThat(templateSummary.newestLogs())
        .extracting(SampleLog::timeNanos)
        .containsExactly(now() + MINUTE);
    assertThat(templates.newestCalls()).as("queries for newest logs").isOne();
  }

  /** The query also finds a log in a minute of another template, which is not the newest. */
  @Test
  void search_toAnInstantWithinTheLastMinute_showsTheNewestOfItsOwnMinute() throws Exception {
    long minute = now() + 10 * MINUTE;
    templates.count(TENANT, "db", ContentId.of(LOGIN), 17, minute - 4 * MINUTE, false);
    templates.count(TENANT, "db", ContentId.of(DISK), 17, minute - 4 * MINUTE);
    templates.count(TENANT, "db", ContentId.of(DISK), 17, minute - 2 * MINUTE);
    for (int i = 0; i < 20; i++) { // enough logs that two minutes are not scanned together
      templates.count(TENANT, "db", ContentId.of(DISK), 17, minute + MINUTE - 1 - i);
    }
    var filter = LogFilter.of(TENANT).to(minute + MINUTE / 2).build();

    var templateSummary =
        runSearch("storage exhausted", Mode.HYBRID, filter).hits().getFirst().summary();

    assertThat(templateSummary.newestLogs())
        .extracting(SampleLog::timeNanos)
        .containsExactly(minute - 2 * MINUTE);
  }

  /** The result does not depend on the bucket size of the counts; here it is four minutes. */
  @Test
  void search_toAnInstantWithinABusyMinute_showsTheNewestBefore() throws Exception {
    long minute = now() + 103 * MINUTE;
    for (int i = 0; i < 60; i++) {
      templates.count(TENANT, "db", ContentId.of(DISK), 17, minute - (1 + i / 20) * MINUTE + i);
      templates.count(TENANT, "db", ContentId.of(DISK), 17, minute + MINUTE - 1 - i);
    }
    var filter = LogFilter.of(TENANT).from(now()).to(minute + MINUTE / 2).build();

    for (int most : List.of(1, 2)) {
      var searchResult =
          search.search(new SearchQuery("storage", Mode.SEMANTIC, filter, 0, 1, most));

      assertThat(searchResult.hits().getFirst().summary().newestLogs())
          .extracting(SampleLog::timeNanos)
          .containsExactlyElementsOf(
              List.of(minute - MINUTE + 19, minute - MINUTE + 18).subList(0, most));
    }
  }

  /**
   * The template has a hundred logs per minute, so the newest is expected in the last three
   * seconds, in whichever minutes they are. Logs of a second template, which are ten times as
   * frequent, must not extend the scan.
   */
  @ParameterizedTest
  @ValueSource(longs = {MINUTE / 2, MINUTE / 60, 1, 0, MINUTE - 1})
  void search_toAnInstantAmongManyLogs_scansOnlyTheLastSeconds(long after) throws Exception {
    long to = now() + 103 * MINUTE + after;
    for (int i = -2_000; i < 2_000; i++) {
      templates.count(TENANT, "db", ContentId.of(LOGIN), 17, to + i * (MINUTE / 1_000), false);
      if (i % 10 == 0) {
        templates.count(TENANT, "db", ContentId.of(DISK), 17, to - 1 + i * (MINUTE / 1_000), false);
      }
    }
    var filter = LogFilter.of(TENANT).from(now()).to(to).build();

    var searchResult = search.search(new SearchQuery("storage", Mode.SEMANTIC, filter, 0, 1, 1));

    assertThat(searchResult.hits().getFirst().summary().newestLogs())
        .extracting(SampleLog::timeNanos)
        .containsExactly(to - 1);
    assertThat(templates.newestCalls()).isOne();
    assertThat(templates.scannedLogs()).isBetween(5L, 100L);
  }

  /**
   * The template is frequent, but only after the range, with a pause of some seconds before the end
   * of the range. One of its logs is in the time slice of a rare template, and another service has
   * a later one.
   */
  @Test
  void search_toAnInstantAfterAPause_showsTheNewestOfItsOwnTimeSlice() throws Exception {
    long to = now() + 103 * MINUTE + MINUTE / 2;
    for (int i = 1; i < 100; i++) {
      templates.count(TENANT, "db", ContentId.of(DISK), 17, to + i);
      templates.count(TENANT, "web", ContentId.of(DISK), 17, to + i);
    }
    templates.count(TENANT, "db", ContentId.of(DISK), 17, to - MINUTE / 3);
    templates.count(TENANT, "web", ContentId.of(DISK), 17, to - MINUTE / 4);
    templates.count(TENANT, "db", ContentId.of(LOGIN), 17, to - MINUTE / 2, false);
    templates.count(TENANT, "db", ContentId.of(LOGIN), 17, to, false);
    var filter = LogFilter.of(TENANT).from(now()).to(to).build();

    var searchResult = runSearch("storage exhausted", Mode.SEMANTIC, filter);

    assertThat(searchResult.hits().getFirst().summary().newestLogs())
        .extracting(SampleLog::timeNanos)
        .containsExactly(to - MINUTE / 4);
  }

  /** The scan does not exceed the queried range. */
  @Test
  void search_anInstantOfABusyMinute_isScannedOnce() throws Exception {
    long from = now() + 103 * MINUTE + MINUTE / 2;
    for (int i = 1; i < 100; i++) {
      templates.count(TENANT, "db", ContentId.of(DISK), 17, from - i);
      templates.count(TENANT, "db", ContentId.of(DISK), 17, from + MINUTE / 60 + i);
    }
    vectors.store(
        new StoredSample(TENANT, ContentId.of(DISK), from, 17, new TemplateSample("db", "", DISK)));
    var filter = LogFilter.of(TENANT).from(from).to(from + MINUTE / 60).build();

    var searchResult = runSearch("storage exhausted", Mode.SEMANTIC, filter);

    assertThat(searchResult.hits().getFirst().summary().newestLogs()).isEmpty();
    assertThat(templates.newestCalls()).isOne();
  }

  /**
   * The newest log is found in any service and for any member, but only at the queried severity.
   */
  @Test
  void search_toAnInstantAmongManyLogsOfMergedTemplates_showsTheNewest() throws Exception {
    template("disk sdz full", DISK);
    long to = now() + 103 * MINUTE + MINUTE / 2;
    for (int i = 1; i < 100; i++) {
      templates.count(TENANT, "db", ContentId.of(DISK), 17, to - i * (MINUTE / 100));
      templates.count(
          TENANT, "web", ContentId.of("disk sdz full"), 17, to - i * (MINUTE / 100) + 9);
      templates.count(
          TENANT, "web", ContentId.of("disk sdz full"), 9, to - i * (MINUTE / 100) + 99);
    }
    templates.count(TENANT, "web", ContentId.of("disk sdz full"), 17, to + 1);
    var filter = LogFilter.of(TENANT).severities(List.of(17)).to(to).build();

    var templateSummary =
        runSearch("storage exhausted", Mode.SEMANTIC, filter).hits().getFirst().summary();

    assertThat(templateSummary.newestLogs())
        .extracting(SampleLog::timeNanos, SampleLog::service)
        .containsExactly(tuple(to - MINUTE / 100 + 9, "web"));
    assertThat(templates.newestCalls()).isOne();
    assertThat(templates.scannedLogs()).as("scanned logs of two hundred").isLessThan(50);
  }

  /** The service with few logs has the latest logs, but fewer than ten. */
  @Test
  void search_severalNewestOfTwoServices_areTheNewestOfBoth() throws Exception {
    last.set(100);
    for (int i = 0; i < 30; i++) {
      log(DISK, "web", 9, "disk sdb1 full");
    }
    last.set(5);
    log(DISK, "db", 9, "disk sdb1 full");
    last.set(140);
    for (int i = 0; i < 3; i++) {
      log(DISK, "db", 9, "disk sdb1 full");
    }
    var filter = LogFilter.of(TENANT).build();

    var searchResult = search.search(new SearchQuery("storage", Mode.HYBRID, filter, 0, 1, 10));

    assertThat(searchResult.hits().getFirst().summary().newestLogs())
        .extracting(log -> (log.timeNanos() - now()) / MINUTE)
        .containsExactly(143L, 142L, 141L, 130L, 129L, 128L, 127L, 126L, 125L, 124L);
  }

  @Test
  void search_severalNewest_spanAsManyMinutesAsNeeded() throws Exception {
    for (int i = 0; i < 40; i++) {
      log(DISK, "db", 9 + i % 2, "disk sdb1 full");
    }
    var filter = LogFilter.of(TENANT).build();

    var searchResult = search.search(new SearchQuery("storage", Mode.HYBRID, filter, 0, 1, 10));

    assertThat(searchResult.hits().getFirst().summary().newestLogs()).hasSize(10);
  }

  @Test
  void search_hit_hasCountAndTimes() throws Exception {
    log(DISK, "db", 9, "disk sdb1 full");

    var templateSummary = runSearch("storage exhausted", Mode.HYBRID).hits().getFirst().summary();

    assertThat(templateSummary.template().count()).isEqualTo(2);
    assertThat(templateSummary.template().services()).containsExactly(Map.entry("db", 2L));
    assertThat(templateSummary.template().severities()).hasSize(2);
    assertThat(templateSummary.bucketCounts()).hasSize(30);
    assertThat(templateSummary.bucketCounts().stream().mapToLong(Long::longValue).sum())
        .isEqualTo(2);
    assertThat(templateSummary.newestLogs()).hasSize(1);
  }

  @Test
  void search_allPages_showEachTemplateOnce() throws Exception {
    var filter = LogFilter.of(TENANT).build();
    var first = search.search(new SearchQuery("memory", Mode.HYBRID, filter, 0, 2, 1));
    var second = search.search(new SearchQuery("memory", Mode.HYBRID, filter, 2, 2, 1));

    assertThat(first.hasMore()).isTrue();
    assertThat(second.hasMore()).isFalse();
    assertThat(texts(first)).hasSize(2).doesNotContainAnyElementsOf(texts(second));
    assertThat(texts(second)).hasSize(1);
    assertThat(search.search(new SearchQuery("memory", Mode.HYBRID, filter, 9, 2, 1)).hits())
        .isEmpty();
  }

  @Test
  void search_noWords_findsBySimilarityOrNothing() throws Exception {
    for (var text : List.of("?!", "\u0000\uFFFD", "连接被拒绝", "\" OR 1=1 --")) {
      assertThat(runSearch(text, Mode.HYBRID).hits()).hasSizeLessThanOrEqualTo(3);
      assertThat(runSearch(text, Mode.KEYWORD).hits()).isEmpty();
    }
  }

  @Test
  void search_nothingStored_isEmpty() throws Exception {
    var empty = new InMemoryDictionary();
    var nothing =
        search(new InMemoryTemplateVectorStore(empty, 6), new InMemoryTemplateStats(empty), empty);

    var searchResult =
        nothing.search(
            new SearchQuery("memory", Mode.HYBRID, LogFilter.of(TENANT).build(), 0, 10, 1));

    assertThat(searchResult.hits()).isEmpty();
    assertThat(searchResult.hasMore()).isFalse();
  }
}
