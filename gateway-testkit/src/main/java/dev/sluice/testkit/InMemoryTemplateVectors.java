package dev.sluice.testkit;

import dev.sluice.core.port.Dictionary.Kind;
import dev.sluice.core.port.TemplateReader.Minutes;
import dev.sluice.core.port.TemplateReader.Question;
import dev.sluice.core.port.TemplateVectors;
import dev.sluice.core.query.LogFilter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;

/** Vectors in memory. Safe for use by many threads; its state is guarded by this object. */
public final class InMemoryTemplateVectors implements TemplateVectors {
  private record Key(String recipe, String tenant, UUID id) {}

  private final InMemoryDictionary dictionary;
  private final int dimension;
  private final List<StoredSample> stored = new ArrayList<>();
  private final Map<Key, Row> rows = new LinkedHashMap<>();

  /**
   * A log that has been stored.
   *
   * @param receivedNanos nanoseconds since 1970
   * @param timeNanos its own time
   */
  public record StoredSample(
      String tenant, UUID template, long receivedNanos, long timeNanos, int severity, Sample log) {}

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
  public synchronized void write(String recipe, List<Row> written) {
    for (var row : written) {
      if (row.vectors().whole().length != dimension) {
        throw new IllegalArgumentException("a vector not of " + dimension + " numbers");
      }
    }
    for (var row : written) {
      rows.put(new Key(recipe, row.tenant(), row.vectors().id()), row);
    }
  }

  @Override
  public synchronized Set<UUID> present(String recipe, String tenant, Collection<UUID> ids) {
    requireNotTooMany(ids);
    return ids.stream()
        .filter(id -> rows.containsKey(new Key(recipe, tenant, id)))
        .collect(Collectors.toSet());
  }

  @Override
  public synchronized long backlog(String recipe, String tenant) {
    return dictionary.entries().stream()
        .filter(entry -> entry.kind() == Kind.TEMPLATE && entry.tenant().equals(tenant))
        .filter(entry -> !rows.containsKey(new Key(recipe, tenant, entry.id())))
        .count();
  }

  @Override
  public synchronized Map<UUID, Sample> samples(String tenant, Map<UUID, Long> firstSeenNanos) {
    var samples = new HashMap<UUID, Sample>();
    for (var each : stored) {
      var seen = firstSeenNanos.get(each.template());
      long minute = Minutes.of(each.receivedNanos());
      if (seen != null
          && each.tenant().equals(tenant)
          && minute >= Minutes.of(seen)
          && minute < Minutes.of(seen) + 2) {
        samples.putIfAbsent(each.template(), each.log());
      }
    }
    return samples;
  }

  /** {@inheritDoc} Knows tenant, service and time of a log. */
  @Override
  public synchronized Set<UUID> having(LogFilter filter) {
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
      String recipe, Question scope, float[] vector, int limit) {
    return best(recipe, scope, limit, row -> product(vector, row.vectors().whole()));
  }

  @Override
  public synchronized List<Candidate> saying(
      String recipe, Question scope, List<String> words, int least, int limit) {
    return best(recipe, scope, Integer.MAX_VALUE, row -> found(row, words)).stream()
        .filter(candidate -> candidate.measure() >= least)
        .limit(limit)
        .toList();
  }

  private static double found(Row row, List<String> words) {
    var there = new HashSet<>(Arrays.asList(row.words().split(" ", -1)));
    return words.stream().distinct().filter(there::contains).count();
  }

  private List<Candidate> best(
      String recipe, Question scope, int limit, ToDoubleFunction<Row> measure) {
    return rows.entrySet().stream()
        .filter(row -> row.getKey().recipe().equals(recipe))
        .filter(row -> row.getKey().tenant().equals(scope.tenant()))
        .filter(row -> isIn(scope, row.getKey().id()))
        .map(row -> new Candidate(row.getKey().id(), measure.applyAsDouble(row.getValue())))
        .sorted(
            Comparator.comparingDouble(Candidate::measure).reversed().thenComparing(Candidate::id))
        .limit(limit)
        .toList();
  }

  private boolean isIn(Question scope, UUID id) {
    if (!scope.ids().isEmpty() && !scope.ids().contains(id)) {
      return false;
    }
    boolean all =
        scope.service() == null
            && scope.severities().isEmpty()
            && scope.minSeverity() == 0
            && scope.minutes().equals(Minutes.ALL);
    return all || stored.stream().anyMatch(log -> log.template().equals(id) && isIn(scope, log));
  }

  private static boolean isIn(Question scope, StoredSample log) {
    long minute = Minutes.of(log.timeNanos());
    return log.tenant().equals(scope.tenant())
        && (scope.service() == null || scope.service().equals(log.log().service()))
        && (scope.severities().isEmpty() || scope.severities().contains(log.severity()))
        && log.severity() >= scope.minSeverity()
        && minute >= scope.minutes().from()
        && minute < scope.minutes().to();
  }

  private static void requireNotTooMany(Collection<UUID> ids) {
    if (ids.size() > MOST_IDS) {
      throw new IllegalArgumentException(ids.size() + " ids, at most " + MOST_IDS);
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
        .map(Row::vectors)
        .toList();
  }
}
