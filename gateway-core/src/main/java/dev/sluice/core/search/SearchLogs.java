package dev.sluice.core.search;

import dev.sluice.core.port.Embedder;
import dev.sluice.core.port.LogReader;
import dev.sluice.core.port.LogReader.StoredLog;
import dev.sluice.core.port.TemplateStats.MinuteRange;
import dev.sluice.core.port.TemplateStats.TemplateQuery;
import dev.sluice.core.port.TemplateVectorStore;
import dev.sluice.core.port.TemplateVectorStore.Candidate;
import dev.sluice.core.query.LogFilter;
import dev.sluice.core.read.Aside;
import dev.sluice.core.read.BoundedReader;
import dev.sluice.core.read.Recently;
import dev.sluice.core.read.TemplatePortraits;
import dev.sluice.core.read.TemplatePortraits.Portrait;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.function.LongSupplier;
import java.util.regex.Pattern;
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

  private static final Duration BACKLOG_AGE = Duration.ofSeconds(2);

  /** To go through some thousand templates takes 25 ms of the store. */
  private static final Duration WORDS_AGE = Duration.ofSeconds(10);

  /** Of all templates, some megabytes; a system has some thousand. */
  private static final int MOST_WORDS = 50_000;

  private final TemplateVectorStore vectors;
  private final TemplatePortraits portraits;
  private final BoundedReader queue;
  private final Effort effort;
  private final Recipe recipe;
  private final KnownVectors known;
  private final Recently<String, Long> backlogs;
  private final Recently<String, Optional<Set<String>>> templateWords;

  /**
   * @param queue whose turn to wait for, and who reads logs
   * @param nanos by which time passes, as {@link System#nanoTime}
   */
  public SearchLogs(
      TemplateVectorStore vectors,
      TemplatePortraits portraits,
      BoundedReader queue,
      Embedder embedder,
      Effort effort,
      LongSupplier nanos) {
    this.vectors = vectors;
    this.portraits = portraits;
    this.queue = queue;
    this.effort = effort;
    recipe = new Recipe(embedder, Glossary.bundled());
    known =
        new KnownVectors(
            (tenant, ids) -> vectors.find(recipe.name(), tenant, ids), effort.keptBytes());
    backlogs = new Recently<>(BACKLOG_AGE, nanos, tenant -> vectors.backlog(recipe.name(), tenant));
    templateWords = new Recently<>(WORDS_AGE, nanos, this::templateWords);
  }

  /**
   * What it may take of the process.
   *
   * @param scoring where questions are held against templates, for milliseconds each: threads that
   *     others share would be missed by them
   * @param keptBytes of vectors at most that are kept in memory
   */
  public record Effort(ExecutorService scoring, long keptBytes) {}

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

    /** How many were shown, and of which question. */
    private static final Pattern CURSOR = Pattern.compile("([0-9]{1,3})\\.([0-9a-f]{8})");

    /**
     * The same from where an answer ended.
     *
     * @param cursor what {@link #next} said
     * @throws IllegalArgumentException when it was said of another question, or never
     */
    public Request after(String cursor) {
      var parts = CURSOR.matcher(cursor);
      if (!parts.matches()
          || Integer.parseInt(parts.group(1)) > MOST
          || !parts.group(2).equals(question())) {
        throw new IllegalArgumentException("is none that was given out for this question");
      }
      return new Request(text, mode, filter, Integer.parseInt(parts.group(1)), limit, newest);
    }

    /** The cursor of what comes after. */
    public String next() {
      return "%d.%s".formatted(from + limit, question());
    }

    /** The same in every process: of texts alone, since an enum's hash is its own in each. */
    private String question() {
      return "%08x".formatted((text + mode + filter).hashCode());
    }
  }

  /**
   * @param hits templates, the best first
   * @param begins the first minute of the first span of each
   * @param width minutes in a span
   * @param logs in which what was asked for occurs, the newest first: values, or words that no
   *     template has
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

  /** What speaks for a template: of several that became it, what speaks most. */
  private static final class Merit {
    private final Map<Why, Double> points = new EnumMap<>(Why.class);

    void add(Why why, double more) {
      points.merge(why, more, Math::max);
    }

    boolean hasAllWords() {
      return points.getOrDefault(Why.WORDS, 0.0) >= ALL_WORDS;
    }

    double score() {
      return points.values().stream().mapToDouble(Double::doubleValue).sum();
    }
  }

  /**
   * @throws BoundedReader.Busy when too many are asking
   * @throws LogReader.QueryTooExpensiveException when the question needs more than one may
   */
  public Answer search(Request request) throws InterruptedException {
    var minuteRange = minutes(request.filter());
    if (minuteRange == null) {
      return nothing(0, null);
    }
    var meaning =
        request.mode() == Mode.KEYWORD ? new Meaning(null, null) : meaning(request.text());
    return queue.bounded(reader -> answer(request, minuteRange, meaning, reader));
  }

  private static Answer nothing(long backlog, @Nullable String without) {
    return new Answer(List.of(), 0, 1, List.of(), false, backlog, without);
  }

  /** Which minutes come into question; null when none does. */
  private static @Nullable MinuteRange minutes(LogFilter filter) {
    var from = filter.fromNanos();
    var to = filter.toNanos();
    if (from == null && to == null) {
      return MinuteRange.ALL;
    }
    long first = from == null ? 0 : Math.max(0, from);
    long end = to == null ? Long.MAX_VALUE : to;
    return first < end ? MinuteRange.covering(first, end) : null;
  }

  /**
   * @param asked null when it is not known what the question means, or is of no account
   * @param without why it is not known; null when it is, or is of no account
   */
  private record Meaning(Recipe.@Nullable Asked asked, @Nullable String without) {}

  private Meaning meaning(String text) throws InterruptedException {
    try {
      return new Meaning(recipe.asked(text), null);
    } catch (Embedder.EmbedderUnavailableException | Embedder.InvalidInputException e) {
      return new Meaning(null, String.valueOf(e.getMessage()));
    }
  }

  private Answer answer(Request request, MinuteRange minuteRange, Meaning meaning, LogReader reader)
      throws InterruptedException {
    var filter = request.filter();
    long backlog = backlogs.get(filter.tenant());
    var having = filter.attributes().isEmpty() ? Set.<UUID>of() : vectors.templatesMatching(filter);
    if (having.isEmpty() && !filter.attributes().isEmpty()) {
      return nothing(backlog, meaning.without);
    }
    var scope =
        new TemplateQuery(
            filter.tenant(),
            filter.service(),
            Set.copyOf(filter.severities()),
            filter.minSeverity(),
            minuteRange,
            having);
    var merits = new HashMap<UUID, Merit>();
    var asked = meaning.asked;
    var sought = sought(request, asked);
    var mentions = new Mentions(filter, request.limit(), reader);
    List<StoredLog> logs;
    // beside each other: neither needs to know of the other
    try (var found = Aside.start(() -> mentioned(sought, asked == null, mentions))) {
      if (asked == null) {
        byWords(scope, sought.words, merits);
      } else {
        byMeaning(scope, asked, sought.words, merits);
      }
      if (backlog > 0 && !sought.words.isEmpty()) {
        byWordsOfThoseThatWait(scope, sought.words, asked == null, merits);
      }
      logs = found.get();
    }
    if (sought.isWordsAlone() && !isTemplates(scope.tenant(), sought.words, merits)) {
      logs = asked == null ? mentions.ofAll(sought.words) : mentions.ofFew(sought.words);
    }
    byLogs(scope, logs, sought.values, merits);
    return told(request, scope, merits, logs, backlog, meaning.without);
  }

  /**
   * What of a question is looked for as text.
   *
   * @param words that tell something; none when nothing is looked for
   * @param values that it names
   * @param names where it names none, words that neither the model nor any template has
   */
  private record Sought(List<String> words, List<String> values, List<String> names) {
    boolean isWordsAlone() {
      return !words.isEmpty() && values.isEmpty() && names.isEmpty();
    }
  }

  private Sought sought(Request request, Recipe.@Nullable Asked asked) throws InterruptedException {
    if (request.mode() == Mode.SEMANTIC && asked != null) {
      return new Sought(List.of(), List.of(), List.of());
    }
    var values = Wording.values(request.text());
    var names =
        asked == null || !values.isEmpty()
            ? List.<String>of()
            : unknown(request.filter().tenant(), asked.names());
    return new Sought(Wording.telling(request.text()), values, names);
  }

  private static List<StoredLog> mentioned(Sought sought, boolean keywords, Mentions mentions)
      throws InterruptedException {
    if (sought.values.isEmpty()) {
      return mentions.ofNames(sought.names);
    }
    return mentions.ofValues(sought.values, keywords ? sought.words : List.of());
  }

  private void byMeaning(
      TemplateQuery scope, Recipe.Asked asked, List<String> words, Map<UUID, Merit> merits)
      throws InterruptedException {
    var ends = portraits.links(scope.tenant());
    // twice as many, since several may have become one, of which the closest stands for them
    var near = vectors.nearest(recipe.name(), scope, asked.whole(), words, 2 * RESCORED);
    var chosen = new LinkedHashMap<UUID, UUID>();
    for (var each : near) {
      var end = ends.end(each.id());
      if (chosen.size() < RESCORED || chosen.containsKey(end)) {
        chosen.putIfAbsent(end, each.id());
        if (each.matchesAllKeywords()) {
          merits.computeIfAbsent(end, _ -> new Merit()).add(Why.WORDS, ALL_WORDS);
        }
      }
    }
    var found = known.of(scope.tenant(), chosen.values());
    try (var scoring = Aside.of(effort.scoring.submit(() -> recipe.scores(asked, found)))) {
      var scores = scoring.get();
      for (int i = 0; i < scores.length; i++) {
        merits
            .computeIfAbsent(ends.end(found.get(i).id()), _ -> new Merit())
            .add(Why.MEANING, scores[i]);
      }
    }
  }

  private void byWords(TemplateQuery scope, List<String> words, Map<UUID, Merit> merits)
      throws InterruptedException {
    if (!words.isEmpty()) {
      byWords(
          vectors.matchKeywords(recipe.name(), scope, words, 2 * RESCORED), scope, words, merits);
    }
  }

  /**
   * They are not found by meaning yet.
   *
   * @param some whether those that have but some of the words come into question
   */
  private void byWordsOfThoseThatWait(
      TemplateQuery scope, List<String> words, boolean some, Map<UUID, Merit> merits)
      throws InterruptedException {
    var found = vectors.matchKeywordsUnembedded(recipe.name(), scope, words, 2 * RESCORED);
    byWords(
        found.stream().filter(each -> some || each.matchesAllKeywords()).toList(),
        scope,
        words,
        merits);
  }

  private void byWords(
      List<Candidate> found, TemplateQuery scope, List<String> words, Map<UUID, Merit> merits)
      throws InterruptedException {
    var ends = portraits.links(scope.tenant());
    for (var each : found) {
      merits
          .computeIfAbsent(ends.end(each.id()), _ -> new Merit())
          .add(Why.WORDS, each.matchesAllKeywords() ? ALL_WORDS : each.score() / words.size());
    }
  }

  /** Those of these words that no template has itself; none where that costs too much to know. */
  private List<String> unknown(String tenant, List<String> words) throws InterruptedException {
    if (words.isEmpty()) {
      return List.of();
    }
    return templateWords
        .get(tenant)
        .map(known -> words.stream().filter(word -> !known.contains(word)).toList())
        .orElse(List.of());
  }

  /** Empty where there are too many or it takes too long: what is not known is no guess. */
  private Optional<Set<String>> templateWords(String tenant) throws InterruptedException {
    try {
      return Optional.of(vectors.vocabulary(tenant, MOST_WORDS));
    } catch (LogReader.QueryTooExpensiveException _) {
      return Optional.empty();
    }
  }

  /**
   * Whether a template has these words itself. If none has, and be it that all are known of one of
   * its logs, some of them are in the places of values.
   */
  private boolean isTemplates(String tenant, List<String> words, Map<UUID, Merit> merits)
      throws InterruptedException {
    var ids =
        merits.entrySet().stream()
            .filter(each -> each.getValue().hasAllWords())
            .map(Map.Entry::getKey)
            .toList();
    return !ids.isEmpty()
        && portraits.texts(tenant, ids).values().stream()
            .anyMatch(text -> Wording.words(text).containsAll(words));
  }

  private void byLogs(
      TemplateQuery scope, List<StoredLog> logs, List<String> values, Map<UUID, Merit> merits)
      throws InterruptedException {
    for (var id : Mentions.templates(logs, values, ids -> portraits.texts(scope.tenant(), ids))) {
      merits.computeIfAbsent(id, _ -> new Merit()).add(Why.VALUE, VALUE);
    }
  }

  private Answer told(
      Request request,
      TemplateQuery scope,
      Map<UUID, Merit> merits,
      List<StoredLog> logs,
      long backlog,
      @Nullable String without)
      throws InterruptedException {
    var order =
        Comparator.comparingDouble((Map.Entry<UUID, Merit> each) -> each.getValue().score())
            .reversed()
            .thenComparing(Map.Entry::getKey);
    var ranked = merits.entrySet().stream().sorted(order).limit(Request.MOST).toList();
    int end = Math.min(ranked.size(), request.from() + request.limit());
    var page = ranked.subList(Math.min(request.from(), end), end);
    var told =
        portraits.of(
            scope,
            request.filter(),
            page.stream().map(Map.Entry::getKey).toList(),
            SPANS,
            request.newest());
    var hits = new ArrayList<Hit>();
    for (int i = 0; i < page.size(); i++) {
      var merit = page.get(i).getValue();
      hits.add(new Hit(told.each().get(i), merit.score(), merit.points.keySet()));
    }
    // those of the first page are not told again
    var shown = request.from() > 0 ? List.<StoredLog>of() : logs;
    return new Answer(
        hits,
        told.begins(),
        told.width(),
        shown.subList(0, Math.min(shown.size(), request.limit())),
        end < ranked.size(),
        backlog,
        without);
  }
}
