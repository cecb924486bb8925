package dev.sluice.core.search;

import dev.sluice.core.port.Embedder;
import dev.sluice.core.port.LogReader;
import dev.sluice.core.port.LogReader.StoredLog;
import dev.sluice.core.port.TemplateStats.MinuteRange;
import dev.sluice.core.port.TemplateStats.TemplateQuery;
import dev.sluice.core.port.TemplateVectorStore;
import dev.sluice.core.port.TemplateVectorStore.Candidate;
import dev.sluice.core.query.LogFilter;
import dev.sluice.core.read.AsyncTask;
import dev.sluice.core.read.ConcurrencyLimitedReader;
import dev.sluice.core.read.RefreshAheadCache;
import dev.sluice.core.read.TemplateSummaries;
import dev.sluice.core.read.TemplateSummaries.TemplateSummary;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.function.LongSupplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Finds templates by what they mean and by the words they have, and logs by the values in them.
 *
 * <p>Words that all occur in a template are worth more than any meaning, and values found in logs
 * more than words: who knows what a log says is looking for it. Safe for use by many threads; all
 * methods block.
 */
public final class SemanticSearch {
  /** Templates that are held against a question closely; all others lie too far away. */
  private static final int RERANK_LIMIT = 100;

  /** More than any closeness there is. */
  private static final double KEYWORD_BOOST = 20;

  private static final double LITERAL_BOOST = 2 * KEYWORD_BOOST;

  /** Into which the time of an answer is divided. */
  private static final int BUCKETS = 30;

  private static final Duration BACKLOG_MAX_AGE = Duration.ofSeconds(2);

  /** To go through some thousand templates takes 25 ms of the store. */
  private static final Duration VOCABULARY_MAX_AGE = Duration.ofSeconds(10);

  /** Of all templates, some megabytes; a system has some thousand. */
  private static final int MAX_VOCABULARY = 50_000;

  private final TemplateVectorStore vectors;
  private final TemplateSummaries summaries;
  private final ConcurrencyLimitedReader limiter;
  private final SearchResources resources;
  private final EmbeddingStrategy strategy;
  private final TemplateVectorCache vectorCache;
  private final RefreshAheadCache<String, Long> backlogs;
  private final RefreshAheadCache<String, Optional<Set<String>>> vocabularies;

  /**
   * @param limiter whose turn to wait for, and who reads logs
   * @param nanos by which time passes, as {@link System#nanoTime}
   */
  public SemanticSearch(
      TemplateVectorStore vectors,
      TemplateSummaries summaries,
      ConcurrencyLimitedReader limiter,
      Embedder embedder,
      SearchResources resources,
      LongSupplier nanos) {
    this.vectors = vectors;
    this.summaries = summaries;
    this.limiter = limiter;
    this.resources = resources;
    strategy = new EmbeddingStrategy(embedder, Glossary.bundled());
    vectorCache =
        new TemplateVectorCache(
            (tenant, ids) -> vectors.find(strategy.name(), tenant, ids),
            resources.vectorCacheBytes());
    backlogs =
        new RefreshAheadCache<>(
            BACKLOG_MAX_AGE, nanos, tenant -> vectors.backlog(strategy.name(), tenant));
    vocabularies = new RefreshAheadCache<>(VOCABULARY_MAX_AGE, nanos, this::loadVocabulary);
  }

  /**
   * What it may take of the process.
   *
   * @param scoringExecutor where questions are held against templates, for milliseconds each:
   *     threads that others share would be missed by them
   * @param vectorCacheBytes of vectors at most that are kept in memory
   */
  public record SearchResources(ExecutorService scoringExecutor, long vectorCacheBytes) {}

  /** By what to look. */
  public enum Mode {
    /** By all that follows. */
    HYBRID,
    /** By meaning alone. */
    SEMANTIC,
    /** By words, and by values in logs. */
    KEYWORD
  }

  /** By what a template was found. */
  public enum MatchReason {
    WORDS,
    MEANING,
    /** A log that has it holds a value that was asked for. */
    VALUE
  }

  /**
   * @param text what somebody wants to know; at most {@link #MAX_CHARACTERS}
   * @param filter which logs come into question; by tenant, service, levels, time and attributes
   *     alone
   * @param offset how many of the best templates to leave out, from 0
   * @param limit templates and logs at most, from 1
   * @param logsPerTemplate logs of each template at most, from 1
   */
  public record SearchQuery(
      String text, Mode mode, LogFilter filter, int offset, int limit, int logsPerTemplate) {
    /** A question, and not a document. */
    public static final int MAX_CHARACTERS = 1_000;

    /** Templates that can be gone through. */
    public static final int MAX_RESULTS = 100;

    /** Templates, where nobody says how many. */
    public static final int DEFAULT_LIMIT = 10;

    /** Newest logs of a template. */
    public static final int MAX_LOGS_PER_TEMPLATE = 10;

    /** How many were shown, and of which question. */
    private static final Pattern CURSOR = Pattern.compile("([0-9]{1,3})\\.([0-9a-f]{8})");

    /**
     * The same from where an answer ended.
     *
     * @param cursor what {@link #nextCursor} said
     * @throws IllegalArgumentException when it was said of another question, or never
     */
    public SearchQuery after(String cursor) {
      var parts = CURSOR.matcher(cursor);
      if (!parts.matches()
          || Integer.parseInt(parts.group(1)) > MAX_RESULTS
          || !parts.group(2).equals(fingerprint())) {
        throw new IllegalArgumentException("is none that was given out for this question");
      }
      return new SearchQuery(
          text, mode, filter, Integer.parseInt(parts.group(1)), limit, logsPerTemplate);
    }

    /** The cursor of what comes after. */
    public String nextCursor() {
      return "%d.%s".formatted(offset + limit, fingerprint());
    }

    /** The same in every process: of texts alone, since an enum's hash is its own in each. */
    private String fingerprint() {
      return "%08x".formatted((text + mode + filter).hashCode());
    }
  }

  /**
   * @param hits templates, the best first
   * @param startMinute the first minute of the first span of each
   * @param bucketMinutes minutes in a span
   * @param logs in which what was asked for occurs, the newest first: values, or words that no
   *     template has
   * @param hasMore whether there are more templates
   * @param backlog templates that have no vectors yet, and are not found by meaning
   * @param semanticUnavailableReason why meaning had no part in it; null when it had, or was not to
   */
  public record SearchResult(
      List<Hit> hits,
      long startMinute,
      long bucketMinutes,
      List<StoredLog> logs,
      boolean hasMore,
      long backlog,
      @Nullable String semanticUnavailableReason) {
    public SearchResult {
      hits = List.copyOf(hits);
      logs = List.copyOf(logs);
    }
  }

  /**
   * @param score what is more is better; comparable within one answer
   */
  public record Hit(TemplateSummary summary, double score, Set<MatchReason> reasons) {
    public Hit {
      reasons = Set.copyOf(reasons);
    }
  }

  /** What speaks for a template: of several that became it, what speaks most. */
  private static final class Score {
    private final Map<MatchReason, Double> pointsByReason = new EnumMap<>(MatchReason.class);

    void add(MatchReason reason, double value) {
      pointsByReason.merge(reason, value, Math::max);
    }

    boolean hasAllWords() {
      return pointsByReason.getOrDefault(MatchReason.WORDS, 0.0) >= KEYWORD_BOOST;
    }

    double total() {
      return pointsByReason.values().stream().mapToDouble(Double::doubleValue).sum();
    }
  }

  /**
   * @throws ConcurrencyLimitedReader.TooManyQueriesException when too many are asking
   * @throws LogReader.QueryTooExpensiveException when the question needs more than one may
   */
  public SearchResult search(SearchQuery searchQuery) throws InterruptedException {
    var minuteRange = minutes(searchQuery.filter());
    if (minuteRange == null) {
      return emptyResult(0, null);
    }
    var embedding =
        searchQuery.mode() == Mode.KEYWORD
            ? new QueryEmbedding(null, null)
            : embedQuery(searchQuery.text());
    return limiter.withPermit(reader -> runSearch(searchQuery, minuteRange, embedding, reader));
  }

  private static SearchResult emptyResult(long backlog, @Nullable String unavailableReason) {
    return new SearchResult(List.of(), 0, 1, List.of(), false, backlog, unavailableReason);
  }

  /** Which minutes come into question; null when none does. */
  private static @Nullable MinuteRange minutes(LogFilter filter) {
    var from = filter.fromNanos();
    var to = filter.toNanos();
    if (from == null && to == null) {
      return MinuteRange.ALL;
    }
    long first = from == null ? 0 : Math.max(0, from);
    long end = to == null ? Long.MAX_VALUE : to;
    return first < end ? MinuteRange.covering(first, end) : null;
  }

  /**
   * @param query null when it is not known what the question means, or is of no account
   * @param unavailableReason why it is not known; null when it is, or is of no account
   */
  private record QueryEmbedding(
      EmbeddingStrategy.@Nullable EmbeddedQuery query, @Nullable String unavailableReason) {}

  private QueryEmbedding embedQuery(String text) throws InterruptedException {
    try {
      return new QueryEmbedding(strategy.embedQuery(text), null);
    } catch (Embedder.EmbedderUnavailableException | Embedder.InvalidInputException e) {
      return new QueryEmbedding(null, String.valueOf(e.getMessage()));
    }
  }

  private SearchResult runSearch(
      SearchQuery searchQuery, MinuteRange minuteRange, QueryEmbedding embedding, LogReader reader)
      throws InterruptedException {
    var filter = searchQuery.filter();
    long backlog = backlogs.get(filter.tenant());
    var matchingTemplates =
        filter.attributes().isEmpty() ? Set.<UUID>of() : vectors.templatesMatching(filter);
    if (matchingTemplates.isEmpty() && !filter.attributes().isEmpty()) {
      return emptyResult(backlog, embedding.unavailableReason);
    }
    var templateQuery =
        new TemplateQuery(
            filter.tenant(),
            filter.service(),
            Set.copyOf(filter.severities()),
            filter.minSeverity(),
            minuteRange,
            matchingTemplates);
    var scoresByTemplate = new HashMap<UUID, Score>();
    var query = embedding.query;
    var terms = parseTerms(searchQuery, query);
    var literalSearch = new LiteralLogSearch(filter, searchQuery.limit(), reader);
    List<StoredLog> logs;
    // beside each other: neither needs to know of the other
    try (var found = AsyncTask.start(() -> findLiterals(terms, query == null, literalSearch))) {
      if (query == null) {
        scoreByKeywords(templateQuery, terms.words, scoresByTemplate);
      } else {
        scoreByMeaning(templateQuery, query, terms.words, scoresByTemplate);
      }
      if (backlog > 0 && !terms.words.isEmpty()) {
        scoreUnembeddedByKeywords(templateQuery, terms.words, query == null, scoresByTemplate);
      }
      logs = found.get();
    }
    if (terms.isKeywordsOnly()
        && !anyTemplateHasAll(templateQuery.tenant(), terms.words, scoresByTemplate)) {
      logs =
          query == null
              ? literalSearch.findByWords(terms.words)
              : literalSearch.findByFewWords(terms.words);
    }
    scoreByLiterals(templateQuery, logs, terms.values, scoresByTemplate);
    return assemble(
        searchQuery, templateQuery, scoresByTemplate, logs, backlog, embedding.unavailableReason);
  }

  /**
   * What of a question is looked for as text.
   *
   * @param words that tell something; none when nothing is looked for
   * @param values that it names
   * @param names where it names none, words that neither the model nor any template has
   */
  private record QueryTerms(List<String> words, List<String> values, List<String> names) {
    boolean isKeywordsOnly() {
      return !words.isEmpty() && values.isEmpty() && names.isEmpty();
    }
  }

  private QueryTerms parseTerms(
      SearchQuery searchQuery, EmbeddingStrategy.@Nullable EmbeddedQuery query)
      throws InterruptedException {
    if (searchQuery.mode() == Mode.SEMANTIC && query != null) {
      return new QueryTerms(List.of(), List.of(), List.of());
    }
    var values = TextNormalizer.values(searchQuery.text());
    var names =
        query == null || !values.isEmpty()
            ? List.<String>of()
            : absentFromTemplates(searchQuery.filter().tenant(), query.outOfVocabulary());
    return new QueryTerms(TextNormalizer.significantWords(searchQuery.text()), values, names);
  }

  private static List<StoredLog> findLiterals(
      QueryTerms terms, boolean keywords, LiteralLogSearch literalSearch)
      throws InterruptedException {
    if (terms.values.isEmpty()) {
      return literalSearch.findByNames(terms.names);
    }
    return literalSearch.findByValues(terms.values, keywords ? terms.words : List.of());
  }

  private void scoreByMeaning(
      TemplateQuery templateQuery,
      EmbeddingStrategy.EmbeddedQuery query,
      List<String> words,
      Map<UUID, Score> scoresByTemplate)
      throws InterruptedException {
    var mergeGraph = summaries.mergeGraph(templateQuery.tenant());
    // twice as many, since several may have become one, of which the closest stands for them
    var candidates =
        vectors.nearest(
            strategy.name(), templateQuery, query.sentenceVector(), words, 2 * RERANK_LIMIT);
    var reranked = new LinkedHashMap<UUID, UUID>();
    for (var each : candidates) {
      var canonicalId = mergeGraph.canonical(each.id());
      if (reranked.size() < RERANK_LIMIT || reranked.containsKey(canonicalId)) {
        reranked.putIfAbsent(canonicalId, each.id());
        if (each.matchesAllKeywords()) {
          scoresByTemplate
              .computeIfAbsent(canonicalId, _ -> new Score())
              .add(MatchReason.WORDS, KEYWORD_BOOST);
        }
      }
    }
    var found = vectorCache.get(templateQuery.tenant(), reranked.values());
    try (var scoring =
        AsyncTask.of(resources.scoringExecutor.submit(() -> strategy.scores(query, found)))) {
      var scores = scoring.get();
      for (int i = 0; i < scores.length; i++) {
        scoresByTemplate
            .computeIfAbsent(mergeGraph.canonical(found.get(i).id()), _ -> new Score())
            .add(MatchReason.MEANING, scores[i]);
      }
    }
  }

  private void scoreByKeywords(
      TemplateQuery templateQuery, List<String> words, Map<UUID, Score> scoresByTemplate)
      throws InterruptedException {
    if (!words.isEmpty()) {
      scoreByKeywords(
          vectors.matchKeywords(strategy.name(), templateQuery, words, 2 * RERANK_LIMIT),
          templateQuery,
          words,
          scoresByTemplate);
    }
  }

  /**
   * They are not found by meaning yet.
   *
   * @param includePartial whether those that have but some of the words come into question
   */
  private void scoreUnembeddedByKeywords(
      TemplateQuery templateQuery,
      List<String> words,
      boolean includePartial,
      Map<UUID, Score> scoresByTemplate)
      throws InterruptedException {
    var found =
        vectors.matchKeywordsUnembedded(strategy.name(), templateQuery, words, 2 * RERANK_LIMIT);
    scoreByKeywords(
        found.stream().filter(each -> includePartial || each.matchesAllKeywords()).toList(),
        templateQuery,
        words,
        scoresByTemplate);
  }

  private void scoreByKeywords(
      List<Candidate> found,
      TemplateQuery templateQuery,
      List<String> words,
      Map<UUID, Score> scoresByTemplate)
      throws InterruptedException {
    var mergeGraph = summaries.mergeGraph(templateQuery.tenant());
    for (var each : found) {
      scoresByTemplate
          .computeIfAbsent(mergeGraph.canonical(each.id()), _ -> new Score())
          .add(
              MatchReason.WORDS,
              each.matchesAllKeywords() ? KEYWORD_BOOST : each.score() / words.size());
    }
  }

  /** Those of these words that no template has itself; none where that costs too much to know. */
  private List<String> absentFromTemplates(String tenant, List<String> words)
      throws InterruptedException {
    if (words.isEmpty()) {
      return List.of();
    }
    return vocabularies
        .get(tenant)
        .map(vocabulary -> words.stream().filter(word -> !vocabulary.contains(word)).toList())
        .orElse(List.of());
  }

  /** Empty where there are too many or it takes too long: what is not known is no guess. */
  private Optional<Set<String>> loadVocabulary(String tenant) throws InterruptedException {
    try {
      return Optional.of(vectors.vocabulary(tenant, MAX_VOCABULARY));
    } catch (LogReader.QueryTooExpensiveException _) {
      return Optional.empty();
    }
  }

  /**
   * Whether a template has these words itself. If none has, and be it that all are known of one of
   * its logs, some of them are in the places of values.
   */
  private boolean anyTemplateHasAll(
      String tenant, List<String> words, Map<UUID, Score> scoresByTemplate)
      throws InterruptedException {
    var ids =
        scoresByTemplate.entrySet().stream()
            .filter(each -> each.getValue().hasAllWords())
            .map(Map.Entry::getKey)
            .toList();
    return !ids.isEmpty()
        && summaries.texts(tenant, ids).values().stream()
            .anyMatch(text -> TextNormalizer.words(text).containsAll(words));
  }

  private void scoreByLiterals(
      TemplateQuery templateQuery,
      List<StoredLog> logs,
      List<String> values,
      Map<UUID, Score> scoresByTemplate)
      throws InterruptedException {
    for (var id :
        LiteralLogSearch.templatesOf(
            logs, values, ids -> summaries.texts(templateQuery.tenant(), ids))) {
      scoresByTemplate.computeIfAbsent(id, _ -> new Score()).add(MatchReason.VALUE, LITERAL_BOOST);
    }
  }

  private SearchResult assemble(
      SearchQuery searchQuery,
      TemplateQuery templateQuery,
      Map<UUID, Score> scoresByTemplate,
      List<StoredLog> logs,
      long backlog,
      @Nullable String unavailableReason)
      throws InterruptedException {
    var order =
        Comparator.comparingDouble((Map.Entry<UUID, Score> each) -> each.getValue().total())
            .reversed()
            .thenComparing(Map.Entry::getKey);
    var ranked =
        scoresByTemplate.entrySet().stream().sorted(order).limit(SearchQuery.MAX_RESULTS).toList();
    int end = Math.min(ranked.size(), searchQuery.offset() + searchQuery.limit());
    var page = ranked.subList(Math.min(searchQuery.offset(), end), end);
    var summarized =
        summaries.summarize(
            templateQuery,
            searchQuery.filter(),
            page.stream().map(Map.Entry::getKey).toList(),
            BUCKETS,
            searchQuery.logsPerTemplate());
    var hits = new ArrayList<Hit>();
    for (int i = 0; i < page.size(); i++) {
      var score = page.get(i).getValue();
      hits.add(
          new Hit(summarized.summaries().get(i), score.total(), score.pointsByReason.keySet()));
    }
    // those of the first page are not told again
    var shown = searchQuery.offset() > 0 ? List.<StoredLog>of() : logs;
    return new SearchResult(
        hits,
        summarized.startMinute(),
        summarized.bucketMinutes(),
        shown.subList(0, Math.min(shown.size(), searchQuery.limit())),
        end < ranked.size(),
        backlog,
        unavailableReason);
  }
}
