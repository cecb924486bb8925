package dev.sluice.core.port;

import java.io.Serial;
import java.util.List;

/**
 * A model that makes vectors of texts: those of texts that mean alike point alike.
 *
 * <p>Safe for use by many threads; all methods block. The same text always has the same vectors,
 * whatever was asked before or is asked with it, as long as the model is the same.
 */
public interface Embedder {

  /** What vectors have to be told by: those of two models cannot be compared. */
  Model model();

  /**
   * Whether it computes elsewhere: then a text takes time and none of this machine's cores, and
   * many are best asked for together.
   */
  default boolean isRemote() {
    return false;
  }

  /**
   * The vectors of these, in their order. Of a text that is too long for the model its beginning
   * counts.
   *
   * @throws EmbedderUnavailableException when the model cannot answer at the moment; none of them
   *     has vectors then
   * @throws InvalidInputException when it will never answer this
   */
  List<Embedding> embed(List<String> texts) throws InterruptedException;

  /**
   * @param name tells it from all others, and its releases from each other
   * @param dimension numbers in each vector, from 1
   */
  record Model(String name, int dimension) {
    public Model {
      if (name.isBlank() || dimension < 1) {
        throw new IllegalArgumentException("model '%s' of %d".formatted(name, dimension));
      }
    }
  }

  /**
   * What a model makes of a text; all vectors are of length 1.
   *
   * @param sentenceVector of all of it
   * @param tokens of its words and their parts, each as it is meant in this text; empty for a model
   *     that tells none
   */
  record Embedding(float[] sentenceVector, List<Token> tokens) {
    public Embedding {
      tokens = List.copyOf(tokens);
    }
  }

  /**
   * @param text in lower case; with {@code ##} before it when it goes on with the word before
   */
  record Token(String text, float[] vector) {}

  /** The model takes one of the texts for none; asking again is in vain. */
  final class InvalidInputException extends RuntimeException {
    @Serial private static final long serialVersionUID = 1L;

    public InvalidInputException(String message) {
      super(message);
    }
  }

  /** The model cannot be asked, or has not answered; asking later is right. */
  final class EmbedderUnavailableException extends RuntimeException {
    @Serial private static final long serialVersionUID = 1L;

    public EmbedderUnavailableException(String message) {
      super(message);
    }

    public EmbedderUnavailableException(String message, Throwable cause) {
      super(message, cause);
    }
  }
}
