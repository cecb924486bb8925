package dev.sluice.query.search;

import dev.sluice.query.port.LogReader.StoredLog;
import dev.sluice.query.read.TemplateSummaries.TemplateSummary;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A page of results.
 *
 * @param hits templates, the best first
 * @param startMinute the first minute of the first time bucket, the same for all hits
 * @param bucketMinutes minutes in a bucket
 * @param logs newest records that contain values of the query, or words that no template contains
 * @param hasMore whether there are more templates
 * @param backlog number of templates without vectors, which the search by meaning cannot find yet
 * @param semanticUnavailableReason the reason for which the search by meaning failed; null when it
 *     succeeded or was not requested
 */
public record SearchResult(
    List<Hit> hits,
    long startMinute,
    long bucketMinutes,
    List<StoredLog> logs,
    boolean hasMore,
    long backlog,
    @Nullable String semanticUnavailableReason) {
  public SearchResult {
    hits = List.copyOf(hits);
    logs = List.copyOf(logs);
  }

  /** The reason for which a template matches. */
  public enum MatchReason {
    WORDS,
    MEANING,
    /** A log record of the template contains a value of the query. */
    VALUE
  }

  /**
   * A template that matches.
   *
   * @param score the greater the better; comparable within one result only
   */
  public record Hit(TemplateSummary summary, double score, Set<MatchReason> reasons) {
    public Hit {
      reasons = Set.copyOf(reasons);
    }
  }
}
