package dev.sluice.core.search;

import dev.sluice.core.port.Embedder;
import dev.sluice.core.port.Embedder.Embedding;
import dev.sluice.core.port.Embedder.Token;
import dev.sluice.core.port.TemplateVectors.Vectors;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
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

  /** What a question is, as templates are asked. */
  record Asked(float[] whole, byte[] tokens) {}

  Asked asked(String question) throws InterruptedException {
    var embedding = embedder.embed(List.of(question)).getFirst();
    var tokens = packed(embedding);
    return new Asked(
        embedding.whole(), Arrays.copyOf(tokens, Math.min(tokens.length, MOST_ASKED * dimension)));
  }

  /**
   * @throws Embedder.Unavailable when the model is
   */
  Vectors of(UUID id, Passage passage) throws InterruptedException {
    var explained = glossary.meanings(passage.jargon());
    var texts = new ArrayList<>(List.of(passage.asWritten(), passage.inWords()));
    if (!explained.isEmpty()) {
      texts.add(passage.asWritten() + " " + String.join(", ", explained));
    }
    var embeddings = embedder.embed(texts);
    var whole = embeddings.getFirst().whole();
    if (!explained.isEmpty()) {
      whole = between(whole, embeddings.getLast().whole());
    }
    var tokens = new ArrayList<byte[]>();
    tokens.add(packed(embeddings.get(0)));
    tokens.add(packed(embeddings.get(1)));
    for (var meaning : explained) {
      tokens.add(meaning(meaning));
    }
    return new Vectors(id, whole, joined(tokens));
  }

  private byte[] meaning(String text) throws InterruptedException {
    var known = meanings.get(text);
    if (known == null) {
      known = packed(embedder.embed(List.of(text)).getFirst());
      meanings.put(text, known);
    }
    return known;
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
      score += asked.whole[i] * template.whole()[i];
    }
    if (tokens != null && template.tokens().length > 0) {
      score += TOKENS_WEIGHT * tokens.closeness(template.tokens());
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
