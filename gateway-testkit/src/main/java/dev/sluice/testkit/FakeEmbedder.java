package dev.sluice.testkit;

import dev.sluice.core.port.Embedder;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A model that understands some words, of which several may mean the same. What it does not know
 * points where nothing else does. Safe for use by many threads.
 */
public final class FakeEmbedder implements Embedder {
  private static final int UNKNOWN = 0;

  private final Model model;
  private final Map<String, Integer> concepts;
  private final AtomicInteger embeddedTexts = new AtomicInteger();
  private final AtomicInteger calls = new AtomicInteger();
  private volatile boolean remote;
  private volatile int maxCalls = Integer.MAX_VALUE;
  private volatile @Nullable String splitWord;
  private volatile @Nullable String unavailableReason;
  private volatile @Nullable String rejectedPart;

  /**
   * @param concepts number of what a word means, from 1, below the dimension
   */
  public FakeEmbedder(String name, int dimension, Map<String, Integer> concepts) {
    model = new Model(name, dimension);
    this.concepts = Map.copyOf(concepts);
  }

  /** From now on it cannot be asked, for this reason; null for it can again. */
  public void setUnavailable(@Nullable String reason) {
    unavailableReason = reason;
  }

  /** It can be asked so often, counted from its making, and then no more. */
  public void failAfterCalls(int calls) {
    maxCalls = calls;
  }

  /** From now on it computes elsewhere. */
  public void setRemote() {
    remote = true;
  }

  /** From now on it knows this word by its first letter and the rest alone. */
  public void splitIntoSubwords(String word) {
    splitWord = word;
  }

  /** From now on it never takes a text with this in it. */
  public void rejectTextsContaining(String part) {
    rejectedPart = part;
  }

  /** Texts so far. */
  public int embeddedTexts() {
    return embeddedTexts.get();
  }

  /** How often it was asked so far, for however many texts. */
  public int calls() {
    return calls.get();
  }

  @Override
  public boolean isRemote() {
    return remote;
  }

  @Override
  public Model model() {
    return model;
  }

  @Override
  public List<Embedding> embed(List<String> texts) {
    var reason = calls.incrementAndGet() > maxCalls ? "away" : unavailableReason;
    if (reason != null) {
      throw new EmbedderUnavailableException(reason);
    }
    var part = rejectedPart;
    if (part != null && texts.stream().anyMatch(text -> text.contains(part))) {
      throw new InvalidInputException("a text with " + part);
    }
    embeddedTexts.addAndGet(texts.size());
    return texts.stream().map(this::embed).toList();
  }

  private Embedding embed(String text) {
    var sentenceVector = new float[model.dimension()];
    var tokens = new ArrayList<Token>();
    for (var word : text.toLowerCase(Locale.ROOT).split("[^a-z0-9]+", -1)) {
      if (!word.isEmpty()) {
        var vector = new float[model.dimension()];
        vector[concepts.getOrDefault(word, UNKNOWN)] = 1;
        sentenceVector[concepts.getOrDefault(word, UNKNOWN)]++;
        if (word.equals(splitWord)) {
          tokens.add(new Token(word.substring(0, 1), vector));
          tokens.add(new Token("##" + word.substring(1), vector));
        } else {
          tokens.add(new Token(word, vector));
        }
      }
    }
    return new Embedding(normalize(sentenceVector), tokens);
  }

  private static float[] normalize(float[] vector) {
    double squares = 0;
    for (float number : vector) {
      squares += (double) number * number;
    }
    if (squares == 0) {
      vector[UNKNOWN] = 1;
      squares = 1;
    }
    for (int i = 0; i < vector.length; i++) {
      vector[i] /= (float) Math.sqrt(squares);
    }
    return vector;
  }
}
