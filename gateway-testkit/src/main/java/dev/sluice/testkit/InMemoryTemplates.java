package dev.sluice.testkit;

import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.Dictionary.Entry;
import dev.sluice.core.port.Dictionary.Kind;
import dev.sluice.core.port.LogReader.TooCostly;
import dev.sluice.core.port.TemplateReader;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Reads the templates of a dictionary in memory, and counts what it is told of.
 *
 * <p>Safe for use by many threads; its counts are guarded by this object.
 */
public final class InMemoryTemplates implements TemplateReader {
  private record Row(String tenant, String service, UUID template, int severity, long minute) {}

  private record Log(String tenant, Recent told) {}

  private record Group(UUID template, String service, int severity) {}

  private final InMemoryDictionary dictionary;
  private final Map<Row, Long> counts = new HashMap<>();
  private final List<Log> logs = new ArrayList<>();

  public InMemoryTemplates(InMemoryDictionary dictionary) {
    this.dictionary = dictionary;
  }

  /** A log was stored. */
  public synchronized void count(
      String tenant, String service, UUID template, int severity, long timeNanos) {
    counts.merge(
        new Row(tenant, service, template, severity, Minutes.of(timeNanos)), 1L, Long::sum);
    var id = new LogId(0, logs.size() + 1);
    logs.add(new Log(tenant, new Recent(template, id, timeNanos, severity, service, "")));
  }

  @Override
  public List<Link> links(String tenant, Collection<UUID> ids) {
    var wanted = Set.copyOf(ids);
    return templates(tenant)
        .filter(entry -> wanted.contains(entry.id()))
        .map(entry -> new Link(entry.id(), entry.mergedInto()))
        .toList();
  }

  @Override
  public List<Link> linkedTo(String tenant, Collection<UUID> ids, int limit) {
    var wanted = Set.copyOf(ids);
    return templates(tenant)
        .filter(entry -> entry.mergedInto() != null && wanted.contains(entry.mergedInto()))
        .map(entry -> new Link(entry.id(), entry.mergedInto()))
        .limit(limit)
        .toList();
  }

  private Stream<Entry> templates(String tenant) {
    return dictionary.entries().stream()
        .filter(entry -> entry.kind() == Kind.TEMPLATE && entry.tenant().equals(tenant));
  }

  @Override
  public synchronized List<Count> counts(Question question) {
    var groups = new HashMap<Group, long[]>();
    counts.forEach(
        (row, logs) -> {
          if (isAskedFor(row, question)) {
            var sums =
                groups.computeIfAbsent(
                    new Group(row.template(), row.service(), row.severity()), _ -> new long[2]);
            sums[row.minute() < question.minutes().from() ? 1 : 0] += logs;
          }
        });
    if (groups.size() > MOST_COUNTS) {
      throw new TooCostly("more than %d counts".formatted(MOST_COUNTS));
    }
    var found = new ArrayList<Count>();
    groups.forEach(
        (group, sums) ->
            found.add(
                new Count(group.template(), group.service(), group.severity(), sums[0], sums[1])));
    return found;
  }

  private static boolean isAskedFor(Row row, Question question) {
    var minutes = question.minutes();
    return row.tenant().equals(question.tenant())
        && (question.service() == null || question.service().equals(row.service()))
        && (question.severities().isEmpty() || question.severities().contains(row.severity()))
        && row.severity() >= question.minSeverity()
        && row.minute() >= minutes.before()
        && row.minute() < minutes.to()
        && (question.ids().isEmpty() || question.ids().contains(row.template()));
  }

  @Override
  public synchronized List<Seen> seen(
      String tenant, @Nullable String service, Collection<UUID> ids) {
    var wanted = Set.copyOf(ids);
    var minutes =
        counts.keySet().stream()
            .filter(row -> row.tenant().equals(tenant) && wanted.contains(row.template()))
            .filter(row -> service == null || service.equals(row.service()))
            .collect(Collectors.groupingBy(Row::template, Collectors.summarizingLong(Row::minute)));
    return minutes.entrySet().stream()
        .map(one -> new Seen(one.getKey(), one.getValue().getMin(), one.getValue().getMax()))
        .toList();
  }

  @Override
  public synchronized List<Tick> timeline(Question question, long width) {
    if (width < 1) {
      throw new IllegalArgumentException("spans of " + width + " minutes");
    }
    long from = question.minutes().from();
    var spans = new HashMap<UUID, Map<Long, Long>>();
    counts.forEach(
        (row, logs) -> {
          if (isAskedFor(row, question) && row.minute() >= from) {
            spans
                .computeIfAbsent(row.template(), _ -> new HashMap<>())
                .merge((row.minute() - from) / width, logs, Long::sum);
          }
        });
    var ticks = new ArrayList<Tick>();
    spans.forEach(
        (id, each) -> each.forEach((span, count) -> ticks.add(new Tick(id, span, count))));
    return ticks;
  }

  /** {@inheritDoc} Their messages are not known here. */
  @Override
  public synchronized List<Recent> newest(
      String tenant, @Nullable String service, Map<UUID, Minutes> within, int each) {
    var left = new HashMap<UUID, Integer>();
    return logs.stream()
        .filter(log -> log.tenant().equals(tenant))
        .map(Log::told)
        .filter(log -> service == null || service.equals(log.service()))
        .filter(log -> isWithin(within.get(log.template()), Minutes.of(log.timeNanos())))
        .sorted(
            Comparator.comparingLong(Recent::timeNanos)
                .thenComparingLong(log -> log.id().low())
                .reversed())
        .filter(log -> left.merge(log.template(), 1, Integer::sum) <= each)
        .toList();
  }

  private static boolean isWithin(@Nullable Minutes minutes, long minute) {
    return minutes != null && minutes.from() <= minute && minute < minutes.to();
  }
}
