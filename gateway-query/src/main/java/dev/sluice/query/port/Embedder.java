package dev.sluice.query.port;

import java.io.Serial;
import java.util.List;

/**
 * An embedding model: it computes vectors of texts, and texts with a similar meaning have similar
 * vectors.
 *
 * <p>Thread-safe; all methods block. With the same model, the same text always has the same
 * vectors, regardless of earlier calls and of the other texts in the call.
 */
public interface Embedder {

  /** Returns the identity of the model. Vectors of two models are not comparable. */
  Model model();

  /**
   * Whether the model runs on another host. A call then has network latency but uses no CPU of this
   * host, so that large batches and concurrent calls are best.
   */
  default boolean isRemote() {
    return false;
  }

  /**
   * Computes the vectors of the texts. A text that is too long for the model is truncated.
   *
   * @return the embeddings, in the order of the texts
   * @throws EmbedderUnavailableException when the model is unavailable; no text has vectors then
   * @throws InvalidInputException when the model rejects one of the texts permanently
   */
  List<Embedding> embed(List<String> texts) throws InterruptedException;

  /**
   * The identity of a model.
   *
   * @param name a name that is unique among all models and their versions
   * @param dimension the dimension of each vector, at least 1
   */
  record Model(String name, int dimension) {
    public Model {
      if (name.isBlank() || dimension < 1) {
        throw new IllegalArgumentException(
            "model name '%s', dimension %d: the name must not be blank, the dimension positive"
                .formatted(name, dimension));
      }
    }
  }

  /**
   * The vectors of a text; each has length 1.
   *
   * @param sentenceVector the vector of the whole text
   * @param tokens the contextual vectors of its words and subwords; empty for a model that provides
   *     none
   */
  record Embedding(float[] sentenceVector, List<Token> tokens) {
    public Embedding {
      tokens = List.copyOf(tokens);
    }
  }

  /**
   * The vector of a token.
   *
   * @param text the token in lower case, prefixed with {@code ##} when it continues the word of the
   *     token before
   */
  record Token(String text, float[] vector) {}

  /** The exception for a text that the model rejects; a retry fails too. */
  final class InvalidInputException extends RuntimeException {
    @Serial private static final long serialVersionUID = 1L;

    public InvalidInputException(String message) {
      super(message);
    }
  }

  /**
   * The exception for a model that is unreachable or does not respond; a later call may succeed.
   */
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
