package dev.sluice.bench;

import java.util.List;

/**
 * A horizontal bar chart as SVG with its own background, readable in light and dark mode.
 *
 * @param format the format of a value
 * @param series the names of the values of each row, in their order
 * @param stacked whether the bars of a row are stacked; otherwise one is drawn below the other
 */
record BarChart(
    String title, String format, List<String> series, boolean stacked, List<Bars> rows) {
  private static final List<String> COLOURS = List.of("#2563eb", "#d97706", "#6b7280");
  private static final int NAME_WIDTH = 210;
  private static final int MAX_BAR_LENGTH = 460;
  private static final int WIDTH = 780;
  private static final int BAR_HEIGHT = 14;
  private static final int TOP = 56;

  /** The values of one row. */
  record Bars(String name, List<Double> values) {

    private double length(boolean stacked) {
      return stacked
          ? values.stream().mapToDouble(value -> value).sum()
          : values.stream().mapToDouble(value -> value).max().orElse(0);
    }
  }

  String svg() {
    int row = (stacked ? BAR_HEIGHT : BAR_HEIGHT * series.size()) + 12;
    int height = TOP + rows.size() * row;
    var svg = new StringBuilder();
    svg.append(
        """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">
        <rect width="%d" height="%d" fill="#ffffff"/>
        """
            .formatted(WIDTH, height, WIDTH, height));
    text(svg, 8, 18, "start", title);
    for (int i = 0; i < series.size(); i++) {
      bar(svg, NAME_WIDTH + i * 120, 28, 12, COLOURS.get(i));
      text(svg, NAME_WIDTH + i * 120 + 18, 39, "start", series.get(i));
    }
    double longest = rows.stream().mapToDouble(each -> each.length(stacked)).max().orElse(0);
    for (int i = 0; i < rows.size(); i++) {
      draw(svg, rows.get(i), TOP + i * row, MAX_BAR_LENGTH / Math.max(longest, 1e-9));
    }
    return svg.append("</svg>\n").toString();
  }

  private void draw(StringBuilder svg, Bars bars, int top, double scale) {
    text(svg, NAME_WIDTH - 8, top + 11, "end", bars.name);
    double left = NAME_WIDTH;
    for (int i = 0; i < bars.values.size(); i++) {
      double value = bars.values.get(i);
      int y = stacked ? top : top + i * BAR_HEIGHT;
      bar(svg, left, y, value * scale, COLOURS.get(i));
      if (stacked) {
        left += value * scale;
      } else {
        text(svg, NAME_WIDTH + value * scale + 6, y + 11, "start", format.formatted(value));
      }
    }
    if (stacked) {
      text(svg, left + 6, top + 11, "start", format.formatted(bars.length(true)));
    }
  }

  private static void bar(StringBuilder svg, double x, double y, double width, String colour) {
    svg.append(
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>%n"
            .formatted(x, y, width, BAR_HEIGHT - 2, colour));
  }

  private static void text(StringBuilder svg, double x, double y, String anchor, String text) {
    svg.append(
        "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>%n"
            .formatted(x, y, anchor, text.replace("&", "&amp;").replace("<", "&lt;")));
  }
}
