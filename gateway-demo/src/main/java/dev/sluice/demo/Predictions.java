package dev.sluice.demo;

import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a gateway answered for the lines of one file: a reference for each line, and the identity of
 * a template once however many lines have it.
 */
final class Predictions {
  private final @Nullable String[] byLine;
  private final BitSet read = new BitSet();
  private final Map<String, String> templates = new HashMap<>();

  /**
   * @param lastLine the highest number of a line
   */
  Predictions(int lastLine) {
    byLine = new @Nullable String[lastLine + 1];
  }

  /**
   * @param template null where the gateway has none for it
   * @throws IllegalArgumentException when the file has no such line
   */
  void put(int line, @Nullable String template) {
    if (line < 1 || line >= byLine.length) {
      throw new IllegalArgumentException("no line " + line);
    }
    read.set(line);
    byLine[line] = template == null ? null : templates.computeIfAbsent(template, same -> same);
  }

  /** Null where there is none, and where nothing was read. */
  @Nullable String template(int line) {
    return byLine[line];
  }

  /** Lines that were read, once each. */
  int readCount() {
    return read.cardinality();
  }

  /** Lines that have a template. */
  int templatedCount() {
    int count = 0;
    for (var template : byLine) {
      count += template == null ? 0 : 1;
    }
    return count;
  }

  /** Different templates. */
  int templateCount() {
    return templates.size();
  }
}
