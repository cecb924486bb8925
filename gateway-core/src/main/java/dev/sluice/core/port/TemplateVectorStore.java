package dev.sluice.core.port;

import dev.sluice.core.port.TemplateStats.MinuteRange;
import dev.sluice.core.port.TemplateStats.TemplateQuery;
import dev.sluice.core.query.LogFilter;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

/**
 * Vectors of templates, one row for each template of a tenant and each recipe they were made by.
 * Writing a row again replaces it.
 *
 * <p>Rows of different recipes never meet: every question is about one. Safe for use by many
 * threads; all methods block, and interrupting the thread ends the question in the store too. What
 * takes more time or memory than a query may is {@link LogReader.QueryTooExpensiveException}; any
 * other exception means that the store cannot answer at the moment.
 */
public interface TemplateVectorStore {

  /** Ids in one question. */
  int MAX_IDS = 1_000;

  /** Returns once they are safe. */
  void write(String embeddingVersion, List<VectorRow> rows) throws InterruptedException;

  /**
   * The first templates of the dictionary that have no row, in the order in which they were seen
   * first; linked ones too, since logs were stored with them.
   *
   * @param excluded leaves these out, at most {@link #MAX_IDS}
   * @param limit templates at most, from 1
   */
  List<UnembeddedTemplate> findUnembedded(
      String embeddingVersion, String tenant, Collection<UUID> excluded, int limit)
      throws InterruptedException;

  /**
   * Says that no more rows will come for a while, so that it is worth putting together what many
   * writes have left in pieces, each of which every question has to open. May do nothing.
   */
  void compact(String embeddingVersion) throws InterruptedException;

  /** How many templates of the dictionary have no row yet. */
  long backlog(String embeddingVersion, String tenant) throws InterruptedException;

  /**
   * A log of each of these templates from these minutes of the logs' own time; what has none there
   * is left out.
   *
   * @param minutes of at most {@link #MAX_IDS} templates
   */
  Map<UUID, TemplateSample> samples(String tenant, Map<UUID, MinuteRange> minutes)
      throws InterruptedException;

  /**
   * The templates that logs were stored with.
   *
   * @param filter which logs
   * @throws LogReader.QueryTooExpensiveException when they are more than {@link
   *     TemplateStats#MAX_IDS}
   */
  Set<UUID> templatesMatching(LogFilter filter) throws InterruptedException;

  /**
   * The templates that lie closest to a vector, those in which all words occur before all others,
   * and then the closest first; many of them are not looked at one by one, and then a few of the
   * closest may be missing.
   *
   * @param query which templates come into question: those that logs of the tenant, service, levels
   *     and minutes were stored with
   * @param vector of length 1
   * @param keywords letters and digits in lower case; none when words are of no account
   * @param limit templates at most, from 1
   */
  List<Candidate> nearest(
      String embeddingVersion,
      TemplateQuery query,
      float[] vector,
      List<String> keywords,
      int limit)
      throws InterruptedException;

  /**
   * The templates in which most of these words occur, those with more of them first: in the
   * template, the names of its service and component, or its sample.
   *
   * @param keywords letters and digits in lower case, at least one
   * @param limit templates at most, from 1
   */
  List<Candidate> matchKeywords(
      String embeddingVersion, TemplateQuery query, List<String> keywords, int limit)
      throws InterruptedException;

  /**
   * The templates of the dictionary that have no row, in whose text most of these words occur,
   * those with more of them first.
   *
   * @param keywords letters and digits in lower case, at least one
   * @param limit templates at most, from 1
   */
  List<Candidate> matchKeywordsUnembedded(
      String embeddingVersion, TemplateQuery query, List<String> keywords, int limit)
      throws InterruptedException;

  /**
   * The words of all templates of the dictionary that did not become others: what is in none of
   * them can be in logs only where values are.
   *
   * @param limit from 1
   * @return letters and digits in lower case
   * @throws LogReader.QueryTooExpensiveException when there are more, or it takes longer than what
   *     can be done without may: a second
   */
  Set<String> vocabulary(String tenant, int limit) throws InterruptedException;

  /**
   * What is stored of these.
   *
   * @param ids at most {@link #MAX_IDS}
   */
  List<Vectors> find(String embeddingVersion, String tenant, Collection<UUID> ids)
      throws InterruptedException;

  /**
   * @param keywords of the template and what belongs to it, in lower case
   * @param vectors what was made of it
   */
  record VectorRow(String tenant, String keywords, Vectors vectors) {}

  /**
   * @param sentenceVector of length 1
   * @param tokenVectors the vectors of tokens, one after the other, a byte for each number; empty
   *     where the model tells none
   */
  record Vectors(UUID id, float[] sentenceVector, byte[] tokenVectors) {}

  /**
   * A log that has a template.
   *
   * @param component what of the service wrote it, such as the name of a logger; may be empty
   */
  record TemplateSample(String service, String component, String body) {}

  /**
   * @param score how close it lies, from -1 to 1; or how many of the words occur in it
   * @param matchesAllKeywords whether all the words occur in it, when there are any
   */
  record Candidate(UUID id, double score, boolean matchesAllKeywords) {}

  /**
   * A template without a row.
   *
   * @param firstSeenNanos receipt of the first log that had it, nanoseconds since 1970
   */
  record UnembeddedTemplate(UUID id, String text, long firstSeenNanos) {}
}
