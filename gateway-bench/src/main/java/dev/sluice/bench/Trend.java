package dev.sluice.bench;

import java.util.List;

/**
 * A straight line that is fitted to points by least squares.
 *
 * @param slope the slope of the line
 * @param growth the rise of the line from the first point to the last, relative to the mean
 * @param error the part of the growth that chance explains: two standard errors; NaN for two points
 */
record Trend(double slope, double growth, double error) {
  /** The maximum growth that is not reported. */
  private static final double MAX_GROWTH = 0.1;

  /**
   * Fits a line.
   *
   * @param x the positions, at least two different ones
   * @param y the values
   */
  static Trend of(List<Double> x, List<Double> y) {
    double meanX = mean(x);
    double meanY = mean(y);
    double squares = 0;
    double products = 0;
    for (int i = 0; i < x.size(); i++) {
      squares += (x.get(i) - meanX) * (x.get(i) - meanX);
      products += (x.get(i) - meanX) * (y.get(i) - meanY);
    }
    double slope = products / squares;
    double residualSquares = 0;
    for (int i = 0; i < x.size(); i++) {
      double residual = y.get(i) - meanY - slope * (x.get(i) - meanX);
      residualSquares += residual * residual;
    }
    double error = Math.sqrt(residualSquares / (x.size() - 2) / squares);
    double scale = meanY == 0 ? 0 : (x.getLast() - x.getFirst()) / meanY; // all zero: no growth
    return new Trend(slope, slope * scale, 2 * error * scale);
  }

  /** Returns the verdict in words. */
  String verdict() {
    if (growth <= MAX_GROWTH) {
      return "does not grow";
    }
    return growth > error ? "**grows**" : "inconclusive";
  }

  private static double mean(List<Double> values) {
    return values.stream().mapToDouble(value -> value).average().orElseThrow();
  }
}
