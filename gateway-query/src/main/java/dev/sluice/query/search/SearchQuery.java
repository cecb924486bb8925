package dev.sluice.query.search;

import dev.sluice.query.filter.LogFilter;
import java.util.regex.Pattern;

/**
 * A search query.
 *
 * @param text the text of the user; at most {@link #MAX_CHARACTERS}
 * @param filter conditions on log records; only tenant, service, severities, time and attributes of
 *     the record are supported
 * @param offset number of best templates to skip, at least 0
 * @param limit maximum number of templates and of log records, at least 1
 * @param logsPerTemplate maximum number of log records per template, at least 1
 */
public record SearchQuery(
    String text, Mode mode, LogFilter filter, int offset, int limit, int logsPerTemplate) {
  /** The search method. */
  public enum Mode {
    /** The combination of both other modes. */
    HYBRID,
    /** The search by meaning only. */
    SEMANTIC,
    /** The search by words, and by values in log records. */
    KEYWORD
  }

  /** Maximum number of characters of a query. */
  public static final int MAX_CHARACTERS = 1_000;

  /** Maximum number of templates over all pages. */
  public static final int MAX_RESULTS = 100;

  /** Default number of templates of a page. */
  public static final int DEFAULT_LIMIT = 10;

  /** Maximum number of newest log records per template. */
  public static final int MAX_LOGS_PER_TEMPLATE = 10;

  /** The offset of the next page and the fingerprint of the query. */
  private static final Pattern CURSOR = Pattern.compile("([0-9]{1,3})\\.([0-9a-f]{8})");

  /**
   * Returns a copy that continues at a cursor.
   *
   * @param cursor the result of {@link #nextCursor}
   * @throws IllegalArgumentException when the cursor is invalid or belongs to another query
   */
  public SearchQuery after(String cursor) {
    var parts = CURSOR.matcher(cursor);
    if (!parts.matches()
        || Integer.parseInt(parts.group(1)) > MAX_RESULTS
        || !parts.group(2).equals(fingerprint())) {
      throw new IllegalArgumentException("is not a cursor of this query");
    }
    return new SearchQuery(
        text, mode, filter, Integer.parseInt(parts.group(1)), limit, logsPerTemplate);
  }

  /** Returns the cursor of the next page. */
  public String nextCursor() {
    return "%d.%s".formatted(offset + limit, fingerprint());
  }

  /**
   * Returns the same fingerprint in every process: a hash of strings only, since the hash code of
   * an enum constant differs between processes.
   */
  private String fingerprint() {
    return "%08x".formatted((text + mode + filter).hashCode());
  }
}
