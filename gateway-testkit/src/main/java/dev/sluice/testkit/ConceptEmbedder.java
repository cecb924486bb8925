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
public final class ConceptEmbedder implements Embedder {
  private static final int UNKNOWN = 0;

  private final Model model;
  private final Map<String, Integer> concepts;
  private final AtomicInteger embedded = new AtomicInteger();
  private final AtomicInteger asked = new AtomicInteger();
  private volatile boolean elsewhere;
  private volatile int most = Integer.MAX_VALUE;
  private volatile @Nullable String forgotten;
  private volatile @Nullable String trouble;
  private volatile @Nullable String refused;

  /**
   * @param concepts number of what a word means, from 1, below the dimension
   */
  public ConceptEmbedder(String name, int dimension, Map<String, Integer> concepts) {
    model = new Model(name, dimension);
    this.concepts = Map.copyOf(concepts);
  }

  /** From now on it cannot be asked, for this reason; null for it can again. */
  public void trouble(@Nullable String reason) {
    trouble = reason;
  }

  /** It can be asked so often, counted from its making, and then no more. */
  public void goAwayAfter(int times) {
    most = times;
  }

  /** From now on it computes elsewhere. */
  public void goElsewhere() {
    elsewhere = true;
  }

  /** From now on it knows this word by its first letter and the rest alone. */
  public void forget(String word) {
    forgotten = word;
  }

  /** From now on it never takes a text with this in it. */
  public void refuse(String part) {
    refused = part;
  }

  /** Texts so far. */
  public int embedded() {
    return embedded.get();
  }

  /** How often it was asked so far, for however many texts. */
  public int asked() {
    return asked.get();
  }

  @Override
  public boolean isRemote() {
    return elsewhere;
  }

  @Override
  public Model model() {
    return model;
  }

  @Override
  public List<Embedding> embed(List<String> texts) {
    var reason = asked.incrementAndGet() > most ? "away" : trouble;
    if (reason != null) {
      throw new EmbedderUnavailableException(reason);
    }
    var part = refused;
    if (part != null && texts.stream().anyMatch(text -> text.contains(part))) {
      throw new InvalidInputException("a text with " + part);
    }
    embedded.addAndGet(texts.size());
    return texts.stream().map(this::embed).toList();
  }

  private Embedding embed(String text) {
    var whole = new float[model.dimension()];
    var tokens = new ArrayList<Token>();
    for (var word : text.toLowerCase(Locale.ROOT).split("[^a-z0-9]+", -1)) {
      if (!word.isEmpty()) {
        var vector = new float[model.dimension()];
        vector[concepts.getOrDefault(word, UNKNOWN)] = 1;
        whole[concepts.getOrDefault(word, UNKNOWN)]++;
        if (word.equals(forgotten)) {
          tokens.add(new Token(word.substring(0, 1), vector));
          tokens.add(new Token("##" + word.substring(1), vector));
        } else {
          tokens.add(new Token(word, vector));
        }
      }
    }
    return new Embedding(unit(whole), tokens);
  }

  private static float[] unit(float[] vector) {
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
