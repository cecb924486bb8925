package dev.sluice.core.search;

import java.util.List;

/**
 * Vectors of tokens as they are stored: a byte for each number, which costs nothing of what search
 * finds and a quarter of the space.
 *
 * <p>A vector is of length 1, so its numbers are from -1 to 1, and are kept in steps of 1/127.
 */
final class TokenVectors {
  private static final double STEPS = 127;

  private TokenVectors() {}

  /** One after the other. */
  static byte[] pack(List<float[]> vectors) {
    if (vectors.isEmpty()) {
      return new byte[0];
    }
    int dimension = vectors.getFirst().length;
    var packed = new byte[vectors.size() * dimension];
    int at = 0;
    for (var vector : vectors) {
      for (float number : vector) {
        packed[at++] = (byte) Math.round(number * STEPS);
      }
    }
    return packed;
  }

  private static int[] unpack(byte[] packed, int[] into) {
    var numbers = into.length < packed.length ? new int[packed.length] : into;
    for (int i = 0; i < packed.length; i++) {
      numbers[i] = packed[i];
    }
    return numbers;
  }

  /**
   * A question that is held against texts, one after the other: for one thread.
   *
   * <p>Numbers are computed with as ints: of a sum of products of bytes the JVM (25) makes no
   * vector instructions, and it took seven times as long.
   */
  static final class Question {
    private final int dimension;
    private final int tokens;
    private final int[] question;
    private int[] text = new int[0];

    /**
     * @param packed at least one vector
     */
    Question(byte[] packed, int dimension) {
      this.dimension = dimension;
      tokens = packed.length / dimension;
      question = unpack(packed, new int[packed.length]);
    }

    /**
     * How well it is met by a text: for each token of the question the closest one of the text, in
     * the mean (MaxSim, as in ColBERT: Khattab and Zaharia, SIGIR 2020).
     *
     * @param packed vectors of the same dimension, at least one
     * @return from -1 to 1
     */
    double closeness(byte[] packed) {
      text = unpack(packed, text);
      long sum = 0;
      for (int one = 0; one < question.length; one += dimension) {
        int closest = Integer.MIN_VALUE;
        for (int other = 0; other < packed.length; other += dimension) {
          closest = Math.max(closest, product(one, other));
        }
        sum += closest;
      }
      return sum / (tokens * STEPS * STEPS);
    }

    private int product(int one, int other) {
      int product = 0;
      for (int i = 0; i < dimension; i++) {
        product += question[one + i] * text[other + i];
      }
      return product;
    }
  }
}
