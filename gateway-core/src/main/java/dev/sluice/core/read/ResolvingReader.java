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
  private final KnownLinks links;

  public ResolvingReader(LogReader reader, KnownLinks links) {
    this.reader = reader;
    this.links = links;
  }

  /**
   * {@inheritDoc} Who asks for a template is shown the links he was understood by; all others those
   * of a moment ago, for which mostly nothing has to be asked.
   */
  @Override
  public Page read(Query query) throws InterruptedException {
    var filter = query.filter();
    var tenant = filter.tenant();
    var now = filter.templates().isEmpty() ? null : links.now(tenant);
    var resolved = now == null ? filter : resolved(filter, now);
    var page = reader.read(new Query(resolved, query.limit(), query.after()));
    if (page.logs().stream().allMatch(log -> log.templateId() == null)) {
      return page;
    }
    var known = now == null ? links.recently(tenant) : now;
    return new Page(page.logs().stream().map(log -> shown(log, known)).toList(), page.next());
  }

  @Override
  public Span span(LogFilter filter) throws InterruptedException {
    return reader.span(resolved(filter));
  }

  @Override
  public List<Bucket> histogram(LogFilter filter, long originNanos, long widthNanos)
      throws InterruptedException {
    return reader.histogram(resolved(filter), originNanos, widthNanos);
  }

  private LogFilter resolved(LogFilter filter) throws InterruptedException {
    return filter.templates().isEmpty() ? filter : resolved(filter, links.now(filter.tenant()));
  }

  private static LogFilter resolved(LogFilter filter, TemplateLinks known) {
    var ends = known.ends(filter.templates()).values();
    return filter.ofTemplates(List.copyOf(known.leadingTo(ends, LogFilter.MAX_GROUP).keySet()));
  }

  private static StoredLog shown(StoredLog log, TemplateLinks links) {
    var stored = log.templateId();
    var end = stored == null ? null : links.end(stored);
    return Objects.equals(end, stored) ? log : log.ofTemplate(end);
  }
}
