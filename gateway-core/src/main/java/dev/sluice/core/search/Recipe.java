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
final class Recipe {
  private static final String VERSION = "1";

  /**
   * How much the tokens count beside the whole: over the pairs of questions and templates the
   * closeness of tokens spreads less, 0.069 against 0.084 (standard deviations), and both are to
   * have the same say.
   */
  private static final double TOKENS_WEIGHT = 1.22;

  /** Tokens of a question that are compared: each costs as much as all of a short template. */
  private static final int MOST_ASKED = 64;

  /** Before a token that goes on with the word before. */
  private static final String PART = "##";

  private final Embedder embedder;
  private final Glossary glossary;
  private final int dimension;

  /** A meaning is the same wherever it is met; as many as the glossary has at most. */
  private final Map<String, byte[]> meanings = new ConcurrentHashMap<>();

  Recipe(Embedder embedder, Glossary glossary) {
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
   * @param names words of it that the model knows by their parts alone, such as {@code deadbeef}
   *     and whom a log is about: they may be values; in lower case, none for a model without tokens
   */
  record Asked(float[] whole, byte[] tokens, List<String> names) {}

  Asked asked(String question) throws InterruptedException {
    var embedding = embedder.embed(List.of(question)).getFirst();
    var tokens = packed(embedding);
    return new Asked(
        embedding.sentenceVector(),
        Arrays.copyOf(tokens, Math.min(tokens.length, MOST_ASKED * dimension)),
        names(question, embedding.tokens()));
  }

  private static List<String> names(String question, List<Token> tokens) {
    // of a long text the model may not have seen the end
    if (tokens.isEmpty() || tokens.size() > MOST_ASKED) {
      return List.of();
    }
    var known = new HashSet<String>();
    for (int i = 0; i < tokens.size(); i++) {
      if (i + 1 == tokens.size() || !tokens.get(i + 1).text().startsWith(PART)) {
        known.add(tokens.get(i).text());
      }
    }
    return Wording.words(question).stream()
        .filter(word -> word.chars().allMatch(Character::isLetter))
        .filter(word -> !known.contains(word))
        .toList();
  }

  /** Whether the model computes elsewhere. */
  boolean isElsewhere() {
    return embedder.isRemote();
  }

  /**
   * In the order of the passages, asking the model once.
   *
   * @throws Embedder.EmbedderUnavailableException when the model is
   * @throws Embedder.InvalidInputException when it takes one of them for no text
   */
  List<Vectors> of(Map<UUID, Passage> passages) throws InterruptedException {
    var all = new LinkedHashMap<UUID, Explained>();
    passages.forEach(
        (id, passage) -> all.put(id, new Explained(passage, glossary.meanings(passage.jargon()))));
    var texts = new LinkedHashSet<String>();
    for (var each : all.values()) {
      texts.add(each.passage.asWritten());
      texts.add(each.passage.inWords());
      texts.add(each.text());
      each.meanings.stream().filter(meaning -> !meanings.containsKey(meaning)).forEach(texts::add);
    }
    var made = embedder.embed(List.copyOf(texts)).iterator();
    var embeddings = new HashMap<String, Embedding>();
    texts.forEach(text -> embeddings.put(text, made.next()));
    return all.entrySet().stream()
        .map(each -> vectors(each.getKey(), each.getValue(), embeddings))
        .toList();
  }

  /**
   * @param meanings of its jargon; may be empty
   */
  private record Explained(Passage passage, List<String> meanings) {
    String text() {
      return meanings.isEmpty()
          ? passage.asWritten()
          : passage.asWritten() + " " + String.join(", ", meanings);
    }
  }

  private Vectors vectors(UUID id, Explained template, Map<String, Embedding> embeddings) {
    var asWritten = of(template.passage.asWritten(), embeddings);
    var whole = asWritten.sentenceVector();
    if (!template.meanings.isEmpty()) {
      whole = between(whole, of(template.text(), embeddings).sentenceVector());
    }
    var tokens = new ArrayList<byte[]>();
    tokens.add(packed(asWritten));
    tokens.add(packed(of(template.passage.inWords(), embeddings)));
    for (var meaning : template.meanings) {
      tokens.add(meanings.computeIfAbsent(meaning, text -> packed(of(text, embeddings))));
    }
    return new Vectors(id, whole, joined(tokens));
  }

  private static Embedding of(String text, Map<String, Embedding> embeddings) {
    return Objects.requireNonNull(embeddings.get(text));
  }

  /** How well each template meets the question: what is more is better. */
  double[] scores(Asked asked, List<Vectors> templates) {
    var tokens =
        asked.tokens.length == 0 ? null : new TokenVectors.Question(asked.tokens, dimension);
    return templates.stream().mapToDouble(each -> score(asked, tokens, each)).toArray();
  }

  private double score(Asked asked, TokenVectors.@Nullable Question tokens, Vectors template) {
    double score = 0;
    for (int i = 0; i < dimension; i++) {
      score += asked.whole[i] * template.sentenceVector()[i];
    }
    if (tokens != null && template.tokenVectors().length > 0) {
      score += TOKENS_WEIGHT * tokens.closeness(template.tokenVectors());
    }
    return score;
  }

  /** Without marks, which say nothing by themselves. */
  private static byte[] packed(Embedding embedding) {
    return TokenVectors.pack(
        embedding.tokens().stream()
            .filter(token -> token.text().codePoints().anyMatch(Character::isLetterOrDigit))
            .map(Token::vector)
            .toList());
  }

  /** Their mean, of length 1; the first where they cancel each other out. */
  private static float[] between(float[] one, float[] other) {
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

  private static byte[] joined(List<byte[]> parts) {
    var all = new byte[parts.stream().mapToInt(part -> part.length).sum()];
    int at = 0;
    for (var part : parts) {
      System.arraycopy(part, 0, all, at, part.length);
      at += part.length;
    }
    return all;
  }
}
