package dev.sluice.query.search;

import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.Embedder;
import dev.sluice.query.port.LogReader;
import dev.sluice.query.port.LogReader.StoredLog;
import dev.sluice.query.port.TemplateStats.MinuteRange;
import dev.sluice.query.port.TemplateStats.TemplateQuery;
import dev.sluice.query.port.TemplateVectorStore;
import dev.sluice.query.read.AsyncTask;
import dev.sluice.query.read.ConcurrencyLimitedReader;
import dev.sluice.query.read.RefreshAheadCache;
import dev.sluice.query.read.TemplateSummaries;
import dev.sluice.query.search.SearchQuery.Mode;
import dev.sluice.query.search.SearchResult.Hit;
import dev.sluice.query.search.TemplateScores.Ranked;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Searches templates by meaning and by words, and log records by the values in them.
 *
 * <p>A template that contains all words of the query ranks above every match by meaning, and a
 * template whose records contain a value of the query ranks above both: a query with exact text of
 * a record is meant to find that record. Safe for use by many threads; all methods block.
 */
public final class SemanticSearch {
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
  private final EmbeddingStrategy strategy;
  private final TemplateRanker ranker;
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
    strategy = new EmbeddingStrategy(embedder, Glossary.bundled());
    ranker = new TemplateRanker(vectors, strategy, resources);
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
    var scores = new TemplateScores(summaries.mergeGraph(filter.tenant()));
    var query = embedding.query;
    var terms = parseTerms(searchQuery, query);
    var literalSearch = new LiteralLogSearch(filter, searchQuery.limit(), reader);
    List<StoredLog> logs;
    // Both searches run concurrently, since neither needs the result of the other.
    try (var found = AsyncTask.start(() -> findLiterals(terms, query == null, literalSearch))) {
      if (query != null) {
        ranker.scoreByMeaning(templateQuery, query, terms.words, scores);
      } else if (!terms.words.isEmpty()) {
        ranker.scoreByKeywords(templateQuery, terms.words, scores);
      }
      if (backlog > 0 && !terms.words.isEmpty()) {
        ranker.scoreUnembeddedByKeywords(templateQuery, terms.words, query == null, scores);
      }
      logs = found.get();
    }
    if (terms.isKeywordsOnly()
        && !anyTextHasAll(filter.tenant(), terms.words, scores.withAllWords())) {
      logs =
          query == null
              ? literalSearch.findByWords(terms.words)
              : literalSearch.findByFewWords(terms.words);
    }
    LiteralLogSearch.templatesOf(logs, terms.values, ids -> summaries.texts(filter.tenant(), ids))
        .forEach(scores::addLiteral);
    return assemble(
        searchQuery,
        templateQuery,
        scores.best(SearchQuery.MAX_RESULTS),
        logs,
        backlog,
        embedding.unavailableReason);
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
   * Whether the text of one of the templates contains all of the words. A template can match all
   * words by its sample record while its text lacks some of them; these words then are values in
   * records.
   */
  private boolean anyTextHasAll(String tenant, List<String> words, List<UUID> ids)
      throws InterruptedException {
    return !ids.isEmpty()
        && summaries.texts(tenant, ids).values().stream()
            .anyMatch(text -> TextNormalizer.words(text).containsAll(words));
  }

  private SearchResult assemble(
      SearchQuery searchQuery,
      TemplateQuery templateQuery,
      List<Ranked> ranked,
      List<StoredLog> logs,
      long backlog,
      @Nullable String unavailableReason)
      throws InterruptedException {
    int end = Math.min(ranked.size(), searchQuery.offset() + searchQuery.limit());
    var page = ranked.subList(Math.min(searchQuery.offset(), end), end);
    var summarized =
        summaries.summarize(
            templateQuery,
            searchQuery.filter(),
            page.stream().map(Ranked::id).toList(),
            BUCKETS,
            searchQuery.logsPerTemplate());
    var hits = new ArrayList<Hit>();
    for (int i = 0; i < page.size(); i++) {
      var each = page.get(i);
      hits.add(new Hit(summarized.summaries().get(i), each.score(), each.reasons()));
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
