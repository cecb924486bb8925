package dev.sluice.embeddings;

/** Vectors that only point. */
final class VectorNorms {
  private VectorNorms() {}

  /** The same one, made of length 1; one of length 0 stays what it is. */
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
