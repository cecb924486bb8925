package dev.sluice.core.search;

import dev.sluice.core.port.Embedder;
import dev.sluice.core.port.Embedder.Embedding;
import dev.sluice.core.port.Embedder.Token;
import dev.sluice.core.port.TemplateVectorStore.Vectors;
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
 * What of a template is embedded, and how well it meets a question. Chosen by measurement, which is
 * told in {@code docs/search.md}; whatever changes here needs another {@link #VERSION}.
 *
 * <p>A template is embedded as it is written, in plain words, and with what its jargon means. One
 * vector of the whole finds those that may be meant; the vectors of all tokens tell which of them
 * are, since a short question often means a part of what a template says.
 *
 * <p>Safe for use by many threads.
 */
final class EmbeddingStrategy {
  private static final String VERSION = "1";

  /**
   * How much the tokens count beside the whole: over the pairs of questions and templates the
   * closeness of tokens spreads less, 0.069 against 0.084 (standard deviations), and both are to
   * have the same say.
   */
  private static final double TOKENS_WEIGHT = 1.22;

  /** Tokens of a question that are compared: each costs as much as all of a short template. */
  private static final int MAX_QUERY_TOKENS = 64;

  /** Before a token that goes on with the word before. */
  private static final String SUBWORD_PREFIX = "##";

  private final Embedder embedder;
  private final Glossary glossary;
  private final int dimension;

  /** A meaning is the same wherever it is met; as many as the glossary has at most. */
  private final Map<String, byte[]> meaningVectors = new ConcurrentHashMap<>();

  EmbeddingStrategy(Embedder embedder, Glossary glossary) {
    this.embedder = embedder;
    this.glossary = glossary;
    dimension = embedder.model().dimension();
  }

  /** By which its vectors are told from all others; the model is part of it. */
  String name() {
    return "%s/%d/%s".formatted(embedder.model().name(), dimension, VERSION);
  }

  /**
   * What a question is, as templates are asked.
   *
   * @param outOfVocabulary words of it that the model knows by their parts alone, such as {@code
   *     deadbeef} and whom a log is about: they may be values; in lower case, none for a model
   *     without tokens
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
    // of a long text the model may not have seen the end
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

  /** Whether the model computes elsewhere. */
  boolean isRemote() {
    return embedder.isRemote();
  }

  /**
   * In the order of the passages, asking the model once.
   *
   * @throws Embedder.EmbedderUnavailableException when the model is
   * @throws Embedder.InvalidInputException when it takes one of them for no text
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
   * @param meanings of its jargon; may be empty
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

  /** How well each template meets the question: what is more is better. */
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

  /** Without marks, which say nothing by themselves. */
  private static byte[] packTokens(Embedding embedding) {
    return MaxSim.pack(
        embedding.tokens().stream()
            .filter(token -> token.text().codePoints().anyMatch(Character::isLetterOrDigit))
            .map(Token::vector)
            .toList());
  }

  /** Their mean, of length 1; the first where they cancel each other out. */
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
