package dev.sluice.query.search;

import dev.sluice.query.port.TemplateVectorStore.Candidate;
import dev.sluice.query.read.TemplateMergeGraph;
import dev.sluice.query.search.SearchResult.MatchReason;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

/**
 * The scores of the canonical templates of one search: for each reason the best score among the
 * merged templates. Not thread-safe.
 */
final class TemplateScores {
  /** Score of a template that contains all words; greater than every score by meaning. */
  private static final double KEYWORD_BOOST = 20;

  private static final double LITERAL_BOOST = 2 * KEYWORD_BOOST;

  private static final Comparator<Ranked> BEST_FIRST =
      Comparator.comparingDouble(Ranked::score).reversed().thenComparing(Ranked::id);

  private final TemplateMergeGraph mergeGraph;
  private final Map<UUID, Map<MatchReason, Double>> points = new HashMap<>();

  TemplateScores(TemplateMergeGraph mergeGraph) {
    this.mergeGraph = mergeGraph;
  }

  /** A canonical template with its score; the greater the better. */
  record Ranked(UUID id, double score, Set<MatchReason> reasons) {}

  UUID canonical(UUID template) {
    return mergeGraph.canonical(template);
  }

  void addMeaning(UUID template, double score) {
    add(template, MatchReason.MEANING, score);
  }

  void addAllWords(UUID template) {
    add(template, MatchReason.WORDS, KEYWORD_BOOST);
  }

  /**
   * @param words the number of words in the query
   */
  void addWords(Candidate found, int words) {
    add(
        found.id(),
        MatchReason.WORDS,
        found.matchesAllKeywords() ? KEYWORD_BOOST : found.score() / words);
  }

  void addLiteral(UUID template) {
    add(template, MatchReason.VALUE, LITERAL_BOOST);
  }

  private void add(UUID template, MatchReason reason, double score) {
    points
        .computeIfAbsent(canonical(template), _ -> new EnumMap<>(MatchReason.class))
        .merge(reason, score, Math::max);
  }

  /** Returns the templates that contain all words. */
  List<UUID> withAllWords() {
    return points.entrySet().stream()
        .filter(each -> each.getValue().getOrDefault(MatchReason.WORDS, 0.0) >= KEYWORD_BOOST)
        .map(Map.Entry::getKey)
        .toList();
  }

  /** Returns the best templates, the best first. */
  List<Ranked> best(int limit) {
    return points.entrySet().stream()
        .map(each -> ranked(each.getKey(), each.getValue()))
        .sorted(BEST_FIRST)
        .limit(limit)
        .toList();
  }

  private static Ranked ranked(UUID id, Map<MatchReason, Double> points) {
    double score = points.values().stream().mapToDouble(Double::doubleValue).sum();
    return new Ranked(id, score, points.keySet());
  }
}
