package dev.sluice.core.read;

import dev.sluice.core.domain.Severity;
import dev.sluice.core.port.Dictionary;
import dev.sluice.core.port.Dictionary.Entry;
import dev.sluice.core.port.Dictionary.Kind;
import dev.sluice.core.port.TemplateReader;
import dev.sluice.core.port.TemplateReader.Count;
import dev.sluice.core.port.TemplateReader.Minutes;
import dev.sluice.core.port.TemplateReader.Question;
import dev.sluice.core.port.TemplateReader.Recent;
import dev.sluice.core.port.TemplateReader.Seen;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What logs say, how often, and what of it is new: templates by their counts, from the counts
 * alone. Only templates at the end of their links are told; what was counted for those that became
 * them is theirs, so that it is no news when a template is generalised.
 *
 * <p>Safe for use by many threads. What is asked here waits in the same queue as questions for
 * logs, each in one place of it.
 */
public final class TemplateReport {
  private final TemplateReader templates;
  private final Dictionary dictionary;
  private final BoundedReader queue;

  /**
   * @param queue whose turn to wait for
   */
  public TemplateReport(TemplateReader templates, Dictionary dictionary, BoundedReader queue) {
    this.templates = templates;
    this.dictionary = dictionary;
    this.queue = queue;
  }

  /** Which templates, and in which order; equal ones by identity. */
  public enum View {
    /** Those that came, the most frequent first. */
    TOP,
    /** Those of the first that never came before; the most frequent first. */
    NEW,
    /** Those that came in the time before and not any more; the most frequent then first. */
    VANISHED,
    /**
     * Those that came more or less often than in the time before, by how many times; one log more
     * is taken for either time, so that one that did not come there has its place too.
     */
    CHANGED
  }

  /**
   * A template that stands for itself.
   *
   * @param text null when the dictionary does not have it
   * @param count logs in the time asked for
   * @param before logs in the equally long time before
   * @param firstMinute of the first log of all, in the service asked for; null when there is none
   * @param lastMinute of the last one
   * @param services logs in the time asked for of every service that had any in either time
   * @param severities the same of levels; logs without one are in none
   */
  public record Template(
      UUID id,
      @Nullable String text,
      long count,
      long before,
      @Nullable Long firstMinute,
      @Nullable Long lastMinute,
      Map<String, Long> services,
      Map<Severity, Long> severities) {

    /** By which part of what it was the count has changed, from -1; empty when it was nothing. */
    public Optional<Double> rateChange() {
      return before == 0 ? Optional.empty() : Optional.of((double) (count - before) / before);
    }
  }

  /**
   * @param total templates in the view
   * @param templates the first of them
   */
  public record Listing(int total, List<Template> templates) {
    public Listing {
      templates = List.copyOf(templates);
    }
  }

  /**
   * @param became the template that an id stands for by now
   * @param merged the others that became it, too
   */
  public record Found(Template became, Set<UUID> merged) {
    public Found {
      merged = Set.copyOf(merged);
    }
  }

  /**
   * The templates of a view.
   *
   * @param question of no templates in particular
   * @param limit templates at most, from 1
   * @throws BoundedReader.Busy when too many are asking
   */
  public Listing list(Question question, View view, int limit) throws InterruptedException {
    return queue.bounded(() -> listed(question, view, limit));
  }

  /**
   * What became of one template; empty when the dictionary has none with this id.
   *
   * @param question of no templates in particular
   * @throws BoundedReader.Busy when too many are asking
   */
  public Optional<Found> find(Question question, UUID id) throws InterruptedException {
    return queue.bounded(() -> found(question, id));
  }

  /**
   * All that is told of some templates.
   *
   * @param each by identity
   * @param begins the first minute of the first span
   * @param width minutes in a span
   */
  public record Told(Map<UUID, Portrait> each, long begins, long width) {
    public Told {
      each = Map.copyOf(each);
    }
  }

  /**
   * @param spans logs in each span of the time asked for, as far as any of the templates came in it
   * @param newest logs, the newest first
   */
  public record Portrait(Template template, List<Long> spans, List<Recent> newest) {
    public Portrait {
      spans = List.copyOf(spans);
      newest = List.copyOf(newest);
    }
  }

  /**
   * What became of each of these; itself where there is no link.
   *
   * @param ids at most {@link TemplateReader#MOST_IDS}
   * @throws BoundedReader.Busy when too many are asking
   */
  public Map<UUID, UUID> became(String tenant, Collection<UUID> ids) throws InterruptedException {
    return queue.bounded(() -> new TemplateLinks(templates, tenant).ends(ids));
  }

  /**
   * Tells of some templates: how often and when they came, and their newest logs.
   *
   * @param question of no templates in particular
   * @param ends templates that stand for themselves, at most {@link TemplateReader#MOST_NEWEST}
   * @param spans into which to divide the time, from 1
   * @param newest logs of each at most, from 1
   * @throws BoundedReader.Busy when too many are asking
   */
  public Told tell(Question question, Collection<UUID> ends, int spans, int newest)
      throws InterruptedException {
    return queue.bounded(() -> portraits(question, ends, spans, newest));
  }

  private Told portraits(Question question, Collection<UUID> ends, int spans, int newest)
      throws InterruptedException {
    var groups =
        new TemplateLinks(templates, question.tenant()).leadingTo(ends, TemplateReader.MOST_IDS);
    var ofGroups = question.of(groups.keySet());
    var tallies = new LinkedHashMap<UUID, Tally>();
    ends.forEach(end -> tallies.put(end, new Tally(end)));
    for (var count : templates.counts(ofGroups)) {
      tallies.computeIfAbsent(groups.getOrDefault(count.id(), count.id()), Tally::new).add(count);
    }
    var each = told(question, List.copyOf(tallies.values()));
    var minutes = cameIn(question.minutes(), each);
    long width = Math.ceilDiv(minutes.to() - minutes.from(), spans);
    var ticks = ticks(ofGroups.in(minutes), width, groups, spans);
    var logs = newest(question, each, groups, newest);
    var portraits = new HashMap<UUID, Portrait>();
    for (var template : each) {
      portraits.put(
          template.id(),
          new Portrait(
              template,
              ticks.getOrDefault(template.id(), List.of()),
              logs.getOrDefault(template.id(), List.of())));
    }
    return new Told(portraits, minutes.from(), width);
  }

  /** Of the minutes asked for those between the first and the last log of any. */
  private static Minutes cameIn(Minutes asked, List<Template> templates) {
    long from = asked.to();
    long to = asked.from();
    for (var template : templates) {
      if (template.firstMinute() != null && template.lastMinute() != null) {
        from = Math.min(from, template.firstMinute());
        to = Math.max(to, template.lastMinute() + 1);
      }
    }
    from = Math.max(from, asked.from());
    to = Math.min(to, asked.to());
    return from < to ? new Minutes(from, to) : new Minutes(asked.from(), asked.from() + 1);
  }

  private Map<UUID, List<Long>> ticks(
      Question question, long width, Map<UUID, UUID> groups, int spans)
      throws InterruptedException {
    var ticks = new HashMap<UUID, List<Long>>();
    for (var tick : templates.timeline(question, width)) {
      var end = groups.getOrDefault(tick.id(), tick.id());
      var counts = ticks.computeIfAbsent(end, _ -> new ArrayList<>(Collections.nCopies(spans, 0L)));
      int span = Math.toIntExact(tick.span());
      counts.set(span, counts.get(span) + tick.count());
    }
    return ticks;
  }

  /** Looked for where the last of each is known to be; else in all the time asked for. */
  private Map<UUID, List<Recent>> newest(
      Question question, List<Template> each, Map<UUID, UUID> groups, int most)
      throws InterruptedException {
    var byEnd = new HashMap<UUID, Minutes>();
    for (var template : each) {
      var last = template.lastMinute();
      var minutes = question.minutes();
      byEnd.put(
          template.id(),
          last != null && minutes.from() <= last && last < minutes.to()
              ? new Minutes(last, last + 1)
              : minutes);
    }
    var within = new LinkedHashMap<UUID, Minutes>();
    groups.forEach(
        (id, end) -> {
          var minutes = byEnd.get(end);
          if (minutes != null && within.size() < TemplateReader.MOST_NEWEST) {
            within.put(id, minutes);
          }
        });
    var newest = new HashMap<UUID, List<Recent>>();
    for (var log : templates.newest(question.tenant(), question.service(), within, most)) {
      var logs =
          newest.computeIfAbsent(
              groups.getOrDefault(log.template(), log.template()), _ -> new ArrayList<>());
      if (logs.size() < most) {
        logs.add(log);
      }
    }
    return newest;
  }

  /**
   * When logs of a template came, as it was counted; empty when the dictionary has none with this
   * id.
   *
   * @throws BoundedReader.Busy when too many are asking
   */
  public Optional<Minutes> minutes(String tenant, UUID id) throws InterruptedException {
    return queue.bounded(() -> cameIn(tenant, id));
  }

  private Optional<Minutes> cameIn(String tenant, UUID id) throws InterruptedException {
    if (templates.links(tenant, Set.of(id)).isEmpty()) {
      return Optional.empty();
    }
    var links = new TemplateLinks(templates, tenant);
    var group = links.leadingTo(links.ends(Set.of(id)).values(), TemplateReader.MOST_IDS).keySet();
    var seen = templates.seen(tenant, null, group);
    return Optional.of(
        seen.isEmpty()
            ? Minutes.ALL
            : new Minutes(
                seen.stream().mapToLong(Seen::first).min().orElseThrow(),
                seen.stream().mapToLong(Seen::last).max().orElseThrow() + 1));
  }

  private Listing listed(Question question, View view, int limit) throws InterruptedException {
    var tallies = tallies(question);
    var wanted =
        switch (view) {
          case TOP -> those(tallies, tally -> tally.count > 0);
          case NEW -> unseenBefore(question, those(tallies, tally -> tally.count > 0));
          case VANISHED -> those(tallies, tally -> tally.count == 0);
          case CHANGED -> those(tallies, tally -> tally.count != tally.before);
        };
    var order =
        switch (view) {
          case TOP, NEW -> Comparator.comparingLong((Tally tally) -> tally.count);
          case VANISHED -> Comparator.comparingLong((Tally tally) -> tally.before);
          case CHANGED ->
              Comparator.comparingDouble(Tally::times)
                  .thenComparingLong(tally -> Math.max(tally.count, tally.before));
        };
    var first =
        wanted.stream()
            .sorted(order.reversed().thenComparing(tally -> tally.id))
            .limit(limit)
            .toList();
    return new Listing(wanted.size(), told(question, first));
  }

  private interface Condition {
    boolean holds(Tally tally);
  }

  private static List<Tally> those(Collection<Tally> tallies, Condition condition) {
    return tallies.stream().filter(condition::holds).toList();
  }

  /** What was counted, by the ends of links. */
  private Collection<Tally> tallies(Question question) throws InterruptedException {
    var counts = templates.counts(question);
    var ids = counts.stream().map(Count::id).collect(Collectors.toCollection(HashSet::new));
    var ends = new TemplateLinks(templates, question.tenant()).ends(ids);
    var tallies = new HashMap<UUID, Tally>();
    for (var count : counts) {
      var end = ends.getOrDefault(count.id(), count.id());
      tallies.computeIfAbsent(end, Tally::new).add(count);
    }
    return tallies.values();
  }

  private List<Tally> unseenBefore(Question question, List<Tally> tallies)
      throws InterruptedException {
    var seen = seen(question, groups(question, tallies));
    return those(
        tallies,
        tally -> {
          var times = seen.get(tally.id);
          return times == null || times.first() >= question.minutes().from();
        });
  }

  /** All that became these, each with the one it became. */
  private Map<UUID, UUID> groups(Question question, Collection<Tally> tallies)
      throws InterruptedException {
    return new TemplateLinks(templates, question.tenant())
        .leadingTo(tallies.stream().map(tally -> tally.id).toList(), TemplateReader.MOST_COUNTS);
  }

  /** By the ends of links. */
  private Map<UUID, Seen> seen(Question question, Map<UUID, UUID> groups)
      throws InterruptedException {
    var seen = new HashMap<UUID, Seen>();
    for (var some : TemplateLinks.portions(groups.keySet())) {
      for (var one : templates.seen(question.tenant(), question.service(), some)) {
        var end = groups.getOrDefault(one.id(), one.id());
        seen.merge(
            end,
            new Seen(end, one.first(), one.last()),
            (a, b) -> new Seen(end, Math.min(a.first(), b.first()), Math.max(a.last(), b.last())));
      }
    }
    return seen;
  }

  private List<Template> told(Question question, List<Tally> tallies) throws InterruptedException {
    var seen = seen(question, groups(question, tallies));
    var ids = tallies.stream().map(tally -> tally.id).toList();
    var texts =
        dictionary.find(question.tenant(), Kind.TEMPLATE, ids).stream()
            .collect(Collectors.toMap(Entry::id, Entry::text));
    return tallies.stream()
        .map(tally -> tally.told(texts.get(tally.id), seen.get(tally.id)))
        .toList();
  }

  private Optional<Found> found(Question question, UUID id) throws InterruptedException {
    var links = new TemplateLinks(templates, question.tenant());
    var end = links.ends(Set.of(id)).getOrDefault(id, id);
    var entry = dictionary.find(question.tenant(), Kind.TEMPLATE, Set.of(end));
    if (entry.isEmpty()) {
      return Optional.empty();
    }
    var group = links.leadingTo(Set.of(end), TemplateReader.MOST_IDS);
    var tally = new Tally(end);
    templates.counts(question.of(group.keySet())).forEach(tally::add);
    var seen = seen(question, group).get(end);
    var merged = new HashSet<>(group.keySet());
    merged.remove(end);
    return Optional.of(new Found(tally.told(entry.getFirst().text(), seen), merged));
  }

  /** What is added up for one template. */
  private static final class Tally {
    private final UUID id;
    private final Map<String, Long> services = new TreeMap<>();
    private final Map<Severity, Long> severities = new EnumMap<>(Severity.class);
    private long count;
    private long before;

    Tally(UUID id) {
      this.id = id;
    }

    void add(Count counted) {
      count += counted.count();
      before += counted.before();
      services.merge(counted.service(), counted.count(), Long::sum);
      var severity = Severity.of(counted.severityNumber());
      if (severity != null) {
        severities.merge(severity, counted.count(), Long::sum);
      }
    }

    /** How many times more or less than before, at least 1. */
    double times() {
      return (Math.max(count, before) + 1.0) / (Math.min(count, before) + 1.0);
    }

    Template told(@Nullable String text, @Nullable Seen seen) {
      return new Template(
          id,
          text,
          count,
          before,
          seen == null ? null : (Long) seen.first(),
          seen == null ? null : (Long) seen.last(),
          services,
          severities);
    }
  }
}
