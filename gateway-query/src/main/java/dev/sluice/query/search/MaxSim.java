package dev.sluice.query.search;

import java.util.Arrays;
import java.util.List;

/**
 * Packs token vectors and compares them with MaxSim. A packed vector has one byte for each
 * component, a quarter of the size of floats, without an effect on search results.
 *
 * <p>A vector has length 1, so that its components are from -1 to 1; they are stored in steps of
 * 1/127.
 */
final class MaxSim {
  private static final double SCALE = 127;

  private MaxSim() {}

  /** Packs vectors one after the other. */
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
   * Scores texts against one query. Not thread-safe.
   *
   * <p>The inner loop multiplies two int arrays from their beginning, since HotSpot generates
   * vector instructions for that loop, but not for bytes or for a part of an array; see ADR 0032.
   */
  static final class QueryScorer {
    private final int[][] queryVectors;
    private final int[] closest;
    private final int[] token;

    /**
     * @param packed the token vectors of the query, at least one
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
     * Returns the MaxSim score of a text: for each token of the query the similarity of the closest
     * token of the text, averaged (as in ColBERT: Khattab and Zaharia, SIGIR 2020).
     *
     * @param packed the token vectors of the text, at least one, of the same dimension
     * @return the score, from -1 to 1
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
