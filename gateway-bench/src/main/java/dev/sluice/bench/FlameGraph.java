package dev.sluice.bench;

import dev.sluice.bench.Profile.Box;

/**
 * Where the CPU of a profile went, as SVG on a ground of its own: each box as wide as its share,
 * upon what it was called by. Boxes of less than a third of a percent are left out, for they would
 * be lines.
 */
record FlameGraph(String title, Profile profile) {
  private static final String OURS = "#bfdbfe";
  private static final String LIBRARIES = "#fde68a";
  private static final String REST = "#e5e7eb";
  private static final int WIDTH = 1200;
  private static final int ROW = 18;
  private static final int TOP = 30;
  private static final int MARGIN = 8;
  private static final double LEAST = 1.0 / 300;

  /** Of the font, about. */
  private static final double LETTER = 6.4;

  String svg() {
    var root = profile.root();
    int height = TOP + depth(root, root.nanos() * LEAST) * ROW + MARGIN;
    var svg = new StringBuilder();
    svg.append(
        """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">
        <rect width="%d" height="%d" fill="#ffffff"/>
        <text x="%d" y="18" font-size="13">%s</text>
        """
            .formatted(WIDTH, height, WIDTH, height, MARGIN, escaped(title)));
    double scale = (WIDTH - 2.0 * MARGIN) / root.nanos();
    draw(svg, root, MARGIN, height - MARGIN - ROW, scale);
    return svg.append("</svg>\n").toString();
  }

  private static int depth(Box box, double least) {
    return 1
        + box.above().stream()
            .filter(above -> above.nanos() >= least)
            .mapToInt(above -> depth(above, least))
            .max()
            .orElse(0);
  }

  private void draw(StringBuilder svg, Box box, double left, int y, double scale) {
    double width = box.nanos() * scale;
    double part = (double) box.nanos() / profile.root().nanos();
    svg.append(
        "<g><title>%s, %.1f %%</title><rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>"
            .formatted(
                escaped(box.name()), part * 100, left, y, width - 0.5, ROW - 1, colour(box)));
    int letters = (int) ((width - 6) / LETTER);
    if (letters > 2) {
      var name = box.name();
      svg.append(
          "<text x=\"%.1f\" y=\"%d\">%s</text>"
              .formatted(
                  left + 3,
                  y + 13,
                  escaped(name.length() <= letters ? name : name.substring(0, letters - 1) + "…")));
    }
    svg.append("</g>\n");
    double from = left;
    for (var above : box.above()) {
      if (above.nanos() >= profile.root().nanos() * LEAST) {
        draw(svg, above, from, y - ROW, scale);
      }
      from += above.nanos() * scale;
    }
  }

  private static String colour(Box box) {
    return switch (box.kind()) {
      case OURS -> OURS;
      case LIBRARY -> LIBRARIES;
      case THREADS, JDK -> REST;
    };
  }

  private static String escaped(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("\"", "&quot;");
  }
}
