package dev.sluice.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.DoubleStream;

/**
 * A line chart as SVG with its own background, readable in light and dark mode. The vertical axis
 * starts at zero; otherwise every increase would look the same.
 *
 * @param xLabel the label of the horizontal axis, with its unit
 * @param yLabel the label of the vertical axis, with its unit
 * @param logarithmic whether the horizontal axis is logarithmic; a zero, which has no place on it,
 *     is drawn one step before the smallest value
 * @param x the horizontal positions, in ascending order
 */
record LineChart(
    String title,
    String xLabel,
    String yLabel,
    boolean logarithmic,
    List<Double> x,
    List<Line> lines) {
  private static final List<String> COLOURS = List.of("#2563eb", "#d97706", "#6b7280", "#059669");
  private static final String DARK = "#111827";
  private static final String PALE = "#d1d5db";
  private static final int WIDTH = 780;
  private static final int HEIGHT = 360;
  private static final int LEFT = 90;
  private static final int RIGHT = 750;
  private static final int TOP = 66;
  private static final int BOTTOM = 300;
  private static final int MARGIN = 20;
  private static final int STEPS = 5;

  /** One line: a value for each position, NaN where there is none. */
  record Line(String name, List<Double> values) {}

  String svg() {
    var svg = new StringBuilder();
    svg.append(
        """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">
        <rect width="%d" height="%d" fill="#ffffff"/>
        """
            .formatted(WIDTH, HEIGHT, WIDTH, HEIGHT));
    text(svg, 8, 18, "start", title);
    text(svg, LEFT, TOP - 10, "start", yLabel);
    text(svg, RIGHT, BOTTOM + 44, "end", xLabel);
    legend(svg);
    double step = gridStep(maxValue());
    int steps = (int) Math.max(1, Math.ceil(maxValue() / step - 1e-9));
    for (int i = 0; i <= steps; i++) {
      double y = BOTTOM - (double) (BOTTOM - TOP) * i / steps;
      line(svg, LEFT, y, RIGHT, y, PALE);
      text(svg, LEFT - 8, y + 4, "end", format(i * step));
    }
    for (double each : ticks()) {
      line(svg, xCoordinate(each), BOTTOM, xCoordinate(each), BOTTOM + 5, DARK);
      text(svg, xCoordinate(each), BOTTOM + 20, "middle", format(each));
    }
    line(svg, LEFT, BOTTOM, RIGHT, BOTTOM, DARK);
    for (int i = 0; i < lines.size(); i++) {
      draw(svg, lines.get(i).values, steps * step, COLOURS.get(i));
    }
    return svg.append("</svg>\n").toString();
  }

  private void legend(StringBuilder svg) {
    for (int i = 0; i < lines.size(); i++) {
      int left = LEFT + i * 165;
      svg.append(
          "<rect x=\"%d\" y=\"28\" width=\"12\" height=\"12\" fill=\"%s\"/>%n"
              .formatted(left, COLOURS.get(i)));
      text(svg, left + 18, 39, "start", lines.get(i).name);
    }
  }

  private void draw(StringBuilder svg, List<Double> values, double top, String colour) {
    var corners = new ArrayList<String>();
    var dots = new StringBuilder();
    for (int i = 0; i < values.size(); i++) {
      if (!values.get(i).isNaN()) {
        double y = BOTTOM - (BOTTOM - TOP) * values.get(i) / top;
        corners.add("%.1f,%.1f".formatted(xCoordinate(x.get(i)), y));
        dots.append(
            "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>%n"
                .formatted(xCoordinate(x.get(i)), y, colour));
      }
    }
    svg.append(
        "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>%n"
            .formatted(String.join(" ", corners), colour));
    svg.append(dots);
  }

  /** Returns the ticks of the horizontal axis: all positions, or even steps. */
  private List<Double> ticks() {
    if (logarithmic) {
      return x;
    }
    double step = gridStep(x.getLast());
    return DoubleStream.iterate(0, each -> each <= x.getLast(), each -> each + step)
        .boxed()
        .toList();
  }

  /** Returns the horizontal coordinate of a value. */
  private double xCoordinate(double value) {
    double from = logarithmic ? logarithm(x.getFirst()) : 0;
    double to = logarithmic ? logarithm(x.getLast()) : x.getLast();
    double position = logarithmic ? logarithm(value) : value;
    return LEFT
        + MARGIN
        + (RIGHT - LEFT - 2 * MARGIN) * (position - from) / Math.max(to - from, 1e-9);
  }

  private double logarithm(double value) {
    if (value > 0) {
      return Math.log(value);
    }
    var above = x.stream().filter(each -> each > 0).map(Math::log).toList();
    if (above.size() < 2) {
      return above.isEmpty() ? 0 : above.getFirst() - 1;
    }
    return above.getFirst() - (above.getLast() - above.getFirst()) / (above.size() - 1);
  }

  private double maxValue() {
    return lines.stream()
        .flatMapToDouble(line -> line.values.stream().mapToDouble(value -> value))
        .filter(value -> !Double.isNaN(value))
        .max()
        .orElse(0);
  }

  /** Returns the distance between two grid lines: one, two or five times a power of ten. */
  private static double gridStep(double highest) {
    double rough = Math.max(highest, 1e-6) / STEPS;
    double power = Math.pow(10, Math.floor(Math.log10(rough)));
    return DoubleStream.of(1, 2, 5, 10)
        .map(each -> each * power)
        .filter(each -> each >= rough * (1 - 1e-9))
        .findFirst()
        .orElseThrow();
  }

  private static String format(double value) {
    if (value >= 1e6) {
      return trimZeros(value / 1e6) + "M";
    }
    return value >= 1000 ? "%,.0f".formatted(value) : trimZeros(value);
  }

  /** Formats a value without trailing zeros. */
  private static String trimZeros(double value) {
    var text = String.format(Locale.ROOT, "%.3f", value);
    return text.replaceFirst("\\.?0+$", "");
  }

  private static void line(
      StringBuilder svg, double x1, double y1, double x2, double y2, String colour) {
    svg.append(
        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>%n"
            .formatted(x1, y1, x2, y2, colour));
  }

  private static void text(StringBuilder svg, double x, double y, String anchor, String text) {
    svg.append(
        "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">%s</text>%n"
            .formatted(x, y, anchor, DARK, text.replace("&", "&amp;").replace("<", "&lt;")));
  }
}
