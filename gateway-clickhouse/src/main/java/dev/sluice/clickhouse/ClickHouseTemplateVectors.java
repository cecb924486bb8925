package dev.sluice.clickhouse;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.port.LogReader.TooCostly;
import dev.sluice.core.port.TemplateReader;
import dev.sluice.core.port.TemplateReader.Minutes;
import dev.sluice.core.port.TemplateReader.Question;
import dev.sluice.core.port.TemplateVectors;
import dev.sluice.core.query.LogFilter;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;

/**
 * Vectors in ClickHouse's table {@code log_template_vectors_384}, or of whatever dimension they
 * are.
 *
 * <p>All rows are compared with a question as long as they are few; the vector index is asked when
 * they are many and none is excluded, since what it finds is not what a condition leaves of it.
 *
 * <p>Shares the tables' upkeep and the connections with a {@link ClickHouseLogStore}, whose end is
 * its own. Safe for use by many threads; all methods but the constructor block.
 */
public final class ClickHouseTemplateVectors implements TemplateVectors {
  /**
   * Rows that are compared in a few milliseconds of one core, which the index would not do much
   * faster.
   */
  private static final long FEW = 20_000;

  /** How much of a template's first log is kept. */
  private static final int SAMPLE_CHARACTERS = 2_000;

  /** Where the name of what wrote a log may be, the most telling first. */
  private static final List<String> COMPONENTS =
      List.of(
          "LogAttributes['component']",
          "ScopeName",
          "LogAttributes['logger']",
          "LogAttributes['logger.name']",
          "LogAttributes['logger_name']",
          "LogAttributes['log.logger']",
          "LogAttributes['code.namespace']",
          "LogAttributes['process.name']",
          "LogAttributes['syslog.appname']",
          "LogAttributes['appname']",
          "LogAttributes['program']",
          "ResourceAttributes['process.executable.name']");

  private final ClickHouseLogStore store;
  private final int dimension;
  private final String table;
  private final AtomicBoolean made = new AtomicBoolean();
  private volatile long rows;

  /**
   * @param store with whose connections it works
   * @param dimension of all vectors
   */
  public ClickHouseTemplateVectors(ClickHouseLogStore store, int dimension) {
    this.store = store;
    this.dimension = dimension;
    table = "log_template_vectors_" + dimension;
  }

  @Override
  public void write(String recipe, List<Row> written) throws InterruptedException {
    ensure();
    var block = new NativeBlock();
    var tenant = block.lowCardinality("Tenant");
    var recipes = block.lowCardinality("Recipe");
    var ids = block.plain("TemplateId", "UUID");
    var words = block.plain("Words", "String");
    var vector = block.with("Vector", "Array(Float32)", new FloatsColumn());
    var tokens = block.plain("Tokens", "String");
    for (var row : written) {
      var vectors = row.vectors();
      if (vectors.whole().length != dimension) {
        throw new IllegalArgumentException(
            "a vector of %d numbers, not of %d".formatted(vectors.whole().length, dimension));
      }
      tenant.add(row.tenant());
      recipes.add(recipe);
      ids.writeUuid(vectors.id());
      var text = row.words().getBytes(UTF_8);
      words.writeString(text, 0, text.length);
      vector.add(vectors.whole());
      tokens.writeString(vectors.tokens(), 0, vectors.tokens().length);
      block.endRow();
    }
    var token = UUID.randomUUID().toString();
    try {
      store.http().insert(table, block, token, "vectors~" + token);
    } catch (ClickHouseFailed e) {
      throw doubted(e);
    }
  }

  @Override
  public Set<UUID> present(String recipe, String tenant, Collection<UUID> ids)
      throws InterruptedException {
    requireNotTooMany(ids);
    ensure();
    return ids.isEmpty()
        ? Set.of()
        : new HashSet<>(
            ask(
                """
                SELECT DISTINCT TemplateId FROM %s
                WHERE Recipe = {recipe:String} AND Tenant = {tenant:String} AND TemplateId IN (%s)
                FORMAT RowBinary"""
                    .formatted(table, DictionaryTable.list(ids)),
                Map.of("recipe", recipe, "tenant", tenant),
                RowBinary::readUuids));
  }

  @Override
  public long backlog(String recipe, String tenant) throws InterruptedException {
    ensure();
    var counts =
        ask(
            """
            SELECT templates, embedded
            FROM (SELECT uniqExact(TemplateId) AS templates FROM log_templates
              WHERE Tenant = {tenant:String}) AS dictionary
            CROSS JOIN (SELECT uniqExact(TemplateId) AS embedded FROM %s
              WHERE Recipe = {recipe:String} AND Tenant = {tenant:String}) AS vectors
            FORMAT RowBinary"""
                .formatted(table),
            Map.of("recipe", recipe, "tenant", tenant),
            in -> RowBinary.readInt64s(in, 2));
    rows = counts[1];
    return Math.max(0, counts[0] - counts[1]);
  }

  @Override
  public Map<UUID, Sample> samples(String tenant, Map<UUID, Long> firstSeenNanos)
      throws InterruptedException {
    requireNotTooMany(firstSeenNanos.keySet());
    if (firstSeenNanos.isEmpty()) {
      return Map.of();
    }
    var byMinute =
        firstSeenNanos.entrySet().stream()
            .collect(
                Collectors.groupingBy(
                    each -> Minutes.of(each.getValue()),
                    TreeMap::new,
                    Collectors.mapping(Map.Entry::getKey, Collectors.toList())));
    var received =
        byMinute.entrySet().stream()
            .map(
                each ->
                    """
                    ReceivedTimestamp >= toDateTime64(%d, 9) \
                    AND ReceivedTimestamp < toDateTime64(%d, 9) AND TemplateId IN (%s)"""
                        .formatted(
                            each.getKey() * 60,
                            (each.getKey() + 2) * 60,
                            DictionaryTable.list(each.getValue())))
            .collect(Collectors.joining(" OR "));
    return ask(
        """
        SELECT TemplateId, topK(1)(toString(ServiceName))[1],
          topK(1)(arrayFirst(name -> name != '', [%s]))[1],
          argMin(substringUTF8(Body, 1, %d), Id)
        FROM otel_logs
        WHERE Tenant = {tenant:String} AND (%s)
        GROUP BY TemplateId
        FORMAT RowBinary"""
            .formatted(String.join(", ", COMPONENTS), SAMPLE_CHARACTERS, received),
        Map.of("tenant", tenant),
        RowBinary::readSamples);
  }

  @Override
  public Set<UUID> having(LogFilter filter) throws InterruptedException {
    ensure();
    int most = TemplateReader.MOST_IDS;
    var query = LogQuery.templates(filter, most + 1);
    var ids = ask(query.sql(), query.parameters(), RowBinary::readUuids);
    if (ids.size() > most) {
      throw new TooCostly("logs of more than %d templates".formatted(most));
    }
    return new HashSet<>(ids);
  }

  @Override
  public List<Candidate> nearest(String recipe, Question scope, float[] vector, int limit)
      throws InterruptedException {
    ensure();
    var where = of(recipe, scope);
    boolean all = isAll(scope);
    return ask(
        """
        SELECT TemplateId, toFloat64(1 - cosineDistance(Vector, %1$s))
        FROM %2$s
        WHERE %3$s
        ORDER BY cosineDistance(Vector, %1$s)
        LIMIT %4$s
        SETTINGS use_skip_indexes = %5$d
        FORMAT RowBinary"""
            .formatted(
                where.parameter("Array(Float32)", Arrays.toString(vector)),
                table,
                where.sql(),
                where.parameter("UInt32", limit),
                all && rows > FEW ? 1 : 0),
        where.parameters(),
        RowBinary::readCandidates);
  }

  @Override
  public List<Candidate> saying(
      String recipe, Question scope, List<String> words, int least, int limit)
      throws InterruptedException {
    ensure();
    var where = of(recipe, scope);
    var asked =
        where.parameter("Array(String)", words.stream().map(word -> "'" + word + "'").toList());
    if (least == words.size()) {
      where.add("hasAllTokens(Words, %s)".formatted(asked));
    }
    return ask(
        """
        SELECT TemplateId,
          toFloat64(length(arrayIntersect(splitByChar(' ', Words), %1$s))) AS found
        FROM %2$s
        WHERE %3$s AND found >= %4$s
        ORDER BY found DESC, TemplateId
        LIMIT %5$s
        FORMAT RowBinary"""
            .formatted(
                asked,
                table,
                where.sql(),
                where.parameter("UInt32", least),
                where.parameter("UInt32", limit)),
        where.parameters(),
        RowBinary::readCandidates);
  }

  @Override
  public List<Vectors> find(String recipe, String tenant, Collection<UUID> ids)
      throws InterruptedException {
    requireNotTooMany(ids);
    ensure();
    return ids.isEmpty()
        ? List.of()
        : ask(
            """
            SELECT TemplateId, Vector, Tokens FROM %s
            WHERE Recipe = {recipe:String} AND Tenant = {tenant:String} AND TemplateId IN (%s)
            LIMIT 1 BY TemplateId
            FORMAT RowBinary"""
                .formatted(table, DictionaryTable.list(ids)),
            Map.of("recipe", recipe, "tenant", tenant),
            RowBinary::readVectors);
  }

  /** Templates that logs of this scope were stored with. */
  private static Conditions of(String recipe, Question scope) {
    var where = Conditions.of(scope.tenant(), null);
    where.add("Recipe = " + where.parameter("String", recipe));
    if (!isAll(scope)) {
      where.addTemplatesOf(scope);
    }
    return where;
  }

  private static boolean isAll(Question scope) {
    return scope.service() == null
        && scope.severities().isEmpty()
        && scope.minSeverity() == 0
        && scope.ids().isEmpty()
        && scope.minutes().equals(Minutes.ALL);
  }

  private static void requireNotTooMany(Collection<UUID> ids) {
    if (ids.size() > MOST_IDS) {
      throw new IllegalArgumentException(ids.size() + " ids, at most " + MOST_IDS);
    }
  }

  private <T> T ask(String sql, Map<String, String> parameters, ClickHouseHttp.Body<T> body)
      throws InterruptedException {
    try {
      return store.ask(sql, parameters, body);
    } catch (ClickHouseFailed e) {
      throw doubted(e);
    }
  }

  private ClickHouseFailed doubted(ClickHouseFailed e) {
    if (e.kind() == ClickHouseFailed.Kind.SCHEMA) {
      made.set(false);
    }
    return e;
  }

  /** Makes the table, once, and again when it is gone. */
  private void ensure() throws InterruptedException {
    store.migrate();
    if (!made.get()) {
      store.schema().run("template_vectors.sql", Map.of("{dimension}", String.valueOf(dimension)));
      made.set(true);
    }
  }
}
