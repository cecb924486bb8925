package dev.sluice.core.search;

import java.util.Arrays;
import java.util.List;

/**
 * Vectors of tokens as they are stored: a byte for each number, which costs nothing of what search
 * finds and a quarter of the space.
 *
 * <p>A vector is of length 1, so its numbers are from -1 to 1, and are kept in steps of 1/127.
 */
final class MaxSim {
  private static final double SCALE = 127;

  private MaxSim() {}

  /** One after the other. */
  static byte[] pack(List<float[]> vectors) {
    if (vectors.isEmpty()) {
      return new byte[0];
    }
    int dimension = vectors.getFirst().length;
    var packed = new byte[vectors.size() * dimension];
    int index = 0;
    for (var vector : vectors) {
      for (float number : vector) {
        packed[index++] = (byte) Math.round(number * SCALE);
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
  static final class QueryScorer {
    private final int[][] queryVectors;
    private final int[] closest;
    private final int[] token;

    /**
     * @param packed at least one vector
     */
    QueryScorer(byte[] packed, int dimension) {
      queryVectors = new int[packed.length / dimension][dimension];
      for (int i = 0; i < queryVectors.length; i++) {
        unpack(packed, i * dimension, queryVectors[i]);
      }
      closest = new int[queryVectors.length];
      token = new int[dimension];
    }

    /**
     * How well it is met by a text: for each token of the question the closest one of the text, in
     * the mean (MaxSim, as in ColBERT: Khattab and Zaharia, SIGIR 2020).
     *
     * @param packed vectors of the same dimension, at least one
     * @return from -1 to 1
     */
    double score(byte[] packed) {
      Arrays.fill(closest, Integer.MIN_VALUE);
      for (int offset = 0; offset < packed.length; offset += token.length) {
        unpack(packed, offset, token);
        for (int i = 0; i < closest.length; i++) {
          closest[i] = Math.max(closest[i], dotProduct(queryVectors[i], token));
        }
      }
      long sum = 0;
      for (int each : closest) {
        sum += each;
      }
      return sum / (closest.length * SCALE * SCALE);
    }

    private static int dotProduct(int[] one, int[] other) {
      int product = 0;
      for (int i = 0; i < one.length; i++) {
        product += one[i] * other[i];
      }
      return product;
    }
  }
}
