package dev.sluice.testkit;

import dev.sluice.query.port.Embedder;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * An embedder with a fixed vocabulary that maps words to concepts. Several words may have the same
 * concept; unknown words all map to dimension 0, which no concept uses. Thread-safe.
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
   * Creates an embedder.
   *
   * @param name the name of the model
   * @param dimension the number of dimensions of all vectors
   * @param concepts the dimension of the concept of each known word, from 1 and below {@code
   *     dimension}
   */
  public FakeEmbedder(String name, int dimension, Map<String, Integer> concepts) {
    model = new Model(name, dimension);
    this.concepts = Map.copyOf(concepts);
  }

  /** Makes calls fail with this reason; null makes them succeed again. */
  public void setUnavailable(@Nullable String reason) {
    unavailableReason = reason;
  }

  /**
   * Makes all calls after the first {@code calls} fail, counted from the creation of this object.
   */
  public void failAfterCalls(int calls) {
    maxCalls = calls;
  }

  /** Makes this embedder report that it is remote. */
  public void setRemote() {
    remote = true;
  }

  /** Makes this embedder split a word into two tokens: the first letter and the rest. */
  public void splitIntoSubwords(String word) {
    splitWord = word;
  }

  /** Makes this embedder reject every text that contains {@code part}. */
  public void rejectTextsContaining(String part) {
    rejectedPart = part;
  }

  /** Returns the number of embedded texts so far. */
  public int embeddedTexts() {
    return embeddedTexts.get();
  }

  /** Returns the number of calls so far, independent of the number of texts. */
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
