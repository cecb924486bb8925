package dev.sluice.clickhouse;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.port.LogReader.QueryTooExpensiveException;
import dev.sluice.core.port.TemplateStats;
import dev.sluice.core.port.TemplateStats.MinuteRange;
import dev.sluice.core.port.TemplateStats.TemplateQuery;
import dev.sluice.core.port.TemplateStats.TimeSlice;
import dev.sluice.core.port.TemplateVectorStore;
import dev.sluice.core.query.LogFilter;
import java.io.InputStream;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Vectors in ClickHouse's table {@code log_template_vectors_384}, or of whatever dimension they
 * are.
 *
 * <p>All rows are compared with a question as long as they are few; the vector index is asked when
 * they are many and none is excluded, since what it finds is not what a condition leaves of it. It
 * has the rows of all tenants: one whose rows are a small part of many would not find all of its
 * own in it.
 *
 * <p>Shares the tables' upkeep and the connections with a {@link ClickHouseLogStore}, whose end is
 * its own. Safe for use by many threads; all methods but the constructor block.
 */
public final class ClickHouseTemplateVectors implements TemplateVectorStore {
  /**
   * Rows that are compared in a few milliseconds of one core, which the index would not do much
   * faster.
   */
  private static final long FEW = 20_000;

  /**
   * Rows that the index keeps in view while it looks for the closest ({@code ef} of Malkov and
   * Yashunin, "Efficient and robust approximate nearest neighbor search", 2016). With ClickHouse's
   * 256 it finds 0.81 of the ten closest of 25,000 vectors that have no structure at all, with
   * these 0.98, in a millisecond more; docs/search.md has more.
   */
  private static final int IN_VIEW = 1_000;

  /** How much of a template's first log is kept. */
  private static final int SAMPLE_CHARACTERS = 2_000;

  /** Letters and digits, for RE2 in a string of SQL. */
  private static final String WORD = "[\\\\p{L}\\\\p{N}]+";

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

  /** Rows of each tenant, as {@link #backlog} counted them last; who searches asks that too. */
  private final Map<String, Long> rows = new ConcurrentHashMap<>();

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
  public void write(String recipe, List<VectorRow> written) throws InterruptedException {
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
      if (vectors.sentenceVector().length != dimension) {
        throw new IllegalArgumentException(
            "a vector of %d numbers, not of %d"
                .formatted(vectors.sentenceVector().length, dimension));
      }
      tenant.add(row.tenant());
      recipes.add(recipe);
      ids.writeUuid(vectors.id());
      var text = row.keywords().getBytes(UTF_8);
      words.writeString(text, 0, text.length);
      vector.add(vectors.sentenceVector());
      tokens.writeString(vectors.tokenVectors(), 0, vectors.tokenVectors().length);
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
  public List<UnembeddedTemplate> findUnembedded(
      String recipe, String tenant, Collection<UUID> but, int limit) throws InterruptedException {
    requireNotTooMany(but);
    ensure();
    return ask(
        """
        SELECT TemplateId, any(Text), toUnixTimestamp64Nano(min(FirstSeen)) AS seen
        FROM log_templates
        WHERE Tenant = {tenant:String} AND TemplateId NOT IN (
          SELECT TemplateId FROM %s WHERE Recipe = {recipe:String} AND Tenant = {tenant:String})%s
        GROUP BY TemplateId
        ORDER BY seen, TemplateId
        LIMIT {limit:UInt32}
        FORMAT RowBinary"""
            .formatted(
                table,
                but.isEmpty()
                    ? ""
                    : " AND TemplateId NOT IN (%s)".formatted(DictionaryTable.list(but))),
        Map.of("recipe", recipe, "tenant", tenant, "limit", String.valueOf(limit)),
        RowBinary::readWanting);
  }

  /**
   * {@inheritDoc} A part costs each question a millisecond, and five thousand rows take a third of
   * a second of CPU to be put together. Of more than a few, which an index finds, it is left to
   * ClickHouse's own merges.
   */
  @Override
  public void compact(String recipe) throws InterruptedException {
    ensure();
    var parts =
        ask(
            """
            SELECT toInt64(count()), toInt64(sum(rows)) FROM system.parts
            WHERE database = currentDatabase() AND table = {table:String}
              AND partition = {recipe:String} AND active
            FORMAT RowBinary""",
            Map.of("table", table, "recipe", recipe),
            in -> RowBinary.readInt64s(in, 2));
    if (parts[0] > 1 && parts[1] <= FEW) {
      ask(
          "OPTIMIZE TABLE %s PARTITION {recipe:String} FINAL".formatted(table),
          Map.of("recipe", recipe),
          InputStream::readAllBytes);
    }
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
    rows.put(tenant, counts[1]);
    return Math.max(0, counts[0] - counts[1]);
  }

  @Override
  public Map<UUID, TemplateSample> samples(String tenant, Map<UUID, MinuteRange> minutes)
      throws InterruptedException {
    requireNotTooMany(minutes.keySet());
    if (minutes.isEmpty()) {
      return Map.of();
    }
    var query =
        LogQuery.ofTemplates(
            LogFilter.of(tenant).build(),
            minutes.entrySet().stream()
                .map(each -> TimeSlice.of(each.getKey(), null, each.getValue()))
                .toList(),
            """
            SELECT TemplateId, toString(ServiceName), arrayFirst(name -> name != '', [%s]),
              substringUTF8(Body, 1, %d)
            """
                .formatted(String.join(", ", COMPONENTS), SAMPLE_CHARACTERS),
            // ends with the first log of the last of them: at full rate a minute has millions
            """
            LIMIT 1 BY TemplateId
            LIMIT %d
            SETTINGS max_threads = 1, max_block_size = 8192
            FORMAT RowBinary"""
                .formatted(minutes.size()));
    return query == null ? Map.of() : ask(query.sql(), query.parameters(), RowBinary::readSamples);
  }

  @Override
  public Set<UUID> templatesMatching(LogFilter filter) throws InterruptedException {
    ensure();
    int most = TemplateStats.MAX_IDS;
    var query = LogQuery.templates(filter, most + 1);
    var ids = ask(query.sql(), query.parameters(), RowBinary::readUuids);
    if (ids.size() > most) {
      throw new QueryTooExpensiveException("logs of more than %d templates".formatted(most));
    }
    return new HashSet<>(ids);
  }

  /**
   * {@inheritDoc} To look for each template of the scope in the table's own index takes longer than
   * to compare some more rows.
   */
  @Override
  public List<Candidate> nearest(
      String recipe, TemplateQuery scope, float[] vector, List<String> words, int limit)
      throws InterruptedException {
    ensure();
    var where = of(recipe, scope);
    var asked = where.parameter("Array(Float32)", Arrays.toString(vector));
    var most = where.parameter("UInt32", limit);
    var closeness = "toFloat64(1 - cosineDistance(Vector, %s))".formatted(asked);
    var said =
        words.isEmpty()
            ? null
            : "hasAllTokens(Words, %s)".formatted(where.parameter("Array(String)", list(words)));
    boolean byIndex = isAll(scope) && rows.getOrDefault(scope.tenant(), 0L) > FEW;
    var select =
        byIndex
            ? byIndex(where, asked, closeness, said, where.parameter("UInt32", 2 * limit))
            : "SELECT TemplateId, %s AS closeness, toUInt8(%s) AS said FROM %s WHERE %s"
                .formatted(closeness, said == null ? "0" : said, table, where.sql());
    return ask(
        """
        %s
        ORDER BY said DESC, closeness DESC
        LIMIT 1 BY TemplateId
        LIMIT %s
        SETTINGS use_skip_indexes = %d, hnsw_candidate_list_size_for_search = %d,
          use_index_for_in_with_subqueries = 0
        FORMAT RowBinary"""
            .formatted(select, most, byIndex ? 1 : 0, IN_VIEW),
        where.parameters(),
        RowBinary::readCandidates);
  }

  /**
   * Those with all words apart, since the index is for an order by nothing but distance.
   *
   * @param most of each: more than are asked for, since before parts are merged a row may be there
   *     twice
   */
  private String byIndex(
      Conditions where, String asked, String closeness, @Nullable String said, String most) {
    var nearest =
        """
        SELECT TemplateId, %s AS closeness, toUInt8(0) AS said
        FROM %s
        WHERE %s
        ORDER BY cosineDistance(Vector, %s)
        LIMIT %s"""
            .formatted(closeness, table, where.sql(), asked, most);
    if (said == null) {
      return "SELECT * FROM (%s)".formatted(nearest);
    }
    var saying =
        """
        SELECT TemplateId, %s AS closeness, toUInt8(1) AS said
        FROM %s
        WHERE %s AND %s
        ORDER BY closeness DESC
        LIMIT %s"""
            .formatted(closeness, table, where.sql(), said, most);
    return "SELECT * FROM (SELECT * FROM (%s) UNION ALL SELECT * FROM (%s))"
        .formatted(nearest, saying);
  }

  private static List<String> list(List<String> words) {
    return words.stream().map(word -> "'" + word + "'").toList();
  }

  @Override
  public List<Candidate> matchKeywords(
      String recipe, TemplateQuery scope, List<String> words, int limit)
      throws InterruptedException {
    ensure();
    var where = of(recipe, scope);
    var asked = where.parameter("Array(String)", list(words));
    return ask(
        """
        SELECT TemplateId,
          toFloat64(length(arrayIntersect(splitByChar(' ', Words), %1$s))) AS found,
          toUInt8(found = length(%1$s))
        FROM %2$s
        WHERE %3$s AND found > 0
        ORDER BY found DESC, TemplateId
        LIMIT %4$s
        FORMAT RowBinary"""
            .formatted(asked, table, where.sql(), where.parameter("UInt32", limit)),
        where.parameters(),
        RowBinary::readCandidates);
  }

  @Override
  public List<Candidate> matchKeywordsUnembedded(
      String recipe, TemplateQuery scope, List<String> words, int limit)
      throws InterruptedException {
    ensure();
    var where = Conditions.of(scope.tenant(), null);
    where.add(
        "TemplateId NOT IN (SELECT TemplateId FROM %s WHERE Recipe = %s AND Tenant = %s)"
            .formatted(
                table,
                where.parameter("String", recipe),
                where.parameter("String", scope.tenant())));
    if (!isAll(scope)) {
      where.addTemplatesOf(scope);
    }
    var asked = where.parameter("Array(String)", list(words));
    where.add(
        "multiSearchAny(lowerUTF8(Text), %s)".formatted(asked)); // before the rest, which is slow
    return ask(
        """
        SELECT TemplateId,
          toFloat64(length(arrayIntersect(
            extractAll(lowerUTF8(any(Text)), '%4$s'), %1$s))) AS found,
          toUInt8(found = length(%1$s))
        FROM log_templates
        WHERE %2$s
        GROUP BY TemplateId
        HAVING found > 0
        ORDER BY found DESC, TemplateId
        LIMIT %3$s
        FORMAT RowBinary"""
            .formatted(asked, where.sql(), where.parameter("UInt32", limit), WORD),
        where.parameters(),
        RowBinary::readCandidates);
  }

  @Override
  public Set<String> vocabulary(String tenant, int most) throws InterruptedException {
    var words =
        Set.copyOf(
            store.askSoon(
                """
                SELECT DISTINCT arrayJoin(extractAll(lowerUTF8(Text), '%s'))
                FROM log_templates
                WHERE Tenant = {tenant:String} AND TemplateId NOT IN (
                  SELECT TemplateId FROM log_templates
                  WHERE Tenant = {tenant:String} AND notEmpty(MergedInto))
                LIMIT {limit:UInt32}
                FORMAT RowBinary"""
                    .formatted(WORD),
                Map.of("limit", String.valueOf(most + 1L), "tenant", tenant),
                RowBinary::readStrings));
    if (words.size() > most) {
      throw new QueryTooExpensiveException("templates of more than %d words".formatted(most));
    }
    return words;
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
  private static Conditions of(String recipe, TemplateQuery scope) {
    var where = Conditions.of(scope.tenant(), null);
    where.add("Recipe = " + where.parameter("String", recipe));
    if (!isAll(scope)) {
      where.addTemplatesOf(scope);
    }
    return where;
  }

  private static boolean isAll(TemplateQuery scope) {
    return scope.service() == null
        && scope.severities().isEmpty()
        && scope.minSeverity() == 0
        && scope.ids().isEmpty()
        && scope.minuteRange().equals(MinuteRange.ALL);
  }

  private static void requireNotTooMany(Collection<UUID> ids) {
    if (ids.size() > MAX_IDS) {
      throw new IllegalArgumentException(ids.size() + " ids, at most " + MAX_IDS);
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
