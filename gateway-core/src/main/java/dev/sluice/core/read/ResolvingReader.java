package dev.sluice.core.read;

import dev.sluice.core.port.LogReader;
import dev.sluice.core.query.LogFilter;
import java.util.List;
import java.util.Objects;

/**
 * A reader to whom a template is what became of it: a log is shown with the template at the end of
 * its links, and who asks for a template is given the logs of all that became it. Safe for use by
 * many threads.
 */
public final class ResolvingReader implements LogReader {
  private final LogReader reader;
  private final Links links;

  private ResolvingReader(LogReader reader, Links links) {
    this.reader = reader;
    this.links = links;
  }

  /** By the links as they are now, for which every question about templates asks. */
  public ResolvingReader(LogReader reader, KnownLinks links) {
    this(reader, (Links) links::now);
  }

  /** By those of a moment ago, for those who ask often and would not know the difference. */
  public static ResolvingReader recently(LogReader reader, KnownLinks links) {
    return new ResolvingReader(reader, (Links) links::recently);
  }

  private interface Links {
    TemplateLinks of(String tenant) throws InterruptedException;
  }

  @Override
  public LogPage read(Query query) throws InterruptedException {
    var filter = resolved(query.filter());
    var page = reader.read(new Query(filter, query.limit(), query.after()));
    if (page.logs().stream().allMatch(log -> log.templateId() == null)) {
      return page;
    }
    var known = links.of(filter.tenant());
    return new LogPage(page.logs().stream().map(log -> shown(log, known)).toList(), page.next());
  }

  @Override
  public TimeExtent timeExtent(LogFilter filter) throws InterruptedException {
    return reader.timeExtent(resolved(filter));
  }

  @Override
  public List<HistogramBucket> histogram(LogFilter filter, long originNanos, long widthNanos)
      throws InterruptedException {
    return reader.histogram(resolved(filter), originNanos, widthNanos);
  }

  private LogFilter resolved(LogFilter filter) throws InterruptedException {
    if (filter.templates().isEmpty()) {
      return filter;
    }
    var known = links.of(filter.tenant());
    var ends = known.ends(filter.templates()).values();
    return filter.ofTemplates(List.copyOf(known.leadingTo(ends, LogFilter.MAX_GROUP).keySet()));
  }

  private static StoredLog shown(StoredLog log, TemplateLinks links) {
    var stored = log.templateId();
    var end = stored == null ? null : links.end(stored);
    return Objects.equals(end, stored) ? log : log.withTemplateId(end);
  }
}
