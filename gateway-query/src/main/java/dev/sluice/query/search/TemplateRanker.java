package dev.sluice.query.search;

import dev.sluice.query.port.TemplateStats.TemplateQuery;
import dev.sluice.query.port.TemplateVectorStore;
import dev.sluice.query.port.TemplateVectorStore.Vectors;
import dev.sluice.query.read.AsyncTask;
import dev.sluice.query.read.LruCache;
import dev.sluice.query.search.SemanticSearch.SearchResources;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;

/**
 * Finds the templates of a search by meaning and by words, and scores them. Safe for use by many
 * threads; all methods block.
 */
final class TemplateRanker {
  /**
   * Maximum number of templates that are scored with their token vectors; the sentence vectors of
   * all other templates are less similar to the query.
   */
  private static final int RERANK_LIMIT = 100;

  /**
   * Number of candidates: several may have the same canonical template, which the nearest
   * represents.
   */
  private static final int CANDIDATES = 2 * RERANK_LIMIT;

  private final TemplateVectorStore vectors;
  private final EmbeddingStrategy strategy;
  private final SearchResources resources;
  private final LruCache<Vectors> vectorCache;

  TemplateRanker(
      TemplateVectorStore vectors, EmbeddingStrategy strategy, SearchResources resources) {
    this.vectors = vectors;
    this.strategy = strategy;
    this.resources = resources;
    vectorCache =
        new LruCache<>(
            resources.vectorCacheBytes(),
            each -> 4L * each.sentenceVector().length + each.tokenVectors().length,
            (tenant, ids) ->
                vectors.find(strategy.name(), tenant, ids).stream()
                    .collect(Collectors.toMap(Vectors::id, each -> each)));
  }

  /** Adds the templates nearest in meaning, and those among them that contain all words. */
  void scoreByMeaning(
      TemplateQuery templateQuery,
      EmbeddingStrategy.EmbeddedQuery query,
      List<String> words,
      TemplateScores scores)
      throws InterruptedException {
    var candidates =
        vectors.nearest(strategy.name(), templateQuery, query.sentenceVector(), words, CANDIDATES);
    var reranked = new LinkedHashMap<UUID, UUID>();
    for (var each : candidates) {
      var canonicalId = scores.canonical(each.id());
      if (reranked.size() < RERANK_LIMIT || reranked.containsKey(canonicalId)) {
        reranked.putIfAbsent(canonicalId, each.id());
        if (each.matchesAllKeywords()) {
          scores.addAllWords(canonicalId);
        }
      }
    }
    var found = List.copyOf(vectorCache.get(templateQuery.tenant(), reranked.values()).values());
    try (var scoring =
        AsyncTask.of(resources.scoringExecutor().submit(() -> strategy.scores(query, found)))) {
      var points = scoring.get();
      for (int i = 0; i < points.length; i++) {
        scores.addMeaning(found.get(i).id(), points[i]);
      }
    }
  }

  /** Adds the templates that contain some of the words. */
  void scoreByKeywords(TemplateQuery templateQuery, List<String> words, TemplateScores scores)
      throws InterruptedException {
    vectors
        .matchKeywords(strategy.name(), templateQuery, words, CANDIDATES)
        .forEach(each -> scores.addWords(each, words.size()));
  }

  /**
   * Adds the templates without vectors that contain the words, which the search by meaning cannot
   * find yet.
   *
   * @param includePartial whether templates with only some of the words are added
   */
  void scoreUnembeddedByKeywords(
      TemplateQuery templateQuery,
      List<String> words,
      boolean includePartial,
      TemplateScores scores)
      throws InterruptedException {
    vectors.matchKeywordsUnembedded(strategy.name(), templateQuery, words, CANDIDATES).stream()
        .filter(each -> includePartial || each.matchesAllKeywords())
        .forEach(each -> scores.addWords(each, words.size()));
  }
}
