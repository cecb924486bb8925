package dev.sluice.testkit;

import dev.sluice.core.port.Dictionary.DictionaryEntry;
import dev.sluice.core.port.Dictionary.EntryKind;
import dev.sluice.core.port.LogReader.QueryTooExpensiveException;
import dev.sluice.core.port.TemplateStats.MinuteRange;
import dev.sluice.core.port.TemplateStats.TemplateQuery;
import dev.sluice.core.port.TemplateVectorStore;
import dev.sluice.core.query.LogFilter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Vectors in memory. Safe for use by many threads; its state is guarded by this object. */
public final class InMemoryTemplateVectors implements TemplateVectorStore {
  private record Key(String recipe, String tenant, UUID id) {}

  private final InMemoryDictionary dictionary;
  private final int dimension;
  private final List<StoredSample> stored = new ArrayList<>();
  private final Map<Key, VectorRow> rows = new LinkedHashMap<>();
  private int settled;
  private boolean wordsTooCostly;

  /**
   * A log that has been stored.
   *
   * @param timeNanos its own time, nanoseconds since 1970
   */
  public record StoredSample(
      String tenant, UUID template, long timeNanos, int severity, TemplateSample log) {}

  /**
   * @param dictionary whose templates should have vectors
   * @param dimension of all vectors
   */
  public InMemoryTemplateVectors(InMemoryDictionary dictionary, int dimension) {
    this.dictionary = dictionary;
    this.dimension = dimension;
  }

  /** A log was stored. */
  public synchronized void store(StoredSample sample) {
    stored.add(sample);
  }

  @Override
  public synchronized void compact(String recipe) {
    settled++;
  }

  /** How often it was. */
  public synchronized int settled() {
    return settled;
  }

  @Override
  public synchronized void write(String recipe, List<VectorRow> written) {
    for (var row : written) {
      if (row.vectors().sentenceVector().length != dimension) {
        throw new IllegalArgumentException("a vector not of " + dimension + " numbers");
      }
    }
    for (var row : written) {
      rows.put(new Key(recipe, row.tenant(), row.vectors().id()), row);
    }
  }

  @Override
  public synchronized List<UnembeddedTemplate> findUnembedded(
      String recipe, String tenant, Collection<UUID> but, int limit) {
    requireNotTooMany(but);
    return missing(recipe, tenant)
        .filter(entry -> !but.contains(entry.id()))
        .sorted(
            Comparator.comparingLong(DictionaryEntry::firstSeenNanos)
                .thenComparing(DictionaryEntry::id))
        .limit(limit)
        .map(entry -> new UnembeddedTemplate(entry.id(), entry.text(), entry.firstSeenNanos()))
        .toList();
  }

  @Override
  public synchronized long backlog(String recipe, String tenant) {
    return missing(recipe, tenant).count();
  }

  private Stream<DictionaryEntry> missing(String recipe, String tenant) {
    return dictionary.entries().stream()
        .filter(entry -> entry.kind() == EntryKind.TEMPLATE && entry.tenant().equals(tenant))
        .filter(entry -> !rows.containsKey(new Key(recipe, tenant, entry.id())));
  }

  @Override
  public synchronized Map<UUID, TemplateSample> samples(
      String tenant, Map<UUID, MinuteRange> minutes) {
    var samples = new HashMap<UUID, TemplateSample>();
    for (var each : stored) {
      var within = minutes.get(each.template());
      long minute = MinuteRange.minuteOf(each.timeNanos());
      if (within != null
          && each.tenant().equals(tenant)
          && minute >= within.from()
          && minute < within.to()) {
        samples.putIfAbsent(each.template(), each.log());
      }
    }
    return samples;
  }

  /** {@inheritDoc} Knows tenant, service and time of a log. */
  @Override
  public synchronized Set<UUID> templatesMatching(LogFilter filter) {
    var from = filter.fromNanos();
    var to = filter.toNanos();
    return stored.stream()
        .filter(each -> each.tenant().equals(filter.tenant()))
        .filter(each -> filter.service() == null || filter.service().equals(each.log().service()))
        .filter(each -> from == null || each.timeNanos() >= from)
        .filter(each -> to == null || each.timeNanos() < to)
        .map(StoredSample::template)
        .collect(Collectors.toSet());
  }

  @Override
  public synchronized List<Candidate> nearest(
      String recipe, TemplateQuery scope, float[] vector, List<String> words, int limit) {
    return in(recipe, scope)
        .map(
            row ->
                new Candidate(
                    row.vectors().id(),
                    product(vector, row.vectors().sentenceVector()),
                    !words.isEmpty() && found(row, words) == words.size()))
        .sorted(
            Comparator.comparing(Candidate::matchesAllKeywords)
                .thenComparingDouble(Candidate::score)
                .reversed()
                .thenComparing(Candidate::id))
        .limit(limit)
        .toList();
  }

  @Override
  public synchronized List<Candidate> matchKeywords(
      String recipe, TemplateQuery scope, List<String> words, int limit) {
    return saying(
        in(recipe, scope).map(row -> new Candidate(row.vectors().id(), found(row, words), false)),
        words,
        limit);
  }

  @Override
  public synchronized List<Candidate> matchKeywordsUnembedded(
      String recipe, TemplateQuery scope, List<String> words, int limit) {
    return saying(
        missing(recipe, scope.tenant())
            .filter(entry -> isIn(scope, entry.id()))
            .map(entry -> new Candidate(entry.id(), found(entry, words), false)),
        words,
        limit);
  }

  /** From now on {@link #vocabulary} would cost too much. */
  public synchronized void makeWordsTooCostly() {
    wordsTooCostly = true;
  }

  @Override
  public synchronized Set<String> vocabulary(String tenant, int most) {
    var words =
        dictionary.entries().stream()
            .filter(entry -> entry.kind() == EntryKind.TEMPLATE && entry.tenant().equals(tenant))
            .filter(entry -> entry.mergedInto() == null)
            .flatMap(entry -> Stream.of(words(entry)))
            .filter(word -> !word.isEmpty())
            .collect(Collectors.toSet());
    if (wordsTooCostly || words.size() > most) {
      throw new QueryTooExpensiveException("templates of more than %d words".formatted(most));
    }
    return words;
  }

  private static String[] words(DictionaryEntry entry) {
    return entry.text().toLowerCase(Locale.ROOT).split("[^\\p{L}\\p{N}]+", -1);
  }

  private static List<Candidate> saying(
      Stream<Candidate> candidates, List<String> words, int limit) {
    return candidates
        .filter(each -> each.score() > 0)
        .map(each -> new Candidate(each.id(), each.score(), each.score() == words.size()))
        .sorted(
            Comparator.comparingDouble(Candidate::score).reversed().thenComparing(Candidate::id))
        .limit(limit)
        .toList();
  }

  private static long found(VectorRow row, List<String> words) {
    return found(row.keywords().split(" ", -1), words);
  }

  private static long found(DictionaryEntry entry, List<String> words) {
    return found(words(entry), words);
  }

  private static long found(String[] there, List<String> words) {
    return words.stream().distinct().filter(new HashSet<>(Arrays.asList(there))::contains).count();
  }

  private Stream<VectorRow> in(String recipe, TemplateQuery scope) {
    return rows.entrySet().stream()
        .filter(row -> row.getKey().recipe().equals(recipe))
        .filter(row -> row.getKey().tenant().equals(scope.tenant()))
        .filter(row -> isIn(scope, row.getKey().id()))
        .map(Map.Entry::getValue);
  }

  private boolean isIn(TemplateQuery scope, UUID id) {
    if (!scope.ids().isEmpty() && !scope.ids().contains(id)) {
      return false;
    }
    boolean all =
        scope.service() == null
            && scope.severities().isEmpty()
            && scope.minSeverity() == 0
            && scope.minuteRange().equals(MinuteRange.ALL);
    return all || stored.stream().anyMatch(log -> log.template().equals(id) && isIn(scope, log));
  }

  private static boolean isIn(TemplateQuery scope, StoredSample log) {
    long minute = MinuteRange.minuteOf(log.timeNanos());
    return log.tenant().equals(scope.tenant())
        && (scope.service() == null || scope.service().equals(log.log().service()))
        && (scope.severities().isEmpty() || scope.severities().contains(log.severity()))
        && log.severity() >= scope.minSeverity()
        && minute >= scope.minuteRange().from()
        && minute < scope.minuteRange().to();
  }

  private static void requireNotTooMany(Collection<UUID> ids) {
    if (ids.size() > MAX_IDS) {
      throw new IllegalArgumentException(ids.size() + " ids, at most " + MAX_IDS);
    }
  }

  private static double product(float[] a, float[] b) {
    double product = 0;
    for (int i = 0; i < a.length; i++) {
      product += (double) a[i] * b[i];
    }
    return product;
  }

  @Override
  public synchronized List<Vectors> find(String recipe, String tenant, Collection<UUID> ids) {
    requireNotTooMany(ids);
    return ids.stream()
        .distinct()
        .map(id -> rows.get(new Key(recipe, tenant, id)))
        .filter(Objects::nonNull)
        .map(VectorRow::vectors)
        .toList();
  }
}
