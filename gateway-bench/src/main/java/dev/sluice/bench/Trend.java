package dev.sluice.bench;

import java.util.List;

/**
 * The straight line that lies closest to some points, by least squares.
 *
 * @param slope of it
 * @param growth from the first point to the last, as a share of the mean
 * @param error of the growth that chance explains: two standard errors; not a number for two points
 */
record Trend(double slope, double growth, double error) {
  /** What is more is named. */
  private static final double MAX_GROWTH = 0.1;

  /**
   * @param x at least two different ones
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

  /** In words. */
  String verdict() {
    if (growth <= MAX_GROWTH) {
      return "does not grow";
    }
    return growth > error ? "**grows**" : "too uneven to tell";
  }

  private static double mean(List<Double> values) {
    return values.stream().mapToDouble(value -> value).average().orElseThrow();
  }
}
