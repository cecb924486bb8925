package dev.sluice.query.port;

import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.TemplateStats.MinuteRange;
import dev.sluice.query.port.TemplateStats.TemplateQuery;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

/**
 * The store of template vectors. It has one row for each tenant, template and embedding version; a
 * repeated write replaces the row.
 *
 * <p>An embedding version identifies the model and the method that computed the vectors. Each query
 * reads the rows of one version only.
 *
 * <p>Thread-safe. All methods block; an interrupt of the thread also cancels the query in the
 * store. A query that exceeds its time or memory limit throws {@link
 * LogReader.QueryTooExpensiveException}; any other exception means that the store is unavailable.
 */
public interface TemplateVectorStore {

  /** The maximum number of ids in one query. */
  int MAX_IDS = 1_000;

  /** Writes rows; returns when the store has confirmed them. */
  void write(String embeddingVersion, List<VectorRow> rows) throws InterruptedException;

  /** Returns the tenants that have templates in the dictionary. */
  Set<String> tenants() throws InterruptedException;

  /**
   * Returns templates of the dictionary that have no row, ordered by the time at which they were
   * first seen. Merged templates are included, since logs are stored with their ids.
   *
   * @param excluded the ids of templates to omit, at most {@link #MAX_IDS}
   * @param limit the maximum number of templates, at least 1
   */
  List<UnembeddedTemplate> findUnembedded(
      String embeddingVersion, String tenant, Collection<UUID> excluded, int limit)
      throws InterruptedException;

  /**
   * Merges the parts that many small writes have left, since each query must open every part. Call
   * it when no more rows are expected for some time. An implementation may do nothing.
   */
  void compact(String embeddingVersion) throws InterruptedException;

  /** Returns the number of templates of the dictionary that have no row yet. */
  long backlog(String embeddingVersion, String tenant) throws InterruptedException;

  /**
   * Returns one log of each template within its range of minutes, by event time. The result has no
   * element for a template without logs in its range.
   *
   * @param minutes the range by template id, for at most {@link #MAX_IDS} templates
   */
  Map<UUID, TemplateSample> samples(String tenant, Map<UUID, MinuteRange> minutes)
      throws InterruptedException;

  /**
   * Returns the ids of the templates with which the matching logs are stored.
   *
   * @param filter the conditions that the logs match
   * @throws LogReader.QueryTooExpensiveException when there are more than {@link
   *     TemplateStats#MAX_IDS} templates
   */
  Set<UUID> templatesMatching(LogFilter filter) throws InterruptedException;

  /**
   * Returns the nearest templates to a vector: first the templates that contain all keywords, then
   * the others; within each group the nearest first. With many templates the search is approximate,
   * so that a few of the nearest may be missing.
   *
   * @param query the tenant, service, levels and minutes; only templates with which such logs are
   *     stored are candidates
   * @param vector the vector to compare with, of length 1
   * @param keywords the keywords, of letters and digits in lower case; empty to rank by distance
   *     only
   * @param limit the maximum number of templates, at least 1
   */
  List<Candidate> nearest(
      String embeddingVersion,
      TemplateQuery query,
      float[] vector,
      List<String> keywords,
      int limit)
      throws InterruptedException;

  /**
   * Returns the templates that contain the most keywords, ordered by their number, greatest first.
   * A keyword may occur in the template, in the name of its service or component, or in its sample.
   *
   * @param keywords the keywords, of letters and digits in lower case, at least one
   * @param limit the maximum number of templates, at least 1
   */
  List<Candidate> matchKeywords(
      String embeddingVersion, TemplateQuery query, List<String> keywords, int limit)
      throws InterruptedException;

  /**
   * Returns the templates of the dictionary without a row whose text contains the most keywords,
   * ordered by their number, greatest first.
   *
   * @param keywords the keywords, of letters and digits in lower case, at least one
   * @param limit the maximum number of templates, at least 1
   */
  List<Candidate> matchKeywordsUnembedded(
      String embeddingVersion, TemplateQuery query, List<String> keywords, int limit)
      throws InterruptedException;

  /**
   * Returns the words of all templates of the dictionary that are not merged into others. A word
   * that is not in this set can occur in logs only within the variable parts of messages.
   *
   * @param limit the maximum number of words, at least 1
   * @return the words, of letters and digits in lower case
   * @throws LogReader.QueryTooExpensiveException when there are more words, or when the query takes
   *     more than one second: callers can work without the result
   */
  Set<String> vocabulary(String tenant, int limit) throws InterruptedException;

  /**
   * Returns the stored vectors of the templates. The result has no element for a template without a
   * row.
   *
   * @param ids the ids of the templates, at most {@link #MAX_IDS}
   */
  List<Vectors> find(String embeddingVersion, String tenant, Collection<UUID> ids)
      throws InterruptedException;

  /**
   * A row to write.
   *
   * @param keywords the words of the template, of its service and component, and of its sample, in
   *     lower case
   * @param vectors the vectors of the template
   */
  record VectorRow(String tenant, String keywords, Vectors vectors) {}

  /**
   * The vectors of a template.
   *
   * @param id the id of the template
   * @param sentenceVector the vector of the whole text, of length 1
   * @param tokenVectors the concatenated vectors of the tokens, with one byte for each component;
   *     empty when the model provides none
   */
  record Vectors(UUID id, float[] sentenceVector, byte[] tokenVectors) {}

  /**
   * A sample log of a template.
   *
   * @param component the component of the service that wrote the log, such as the name of a logger;
   *     may be empty
   */
  record TemplateSample(String service, String component, String body) {}

  /**
   * A template that a query found.
   *
   * @param score the cosine similarity, from -1 to 1, or the number of keywords in the template
   * @param matchesAllKeywords whether the template contains all keywords and there is at least one
   */
  record Candidate(UUID id, double score, boolean matchesAllKeywords) {}

  /**
   * A template without a row.
   *
   * @param firstSeenNanos the receive time of its first log, in nanoseconds since 1970
   */
  record UnembeddedTemplate(UUID id, String text, long firstSeenNanos) {}
}
