package dev.sluice.core.search;

import dev.sluice.core.port.Embedder;
import dev.sluice.core.port.LogReader;
import dev.sluice.core.port.LogReader.StoredLog;
import dev.sluice.core.port.TemplateReader.Minutes;
import dev.sluice.core.port.TemplateReader.Question;
import dev.sluice.core.port.TemplateVectors;
import dev.sluice.core.port.TemplateVectors.Candidate;
import dev.sluice.core.port.TemplateVectors.Vectors;
import dev.sluice.core.query.LogFilter;
import dev.sluice.core.query.TextQuery;
import dev.sluice.core.read.BoundedReader;
import dev.sluice.core.read.TemplateReport;
import dev.sluice.core.read.TemplateReport.Portrait;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Finds templates by what they mean and by the words they have, and logs by the values in them.
 *
 * <p>Words that all occur in a template are worth more than any meaning, and values found in logs
 * more than words: who knows what a log says is looking for it. Safe for use by many threads; all
 * methods block.
 */
public final class SearchLogs {
  /** Templates that are held against a question closely; all others lie too far away. */
  private static final int RESCORED = 100;

  /** More than any closeness there is. */
  private static final double ALL_WORDS = 20;

  private static final double VALUE = 2 * ALL_WORDS;

  /** Into which the time of an answer is divided. */
  private static final int SPANS = 30;

  private final TemplateVectors vectors;
  private final TemplateReport report;
  private final BoundedReader queue;
  private final Recipe recipe;

  /**
   * @param queue reads logs, and tells whose turn it is to ask the store
   */
  public SearchLogs(
      TemplateVectors vectors, TemplateReport report, BoundedReader queue, Embedder embedder) {
    this.vectors = vectors;
    this.report = report;
    this.queue = queue;
    recipe = new Recipe(embedder, Glossary.bundled());
  }

  /** By what to look. */
  public enum Mode {
    /** By all that follows. */
    HYBRID,
    /** By meaning alone. */
    SEMANTIC,
    /** By words, and by values in logs. */
    KEYWORD
  }

  /** By what a template was found. */
  public enum Why {
    WORDS,
    MEANING,
    /** A log that has it holds a value that was asked for. */
    VALUE
  }

  /**
   * @param text what somebody wants to know; at most {@link #MOST_CHARACTERS}
   * @param filter which logs come into question; by tenant, service, levels, time and attributes
   *     alone
   * @param from how many of the best templates to leave out, from 0
   * @param limit templates and logs at most, from 1
   * @param newest logs of each template at most, from 1
   */
  public record Request(String text, Mode mode, LogFilter filter, int from, int limit, int newest) {
    /** A question, and not a document. */
    public static final int MOST_CHARACTERS = 1_000;

    /** Templates that can be gone through. */
    public static final int MOST = 100;

    /** Templates, where nobody says how many. */
    public static final int USUAL = 10;

    /** Newest logs of a template. */
    public static final int MOST_NEWEST = 10;

    /** What a cursor stands for. */
    private static final Pattern CURSOR = Pattern.compile("[0-9]{1,3}");

    /**
     * How many templates were shown before.
     *
     * @param cursor of {@link #next}
     * @throws IllegalArgumentException when it is none
     */
    public static int place(String cursor) {
      if (!CURSOR.matcher(cursor).matches() || Integer.parseInt(cursor) > MOST) {
        throw new IllegalArgumentException("is none that was given out");
      }
      return Integer.parseInt(cursor);
    }

    /** The cursor of what comes after. */
    public String next() {
      return String.valueOf(from + limit);
    }
  }

  /**
   * @param hits templates, the best first
   * @param begins the first minute of the first span of each
   * @param width minutes in a span
   * @param logs in which the values that were asked for occur, the newest first
   * @param more whether there are more templates
   * @param backlog templates that have no vectors yet, and are not found by meaning
   * @param withoutMeaning why meaning had no part in it; null when it had, or was not to
   */
  public record Answer(
      List<Hit> hits,
      long begins,
      long width,
      List<StoredLog> logs,
      boolean more,
      long backlog,
      @Nullable String withoutMeaning) {
    public Answer {
      hits = List.copyOf(hits);
      logs = List.copyOf(logs);
    }
  }

  /**
   * @param score what is more is better; comparable within one answer
   */
  public record Hit(Portrait portrait, double score, Set<Why> why) {
    public Hit {
      why = Set.copyOf(why);
    }
  }

  /** What speaks for a template. */
  private static final class Merit {
    private final Set<Why> why = EnumSet.noneOf(Why.class);
    private double score;

    void add(double points, Why reason) {
      score += points;
      why.add(reason);
    }

    Merit better(Merit other) {
      var better = score >= other.score ? this : other;
      better.why.addAll(why);
      better.why.addAll(other.why);
      return better;
    }
  }

  /**
   * @throws BoundedReader.Busy when too many are asking
   * @throws LogReader.TooCostly when the question needs more than one may
   */
  public Answer search(Request request) throws InterruptedException {
    var scope = scope(request.filter());
    if (scope == null) {
      return new Answer(List.of(), 0, 1, List.of(), false, 0, null);
    }
    var words = Wording.telling(request.text());
    var merits = new HashMap<UUID, Merit>();
    var without = request.mode() == Mode.KEYWORD ? null : byMeaning(request, scope, merits);
    boolean byWords = request.mode() != Mode.SEMANTIC || without != null;
    // without vectors there may be no words of templates either, but there are those of logs
    boolean partly = request.mode() == Mode.KEYWORD || without != null;
    var logs = byWords ? byValue(request, partly) : List.<StoredLog>of();
    if (byWords && !words.isEmpty()) {
      byWords(scope, words, partly ? 1 : words.size(), merits);
    }
    for (var id : templates(logs)) {
      merits.computeIfAbsent(id, _ -> new Merit()).add(VALUE, Why.VALUE);
    }
    return answer(request, scope, merits, logs, without);
  }

  /** Which templates come into question; null when no log does. */
  private @Nullable Question scope(LogFilter filter) throws InterruptedException {
    var from = filter.fromNanos();
    var to = filter.toNanos();
    long first = from == null ? 0 : Math.max(0, from);
    long end = to == null ? Long.MAX_VALUE : to;
    if (first >= end) {
      return null;
    }
    var ids =
        filter.attributes().isEmpty()
            ? Set.<UUID>of()
            : queue.bounded(() -> vectors.having(filter));
    if (ids.isEmpty() && !filter.attributes().isEmpty()) {
      return null;
    }
    return new Question(
        filter.tenant(),
        filter.service(),
        Set.copyOf(filter.severities()),
        filter.minSeverity(),
        from == null && to == null ? Minutes.ALL : Minutes.covering(first, end),
        ids);
  }

  /** Why that was not possible; null when it was. */
  private @Nullable String byMeaning(Request request, Question scope, Map<UUID, Merit> merits)
      throws InterruptedException {
    Recipe.Asked asked;
    try {
      asked = recipe.asked(request.text());
    } catch (Embedder.Unavailable | Embedder.Refused e) {
      return String.valueOf(e.getMessage());
    }
    var found =
        queue.bounded(
            () -> {
              var near = vectors.nearest(recipe.name(), scope, asked.whole(), RESCORED);
              return vectors.find(recipe.name(), scope.tenant(), ids(near));
            });
    for (Vectors each : found) {
      merits
          .computeIfAbsent(each.id(), _ -> new Merit())
          .add(recipe.score(asked, each), Why.MEANING);
    }
    return null;
  }

  private static List<UUID> ids(Collection<Candidate> candidates) {
    return candidates.stream().map(Candidate::id).toList();
  }

  private void byWords(Question scope, List<String> words, int least, Map<UUID, Merit> merits)
      throws InterruptedException {
    var saying = queue.bounded(() -> vectors.saying(recipe.name(), scope, words, least, RESCORED));
    for (var each : saying) {
      double points = each.measure() == words.size() ? ALL_WORDS : each.measure() / words.size();
      merits.computeIfAbsent(each.id(), _ -> new Merit()).add(points, Why.WORDS);
    }
  }

  /**
   * @param allWords whether logs must have all words of the question, and not only its values
   */
  private List<StoredLog> byValue(Request request, boolean allWords) throws InterruptedException {
    var text = allWords ? keywords(request.text()) : values(request.text());
    if (text.isEmpty()) {
      return List.of();
    }
    var saying = request.filter().saying(text.orElseThrow());
    return queue.read(new LogReader.Query(saying, request.limit(), null)).logs();
  }

  private static Optional<TextQuery> keywords(String text) {
    var words = Wording.telling(text);
    return words.isEmpty()
        ? Optional.empty()
        : Optional.of(new TextQuery.Words(String.join(" ", words)));
  }

  private static Optional<TextQuery> values(String text) {
    var phrases = Wording.values(text).stream().<TextQuery>map(TextQuery.Phrase::new).toList();
    return phrases.isEmpty() ? Optional.empty() : Optional.of(new TextQuery.And(phrases));
  }

  private static Set<UUID> templates(List<StoredLog> logs) {
    return logs.stream()
        .map(StoredLog::templateId)
        .filter(Objects::nonNull)
        .collect(Collectors.toCollection(LinkedHashSet::new));
  }

  private Answer answer(
      Request request,
      Question scope,
      Map<UUID, Merit> merits,
      List<StoredLog> logs,
      @Nullable String without)
      throws InterruptedException {
    long backlog = queue.bounded(() -> vectors.backlog(recipe.name(), scope.tenant()));
    if (merits.isEmpty()) {
      return new Answer(List.of(), 0, 1, logs, false, backlog, without);
    }
    var best = new HashMap<UUID, Merit>();
    report
        .became(scope.tenant(), merits.keySet())
        .forEach((id, end) -> best.merge(end, merits.get(id), Merit::better));
    var order =
        Comparator.comparingDouble((Map.Entry<UUID, Merit> each) -> each.getValue().score)
            .reversed()
            .thenComparing(Map.Entry::getKey);
    var ranked = best.entrySet().stream().sorted(order).limit(Request.MOST).toList();
    int end = Math.min(ranked.size(), request.from() + request.limit());
    var page = ranked.subList(Math.min(request.from(), end), end);
    var told =
        report.tell(scope, page.stream().map(Map.Entry::getKey).toList(), SPANS, request.newest());
    var hits = new ArrayList<Hit>();
    for (var each : page) {
      hits.add(
          new Hit(
              Objects.requireNonNull(told.each().get(each.getKey())),
              each.getValue().score,
              each.getValue().why));
    }
    return new Answer(
        hits, told.begins(), told.width(), logs, end < ranked.size(), backlog, without);
  }
}
