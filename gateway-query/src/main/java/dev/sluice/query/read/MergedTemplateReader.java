package dev.sluice.query.read;

import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader;
import java.util.List;
import java.util.Objects;

/**
 * A {@link LogReader} that applies the merge links of templates: a returned log record has the
 * canonical template of its stored template, and a filter for a template matches the records of all
 * templates that were merged into the same canonical template. Safe for use by many threads.
 */
public final class MergedTemplateReader extends DelegatingReader {
  private final LogReader reader;
  private final LinkSource linkSource;

  private MergedTemplateReader(LogReader reader, LinkSource linkSource) {
    this.reader = reader;
    this.linkSource = linkSource;
  }

  /** Creates a reader that loads the current links for each query that involves templates. */
  public MergedTemplateReader(LogReader reader, TemplateLinkCache links) {
    this(reader, (LinkSource) links::loadCurrent);
  }

  /**
   * Returns a reader that uses cached links, for frequent queries to which slightly old links do
   * not matter.
   */
  public static MergedTemplateReader withCachedLinks(LogReader reader, TemplateLinkCache links) {
    return new MergedTemplateReader(reader, (LinkSource) links::getCached);
  }

  private interface LinkSource {
    TemplateMergeGraph mergeGraph(String tenant) throws InterruptedException;
  }

  @Override
  <T> T execute(LogFilter filter, FilterQuery<T> query) throws InterruptedException {
    return query.execute(reader, resolve(filter));
  }

  @Override
  public LogPage read(Query query) throws InterruptedException {
    var page = super.read(query);
    if (page.logs().stream().allMatch(log -> log.templateId() == null)) {
      return page;
    }
    var graph = linkSource.mergeGraph(query.filter().tenant());
    return new LogPage(
        page.logs().stream().map(log -> withCanonicalTemplate(log, graph)).toList(), page.next());
  }

  private LogFilter resolve(LogFilter filter) throws InterruptedException {
    if (filter.templates().isEmpty()) {
      return filter;
    }
    var graph = linkSource.mergeGraph(filter.tenant());
    var canonicalIds = graph.canonicalIds(filter.templates()).values();
    return filter.withTemplates(
        List.copyOf(graph.membersOf(canonicalIds, LogFilter.MAX_EXPANDED_TEMPLATES).keySet()));
  }

  private static StoredLog withCanonicalTemplate(StoredLog log, TemplateMergeGraph links) {
    var stored = log.templateId();
    var canonicalId = stored == null ? null : links.canonical(stored);
    return Objects.equals(canonicalId, stored) ? log : log.withTemplateId(canonicalId);
  }
}
