package dev.sluice.testkit;

import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader.QueryTooExpensiveException;
import dev.sluice.query.port.TemplateStats.MinuteRange;
import dev.sluice.query.port.TemplateStats.TemplateQuery;
import dev.sluice.query.port.TemplateVectorStore;
import dev.sluice.templates.dictionary.Dictionary.DictionaryEntry;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
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

/** A template vector store in memory. Thread-safe; all state is guarded by this object. */
public final class InMemoryTemplateVectorStore implements TemplateVectorStore {
  private record Key(String embeddingVersion, String tenant, UUID id) {}

  private final InMemoryDictionary dictionary;
  private final int dimension;
  private final List<StoredSample> storedSamples = new ArrayList<>();
  private final Map<Key, VectorRow> rows = new LinkedHashMap<>();
  private int compactions;
  private boolean vocabularyTooExpensive;

  /**
   * A stored log.
   *
   * @param timeNanos the event time in nanoseconds since 1970
   */
  public record StoredSample(
      String tenant, UUID template, long timeNanos, int severity, TemplateSample log) {}

  /**
   * Creates a store.
   *
   * @param dictionary the dictionary whose templates need vectors
   * @param dimension the dimension of all vectors
   */
  public InMemoryTemplateVectorStore(InMemoryDictionary dictionary, int dimension) {
    this.dictionary = dictionary;
    this.dimension = dimension;
  }

  /** Stores a log. */
  public synchronized void store(StoredSample sample) {
    storedSamples.add(sample);
  }

  @Override
  public synchronized void compact(String embeddingVersion) {
    compactions++;
  }

  /** Returns the number of compactions. */
  public synchronized int compactions() {
    return compactions;
  }

  @Override
  public synchronized void write(String embeddingVersion, List<VectorRow> newRows) {
    for (var row : newRows) {
      if (row.vectors().sentenceVector().length != dimension) {
        throw new IllegalArgumentException("the vector does not have dimension " + dimension);
      }
    }
    for (var row : newRows) {
      rows.put(new Key(embeddingVersion, row.tenant(), row.vectors().id()), row);
    }
  }

  @Override
  public synchronized Set<String> tenants() {
    return dictionary.entries().stream()
        .filter(entry -> entry.kind() == EntryKind.TEMPLATE)
        .map(DictionaryEntry::tenant)
        .collect(Collectors.toSet());
  }

  @Override
  public synchronized List<UnembeddedTemplate> findUnembedded(
      String embeddingVersion, String tenant, Collection<UUID> excluded, int limit) {
    requireNotTooMany(excluded);
    return unembedded(embeddingVersion, tenant)
        .filter(entry -> !excluded.contains(entry.id()))
        .sorted(
            Comparator.comparingLong(DictionaryEntry::firstSeenNanos)
                .thenComparing(DictionaryEntry::id))
        .limit(limit)
        .map(entry -> new UnembeddedTemplate(entry.id(), entry.text(), entry.firstSeenNanos()))
        .toList();
  }

  @Override
  public synchronized long backlog(String embeddingVersion, String tenant) {
    return unembedded(embeddingVersion, tenant).count();
  }

  private Stream<DictionaryEntry> unembedded(String embeddingVersion, String tenant) {
    return dictionary.entries().stream()
        .filter(entry -> entry.kind() == EntryKind.TEMPLATE && entry.tenant().equals(tenant))
        .filter(entry -> !rows.containsKey(new Key(embeddingVersion, tenant, entry.id())));
  }

  @Override
  public synchronized Map<UUID, TemplateSample> samples(
      String tenant, Map<UUID, MinuteRange> minutes) {
    var samples = new HashMap<UUID, TemplateSample>();
    for (var each : storedSamples) {
      var range = minutes.get(each.template());
      long minute = MinuteRange.minuteOf(each.timeNanos());
      if (range != null
          && each.tenant().equals(tenant)
          && minute >= range.from()
          && minute < range.to()) {
        samples.putIfAbsent(each.template(), each.log());
      }
    }
    return samples;
  }

  /** {@inheritDoc} This implementation filters by tenant, service and time. */
  @Override
  public synchronized Set<UUID> templatesMatching(LogFilter filter) {
    var from = filter.fromNanos();
    var to = filter.toNanos();
    return storedSamples.stream()
        .filter(each -> each.tenant().equals(filter.tenant()))
        .filter(each -> filter.service() == null || filter.service().equals(each.log().service()))
        .filter(each -> from == null || each.timeNanos() >= from)
        .filter(each -> to == null || each.timeNanos() < to)
        .map(StoredSample::template)
        .collect(Collectors.toSet());
  }

  @Override
  public synchronized List<Candidate> nearest(
      String embeddingVersion, TemplateQuery query, float[] vector, List<String> words, int limit) {
    return rowsInScope(embeddingVersion, query)
        .map(
            row ->
                new Candidate(
                    row.vectors().id(),
                    dotProduct(vector, row.vectors().sentenceVector()),
                    !words.isEmpty() && countMatches(row, words) == words.size()))
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
      String embeddingVersion, TemplateQuery query, List<String> words, int limit) {
    return matchKeywords(
        rowsInScope(embeddingVersion, query)
            .map(row -> new Candidate(row.vectors().id(), countMatches(row, words), false)),
        words,
        limit);
  }

  @Override
  public synchronized List<Candidate> matchKeywordsUnembedded(
      String embeddingVersion, TemplateQuery query, List<String> words, int limit) {
    return matchKeywords(
        unembedded(embeddingVersion, query.tenant())
            .filter(entry -> isIn(query, entry.id()))
            .map(entry -> new Candidate(entry.id(), countMatches(entry, words), false)),
        words,
        limit);
  }

  /** Makes {@link #vocabulary} fail as too expensive. */
  public synchronized void failVocabularyAsTooExpensive() {
    vocabularyTooExpensive = true;
  }

  @Override
  public synchronized Set<String> vocabulary(String tenant, int maxWords) {
    var words =
        dictionary.entries().stream()
            .filter(entry -> entry.kind() == EntryKind.TEMPLATE && entry.tenant().equals(tenant))
            .filter(entry -> entry.mergedInto() == null)
            .flatMap(entry -> Stream.of(words(entry)))
            .filter(word -> !word.isEmpty())
            .collect(Collectors.toSet());
    if (vocabularyTooExpensive || words.size() > maxWords) {
      throw new QueryTooExpensiveException("templates of more than %d words".formatted(maxWords));
    }
    return words;
  }

  private static String[] words(DictionaryEntry entry) {
    return entry.text().toLowerCase(Locale.ROOT).split("[^\\p{L}\\p{N}]+", -1);
  }

  private static List<Candidate> matchKeywords(
      Stream<Candidate> candidates, List<String> words, int limit) {
    return candidates
        .filter(each -> each.score() > 0)
        .map(each -> new Candidate(each.id(), each.score(), each.score() == words.size()))
        .sorted(
            Comparator.comparingDouble(Candidate::score).reversed().thenComparing(Candidate::id))
        .limit(limit)
        .toList();
  }

  private static long countMatches(VectorRow row, List<String> words) {
    return countMatches(row.keywords().split(" ", -1), words);
  }

  private static long countMatches(DictionaryEntry entry, List<String> words) {
    return countMatches(words(entry), words);
  }

  private static long countMatches(String[] textWords, List<String> words) {
    return words.stream()
        .distinct()
        .filter(new HashSet<>(Arrays.asList(textWords))::contains)
        .count();
  }

  private Stream<VectorRow> rowsInScope(String embeddingVersion, TemplateQuery query) {
    return rows.entrySet().stream()
        .filter(row -> row.getKey().embeddingVersion().equals(embeddingVersion))
        .filter(row -> row.getKey().tenant().equals(query.tenant()))
        .filter(row -> isIn(query, row.getKey().id()))
        .map(Map.Entry::getValue);
  }

  private boolean isIn(TemplateQuery query, UUID id) {
    if (!query.ids().isEmpty() && !query.ids().contains(id)) {
      return false;
    }
    boolean all =
        query.service() == null
            && query.severities().isEmpty()
            && query.minSeverity() == 0
            && query.minuteRange().equals(MinuteRange.ALL);
    return all
        || storedSamples.stream().anyMatch(log -> log.template().equals(id) && isIn(query, log));
  }

  private static boolean isIn(TemplateQuery query, StoredSample log) {
    long minute = MinuteRange.minuteOf(log.timeNanos());
    return log.tenant().equals(query.tenant())
        && (query.service() == null || query.service().equals(log.log().service()))
        && (query.severities().isEmpty() || query.severities().contains(log.severity()))
        && log.severity() >= query.minSeverity()
        && minute >= query.minuteRange().from()
        && minute < query.minuteRange().to();
  }

  private static void requireNotTooMany(Collection<UUID> ids) {
    if (ids.size() > MAX_IDS) {
      throw new IllegalArgumentException(ids.size() + " ids, at most " + MAX_IDS);
    }
  }

  private static double dotProduct(float[] a, float[] b) {
    double product = 0;
    for (int i = 0; i < a.length; i++) {
      product += (double) a[i] * b[i];
    }
    return product;
  }

  @Override
  public synchronized List<Vectors> find(
      String embeddingVersion, String tenant, Collection<UUID> ids) {
    requireNotTooMany(ids);
    return ids.stream()
        .distinct()
        .map(id -> rows.get(new Key(embeddingVersion, tenant, id)))
        .filter(Objects::nonNull)
        .map(VectorRow::vectors)
        .toList();
  }
}
