package dev.sluice.core.search;

import java.util.Arrays;
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

  private static void unpack(byte[] packed, int from, int[] into) {
    for (int i = 0; i < into.length; i++) {
      into[i] = packed[from + i];
    }
  }

  /**
   * A question that is held against texts, one after the other: for one thread.
   *
   * <p>What is multiplied are two arrays of ints from their beginnings: of that the JVM (25) makes
   * vector instructions, and of bytes, or of a part of an array, it does not, which takes five
   * times as long.
   */
  static final class Question {
    private final int[][] question;
    private final int[] closest;
    private final int[] token;

    /**
     * @param packed at least one vector
     */
    Question(byte[] packed, int dimension) {
      question = new int[packed.length / dimension][dimension];
      for (int i = 0; i < question.length; i++) {
        unpack(packed, i * dimension, question[i]);
      }
      closest = new int[question.length];
      token = new int[dimension];
    }

    /**
     * How well it is met by a text: for each token of the question the closest one of the text, in
     * the mean (MaxSim, as in ColBERT: Khattab and Zaharia, SIGIR 2020).
     *
     * @param packed vectors of the same dimension, at least one
     * @return from -1 to 1
     */
    double closeness(byte[] packed) {
      Arrays.fill(closest, Integer.MIN_VALUE);
      for (int at = 0; at < packed.length; at += token.length) {
        unpack(packed, at, token);
        for (int i = 0; i < closest.length; i++) {
          closest[i] = Math.max(closest[i], product(question[i], token));
        }
      }
      long sum = 0;
      for (int each : closest) {
        sum += each;
      }
      return sum / (closest.length * STEPS * STEPS);
    }

    private static int product(int[] one, int[] other) {
      int product = 0;
      for (int i = 0; i < one.length; i++) {
        product += one[i] * other[i];
      }
      return product;
    }
  }
}
