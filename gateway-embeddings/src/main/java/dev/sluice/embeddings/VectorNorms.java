package dev.sluice.embeddings;

/** Normalizes vectors. */
final class VectorNorms {
  private VectorNorms() {}

  /**
   * Scales the vector in place to length 1 and returns it; a vector of length 0 stays unchanged.
   */
  static float[] normalize(float[] vector) {
    double squares = 0;
    for (float number : vector) {
      squares += (double) number * number;
    }
    if (squares > 0) {
      float length = (float) Math.sqrt(squares);
      for (int i = 0; i < vector.length; i++) {
        vector[i] /= length;
      }
    }
    return vector;
  }
}
