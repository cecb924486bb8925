package dev.sluice.core.read;

import dev.sluice.core.port.LogReader;
import dev.sluice.core.port.TemplateReader;
import dev.sluice.core.query.LogFilter;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A reader to whom a template is what became of it: a log is shown with the template at the end of
 * its links, and who asks for a template is given the logs of all that became it. Safe for use by
 * many threads.
 */
public final class ResolvingReader implements LogReader {
  private final LogReader reader;
  private final TemplateReader templates;

  public ResolvingReader(LogReader reader, TemplateReader templates) {
    this.reader = reader;
    this.templates = templates;
  }

  /** {@inheritDoc} A few questions more, when logs of the page have templates. */
  @Override
  public Page read(Query query) throws InterruptedException {
    var filter = resolved(query.filter());
    var page = reader.read(new Query(filter, query.limit(), query.after()));
    var ids = page.logs().stream().map(StoredLog::templateId).filter(Objects::nonNull).toList();
    if (ids.isEmpty()) {
      return page;
    }
    var ends = new TemplateLinks(templates, filter.tenant()).ends(ids);
    return new Page(
        page.logs().stream().map(log -> shown(log, ends.get(log.templateId()))).toList(),
        page.next());
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
    if (filter.templates().isEmpty()) {
      return filter;
    }
    var links = new TemplateLinks(templates, filter.tenant());
    var ends = links.ends(filter.templates()).values();
    return filter.ofTemplates(List.copyOf(links.leadingTo(ends, LogFilter.MAX_GROUP).keySet()));
  }

  private static StoredLog shown(StoredLog log, @Nullable UUID template) {
    return Objects.equals(template, log.templateId()) ? log : log.ofTemplate(template);
  }
}
