package dev.sluice.clickhouse;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Splits text into terms as the tokenizer {@code splitByNonAlpha} of ClickHouse does. */
final class ClickHouseTokenizer {
  private ClickHouseTokenizer() {}

  /**
   * Returns the terms of a text in lower case, separated by ASCII characters that are neither
   * letters nor digits.
   */
  static List<String> tokenize(String text) {
    var words = new ArrayList<String>();
    var lower = text.toLowerCase(Locale.ROOT);
    int start = -1;
    for (int i = 0; i <= lower.length(); i++) {
      boolean inside = i < lower.length() && isTokenChar(lower.charAt(i));
      if (inside && start < 0) {
        start = i;
      } else if (!inside && start >= 0) {
        words.add(lower.substring(start, i));
        start = -1;
      }
    }
    return words;
  }

  /** Whether the character can be part of a term. */
  static boolean isTokenChar(char c) {
    return c >= 0x80 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  }

  static boolean isAscii(String word) {
    return word.chars().allMatch(c -> c < 0x80);
  }
}
