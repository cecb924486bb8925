package dev.sluice.query.search;

import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.Embedder;
import dev.sluice.query.port.LogReader;
import dev.sluice.query.port.LogReader.StoredLog;
import dev.sluice.query.port.TemplateStats.MinuteRange;
import dev.sluice.query.port.TemplateStats.TemplateQuery;
import dev.sluice.query.port.TemplateVectorStore;
import dev.sluice.query.port.TemplateVectorStore.Candidate;
import dev.sluice.query.port.TemplateVectorStore.Vectors;
import dev.sluice.query.read.AsyncTask;
import dev.sluice.query.read.ConcurrencyLimitedReader;
import dev.sluice.query.read.LruCache;
import dev.sluice.query.read.RefreshAheadCache;
import dev.sluice.query.read.TemplateSummaries;
import dev.sluice.query.read.TemplateSummaries.TemplateSummary;
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
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Searches templates by meaning and by words, and log records by the values in them.
 *
 * <p>A template that contains all words of the query ranks above every match by meaning, and a
 * template whose records contain a value of the query ranks above both: a query with exact text of
 * a record is meant to find that record. Safe for use by many threads; all methods block.
 */
public final class SemanticSearch {
  /**
   * Maximum number of templates that are scored with their token vectors; the sentence vectors of
   * all other templates are less similar to the query.
   */
  private static final int RERANK_LIMIT = 100;

  /** Score of a template that contains all words; greater than every score by meaning. */
  private static final double KEYWORD_BOOST = 20;

  private static final double LITERAL_BOOST = 2 * KEYWORD_BOOST;

  /** Number of time buckets in the summary of a hit. */
  private static final int BUCKETS = 30;

  private static final Duration BACKLOG_MAX_AGE = Duration.ofSeconds(2);

  /** Maximum age of the cached vocabulary, whose query reads all templates of the tenant. */
  private static final Duration VOCABULARY_MAX_AGE = Duration.ofSeconds(10);

  /**
   * Maximum number of words of all templates, some megabytes; a system typically has some thousand
   * words.
   */
  private static final int MAX_VOCABULARY = 50_000;

  private final TemplateVectorStore vectors;
  private final TemplateSummaries summaries;
  private final ConcurrencyLimitedReader limiter;
  private final SearchResources resources;
  private final EmbeddingStrategy strategy;
  private final LruCache<Vectors> vectorCache;
  private final RefreshAheadCache<String, Long> backlogs;
  private final RefreshAheadCache<String, Optional<Set<String>>> vocabularies;

  /**
   * @param limiter the reader that limits concurrent queries and reads log records
   * @param nanos the clock in nanoseconds, as {@link System#nanoTime}
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
        new LruCache<>(
            resources.vectorCacheBytes(),
            each -> 4L * each.sentenceVector().length + each.tokenVectors().length,
            (tenant, ids) ->
                vectors.find(strategy.name(), tenant, ids).stream()
                    .collect(Collectors.toMap(Vectors::id, each -> each)));
    backlogs =
        new RefreshAheadCache<>(
            BACKLOG_MAX_AGE, nanos, tenant -> vectors.backlog(strategy.name(), tenant));
    vocabularies = new RefreshAheadCache<>(VOCABULARY_MAX_AGE, nanos, this::loadVocabulary);
  }

  /**
   * The resources of the process that searches may use.
   *
   * @param scoringExecutor the executor that scores templates, some milliseconds for each query;
   *     its threads should not be shared with other work, which would be delayed
   * @param vectorCacheBytes maximum size of the cached vectors in bytes
   */
  public record SearchResources(ExecutorService scoringExecutor, long vectorCacheBytes) {}

  /** The search method. */
  public enum Mode {
    /** The combination of both other modes. */
    HYBRID,
    /** The search by meaning only. */
    SEMANTIC,
    /** The search by words, and by values in log records. */
    KEYWORD
  }

  /** The reason for which a template matches. */
  public enum MatchReason {
    WORDS,
    MEANING,
    /** A log record of the template contains a value of the query. */
    VALUE
  }

  /**
   * A search query.
   *
   * @param text the text of the user; at most {@link #MAX_CHARACTERS}
   * @param filter conditions on log records; only tenant, service, severities, time and attributes
   *     of the record are supported
   * @param offset number of best templates to skip, at least 0
   * @param limit maximum number of templates and of log records, at least 1
   * @param logsPerTemplate maximum number of log records per template, at least 1
   */
  public record SearchQuery(
      String text, Mode mode, LogFilter filter, int offset, int limit, int logsPerTemplate) {
    /** Maximum number of characters of a query. */
    public static final int MAX_CHARACTERS = 1_000;

    /** Maximum number of templates over all pages. */
    public static final int MAX_RESULTS = 100;

    /** Default number of templates of a page. */
    public static final int DEFAULT_LIMIT = 10;

    /** Maximum number of newest log records per template. */
    public static final int MAX_LOGS_PER_TEMPLATE = 10;

    /** The offset of the next page and the fingerprint of the query. */
    private static final Pattern CURSOR = Pattern.compile("([0-9]{1,3})\\.([0-9a-f]{8})");

    /**
     * Returns a copy that continues at a cursor.
     *
     * @param cursor the result of {@link #nextCursor}
     * @throws IllegalArgumentException when the cursor is invalid or belongs to another query
     */
    public SearchQuery after(String cursor) {
      var parts = CURSOR.matcher(cursor);
      if (!parts.matches()
          || Integer.parseInt(parts.group(1)) > MAX_RESULTS
          || !parts.group(2).equals(fingerprint())) {
        throw new IllegalArgumentException("is not a cursor of this query");
      }
      return new SearchQuery(
          text, mode, filter, Integer.parseInt(parts.group(1)), limit, logsPerTemplate);
    }

    /** Returns the cursor of the next page. */
    public String nextCursor() {
      return "%d.%s".formatted(offset + limit, fingerprint());
    }

    /**
     * Returns the same fingerprint in every process: a hash of strings only, since the hash code of
     * an enum constant differs between processes.
     */
    private String fingerprint() {
      return "%08x".formatted((text + mode + filter).hashCode());
    }
  }

  /**
   * A page of results.
   *
   * @param hits templates, the best first
   * @param startMinute the first minute of the first time bucket, the same for all hits
   * @param bucketMinutes minutes in a bucket
   * @param logs newest records that contain values of the query, or words that no template contains
   * @param hasMore whether there are more templates
   * @param backlog number of templates without vectors, which the search by meaning cannot find yet
   * @param semanticUnavailableReason the reason for which the search by meaning failed; null when
   *     it succeeded or was not requested
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
   * A template that matches.
   *
   * @param score the greater the better; comparable within one result only
   */
  public record Hit(TemplateSummary summary, double score, Set<MatchReason> reasons) {
    public Hit {
      reasons = Set.copyOf(reasons);
    }
  }

  /**
   * The score of a canonical template: for each reason the best score among its merged templates.
   */
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
   * Searches templates and log records.
   *
   * @throws ConcurrencyLimitedReader.TooManyQueriesException when too many queries run
   * @throws LogReader.QueryTooExpensiveException when the search exceeds a limit of the store
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

  /** Returns the minutes of the filter's time range; null when the range is empty. */
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
   * The outcome of embedding the query.
   *
   * @param query null when the embedding failed or is not needed
   * @param unavailableReason the reason of the failure; null when there is none
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
    // Both searches run concurrently, since neither needs the result of the other.
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
   * The parts of a query that are searched as text.
   *
   * @param words significant words; empty when words are not searched
   * @param values literal values in the query
   * @param names words that neither the model nor any template knows; only for a query without
   *     values
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
    // Twice the limit, since several candidates may have the same canonical template; the nearest
    // of the candidates represents it.
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
    var found = List.copyOf(vectorCache.get(templateQuery.tenant(), reranked.values()).values());
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
   * Adds keyword matches of templates without vectors, which the search by meaning cannot find yet.
   *
   * @param includePartial whether templates with only some of the words are added
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

  /**
   * Returns the words that occur in no template; empty when the vocabulary is too expensive to
   * load.
   */
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

  /**
   * Loads the words of all templates; empty when there are too many words or the query takes too
   * long, since an incomplete vocabulary does not show which words are absent.
   */
  private Optional<Set<String>> loadVocabulary(String tenant) throws InterruptedException {
    try {
      return Optional.of(vectors.vocabulary(tenant, MAX_VOCABULARY));
    } catch (LogReader.QueryTooExpensiveException _) {
      return Optional.empty();
    }
  }

  /**
   * Whether the text of a template contains all of the words. A template can match all words by its
   * sample record while its text lacks some of them; these words then are values in records.
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
    // The records are part of the first page only.
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
