package dev.sluice.query.search;

import dev.sluice.query.port.Embedder;
import dev.sluice.query.port.Embedder.Embedding;
import dev.sluice.query.port.Embedder.Token;
import dev.sluice.query.port.TemplateVectorStore.Vectors;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Defines the texts of a template that are embedded, and scores templates against a query. The
 * choices are measured; see docs/search.md. Each change here needs a new {@link #VERSION}.
 *
 * <p>A template is embedded as it is written, in plain words, and with the glossary meanings of its
 * terms. The sentence vector selects candidates; the token vectors rank them, since a short query
 * often means only a part of a template.
 *
 * <p>Safe for use by many threads.
 */
final class EmbeddingStrategy {
  private static final String VERSION = "1";

  /**
   * Weight of the token score relative to the sentence score: the ratio of the standard deviations
   * of both scores over pairs of queries and templates, so that both have the same influence; see
   * {@code docs/search.md}.
   */
  private static final double TOKENS_WEIGHT = 1.22;

  /**
   * Maximum number of query tokens that are scored; the cost of a score grows with each query
   * token.
   */
  private static final int MAX_QUERY_TOKENS = 64;

  /** Prefix of a token that continues the word of the previous token. */
  private static final String SUBWORD_PREFIX = "##";

  private final Embedder embedder;
  private final Glossary glossary;
  private final int dimension;

  /**
   * Packed token vectors by glossary meaning, since many templates share a meaning; at most one
   * entry for each entry of the glossary.
   */
  private final Map<String, byte[]> meaningVectors = new ConcurrentHashMap<>();

  EmbeddingStrategy(Embedder embedder, Glossary glossary) {
    this.embedder = embedder;
    this.glossary = glossary;
    dimension = embedder.model().dimension();
  }

  /** Returns the embedding version under which vectors are stored; it includes the model. */
  String name() {
    return "%s/%d/%s".formatted(embedder.model().name(), dimension, VERSION);
  }

  /**
   * A query with its vectors.
   *
   * @param tokens the packed token vectors, at most {@link #MAX_QUERY_TOKENS}
   * @param outOfVocabulary words of the query that the model only knows by their subwords, such as
   *     {@code deadbeef} or a user name, in lower case: they may be values in logs; empty for a
   *     model without tokens
   */
  record EmbeddedQuery(float[] sentenceVector, byte[] tokens, List<String> outOfVocabulary) {}

  EmbeddedQuery embedQuery(String query) throws InterruptedException {
    var embedding = embedder.embed(List.of(query)).getFirst();
    var tokens = packTokens(embedding);
    return new EmbeddedQuery(
        embedding.sentenceVector(),
        Arrays.copyOf(tokens, Math.min(tokens.length, MAX_QUERY_TOKENS * dimension)),
        outOfVocabulary(query, embedding.tokens()));
  }

  private static List<String> outOfVocabulary(String query, List<Token> tokens) {
    // The model may have truncated a long text, so that its last words have no tokens.
    if (tokens.isEmpty() || tokens.size() > MAX_QUERY_TOKENS) {
      return List.of();
    }
    var vocabulary = new HashSet<String>();
    for (int i = 0; i < tokens.size(); i++) {
      if (i + 1 == tokens.size() || !tokens.get(i + 1).text().startsWith(SUBWORD_PREFIX)) {
        vocabulary.add(tokens.get(i).text());
      }
    }
    return TextNormalizer.words(query).stream()
        .filter(word -> word.chars().allMatch(Character::isLetter))
        .filter(word -> !vocabulary.contains(word))
        .toList();
  }

  /** Whether the model runs elsewhere and uses no CPU of this machine. */
  boolean isRemote() {
    return embedder.isRemote();
  }

  /**
   * Computes the vectors of templates in one call of the model, in the order of the documents.
   *
   * @throws Embedder.EmbedderUnavailableException when the model is unavailable
   * @throws Embedder.InvalidInputException when the model rejects one of the texts
   */
  List<Vectors> embeddingsOf(Map<UUID, TemplateDocument> documents) throws InterruptedException {
    var all = new LinkedHashMap<UUID, ExpandedDocument>();
    documents.forEach(
        (id, document) ->
            all.put(id, new ExpandedDocument(document, glossary.meanings(document.glossaryKey()))));
    var texts = new LinkedHashSet<String>();
    for (var each : all.values()) {
      texts.add(each.document.originalText());
      texts.add(each.document.plainText());
      texts.add(each.text());
      each.meanings.stream()
          .filter(meaning -> !meaningVectors.containsKey(meaning))
          .forEach(texts::add);
    }
    var results = embedder.embed(List.copyOf(texts)).iterator();
    var embeddings = new HashMap<String, Embedding>();
    texts.forEach(text -> embeddings.put(text, results.next()));
    return all.entrySet().stream()
        .map(each -> vectors(each.getKey(), each.getValue(), embeddings))
        .toList();
  }

  /**
   * A document with its glossary meanings.
   *
   * @param meanings the meanings of terms in the document; may be empty
   */
  private record ExpandedDocument(TemplateDocument document, List<String> meanings) {
    String text() {
      return meanings.isEmpty()
          ? document.originalText()
          : document.originalText() + " " + String.join(", ", meanings);
    }
  }

  private Vectors vectors(UUID id, ExpandedDocument expanded, Map<String, Embedding> embeddings) {
    var original = embeddingsOf(expanded.document.originalText(), embeddings);
    var sentenceVector = original.sentenceVector();
    if (!expanded.meanings.isEmpty()) {
      sentenceVector =
          normalizedMean(
              sentenceVector, embeddingsOf(expanded.text(), embeddings).sentenceVector());
    }
    var tokens = new ArrayList<byte[]>();
    tokens.add(packTokens(original));
    tokens.add(packTokens(embeddingsOf(expanded.document.plainText(), embeddings)));
    for (var meaning : expanded.meanings) {
      tokens.add(
          meaningVectors.computeIfAbsent(
              meaning, text -> packTokens(embeddingsOf(text, embeddings))));
    }
    return new Vectors(id, sentenceVector, concat(tokens));
  }

  private static Embedding embeddingsOf(String text, Map<String, Embedding> embeddings) {
    return Objects.requireNonNull(embeddings.get(text));
  }

  /**
   * Returns the scores of templates for a query, in the order of the templates; a greater score is
   * better.
   */
  double[] scores(EmbeddedQuery query, List<Vectors> templates) {
    var tokens = query.tokens.length == 0 ? null : new MaxSim.QueryScorer(query.tokens, dimension);
    return templates.stream().mapToDouble(each -> score(query, tokens, each)).toArray();
  }

  private double score(EmbeddedQuery query, MaxSim.@Nullable QueryScorer tokens, Vectors template) {
    double score = 0;
    for (int i = 0; i < dimension; i++) {
      score += query.sentenceVector[i] * template.sentenceVector()[i];
    }
    if (tokens != null && template.tokenVectors().length > 0) {
      score += TOKENS_WEIGHT * tokens.score(template.tokenVectors());
    }
    return score;
  }

  /** Packs the token vectors, without tokens that are punctuation only. */
  private static byte[] packTokens(Embedding embedding) {
    return MaxSim.pack(
        embedding.tokens().stream()
            .filter(token -> token.text().codePoints().anyMatch(Character::isLetterOrDigit))
            .map(Token::vector)
            .toList());
  }

  /**
   * Returns the mean of both vectors, normalized to length 1; the first vector if the sum is zero.
   */
  private static float[] normalizedMean(float[] one, float[] other) {
    var mean = new float[one.length];
    double squares = 0;
    for (int i = 0; i < mean.length; i++) {
      mean[i] = one[i] + other[i];
      squares += (double) mean[i] * mean[i];
    }
    if (squares == 0) {
      return one;
    }
    float length = (float) Math.sqrt(squares);
    for (int i = 0; i < mean.length; i++) {
      mean[i] /= length;
    }
    return mean;
  }

  private static byte[] concat(List<byte[]> parts) {
    var all = new byte[parts.stream().mapToInt(part -> part.length).sum()];
    int offset = 0;
    for (var part : parts) {
      System.arraycopy(part, 0, all, offset, part.length);
      offset += part.length;
    }
    return all;
  }
}
