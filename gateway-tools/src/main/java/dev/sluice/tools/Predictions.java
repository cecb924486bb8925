package dev.sluice.tools;

import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The templates that a gateway assigned to the lines of one file. It stores one reference per line,
 * and each template id once, however many lines have it.
 */
final class Predictions {
  private final @Nullable String[] byLine;
  private final BitSet read = new BitSet();
  private final Map<String, String> templates = new HashMap<>();

  /**
   * Creates predictions for the lines 1 to {@code lastLine}.
   *
   * @param lastLine the highest line number of the file
   */
  Predictions(int lastLine) {
    byLine = new @Nullable String[lastLine + 1];
  }

  /**
   * Sets the template of a line.
   *
   * @param line the line number, from 1
   * @param template the template id, or null when the gateway assigned none
   * @throws IllegalArgumentException when the file has no such line
   */
  void put(int line, @Nullable String template) {
    if (line < 1 || line >= byLine.length) {
      throw new IllegalArgumentException("no line " + line);
    }
    read.set(line);
    byLine[line] = template == null ? null : templates.computeIfAbsent(template, same -> same);
  }

  /** null when the line has no template or was not read */
  @Nullable String template(int line) {
    return byLine[line];
  }

  /** The number of lines that were read; a line that was read twice counts once. */
  int readCount() {
    return read.cardinality();
  }

  /** The number of lines that have a template. */
  int templatedCount() {
    int count = 0;
    for (var template : byLine) {
      count += template == null ? 0 : 1;
    }
    return count;
  }

  /** The number of distinct templates. */
  int templateCount() {
    return templates.size();
  }
}
