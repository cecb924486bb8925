package dev.sluice.bench;

import dev.sluice.bench.Profile.FlameNode;

/**
 * A flame graph of a profile as SVG with its own background. The width of a box is its share of the
 * CPU; the box below it is its caller. Boxes of less than a third of a percent are omitted, because
 * they would be lines.
 */
record FlameGraph(String title, Profile profile) {
  private static final String APPLICATION_COLOR = "#bfdbfe";
  private static final String LIBRARY_COLOR = "#fde68a";
  private static final String JDK_COLOR = "#e5e7eb";
  private static final int WIDTH = 1200;
  private static final int ROW = 18;
  private static final int TOP = 30;
  private static final int MARGIN = 8;
  private static final double MIN_SHARE = 1.0 / 300;

  /** The approximate width of a letter. */
  private static final double LETTER_WIDTH = 6.4;

  String svg() {
    var root = profile.root();
    int height = TOP + depth(root, root.nanos() * MIN_SHARE) * ROW + MARGIN;
    var svg = new StringBuilder();
    svg.append(
        """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">
        <rect width="%d" height="%d" fill="#ffffff"/>
        <text x="%d" y="18" font-size="13">%s</text>
        """
            .formatted(WIDTH, height, WIDTH, height, MARGIN, escape(title)));
    double scale = (WIDTH - 2.0 * MARGIN) / root.nanos();
    draw(svg, root, MARGIN, height - MARGIN - ROW, scale);
    return svg.append("</svg>\n").toString();
  }

  private static int depth(FlameNode node, double minNanos) {
    return 1
        + node.children().stream()
            .filter(child -> child.nanos() >= minNanos)
            .mapToInt(child -> depth(child, minNanos))
            .max()
            .orElse(0);
  }

  private void draw(StringBuilder svg, FlameNode node, double left, int y, double scale) {
    double width = node.nanos() * scale;
    double share = (double) node.nanos() / profile.root().nanos();
    svg.append(
        "<g><title>%s, %.1f %%</title><rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>"
            .formatted(
                escape(node.name()), share * 100, left, y, width - 0.5, ROW - 1, colour(node)));
    int letters = (int) ((width - 6) / LETTER_WIDTH);
    if (letters > 2) {
      var name = node.name();
      svg.append(
          "<text x=\"%.1f\" y=\"%d\">%s</text>"
              .formatted(
                  left + 3,
                  y + 13,
                  escape(name.length() <= letters ? name : name.substring(0, letters - 1) + "…")));
    }
    svg.append("</g>\n");
    double from = left;
    for (var child : node.children()) {
      if (child.nanos() >= profile.root().nanos() * MIN_SHARE) {
        draw(svg, child, from, y - ROW, scale);
      }
      from += child.nanos() * scale;
    }
  }

  private static String colour(FlameNode node) {
    return switch (node.kind()) {
      case APPLICATION -> APPLICATION_COLOR;
      case LIBRARY -> LIBRARY_COLOR;
      case THREADS, JDK -> JDK_COLOR;
    };
  }

  private static String escape(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("\"", "&quot;");
  }
}
