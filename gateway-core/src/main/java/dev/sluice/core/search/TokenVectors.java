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

  /**
   * How well a question is met by a text: for each token of the question the closest one of the
   * text, in the mean (MaxSim, as in ColBERT: Khattab and Zaharia, SIGIR 2020).
   *
   * @param question packed vectors, at least one
   * @param text packed vectors of the same dimension, at least one
   * @return from -1 to 1
   */
  static double closeness(byte[] question, byte[] text, int dimension) {
    long sum = 0;
    for (int one = 0; one < question.length; one += dimension) {
      int closest = Integer.MIN_VALUE;
      for (int other = 0; other < text.length; other += dimension) {
        closest = Math.max(closest, product(question, one, text, other, dimension));
      }
      sum += closest;
    }
    int tokens = question.length / dimension;
    return sum / (tokens * STEPS * STEPS);
  }

  private static int product(byte[] a, int atA, byte[] b, int atB, int dimension) {
    int product = 0;
    for (int i = 0; i < dimension; i++) {
      product += a[atA + i] * b[atB + i];
    }
    return product;
  }
}
