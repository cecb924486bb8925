package dev.sluice.clickhouse;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader.QueryTooExpensiveException;
import dev.sluice.query.port.TemplateStats;
import dev.sluice.query.port.TemplateStats.MinuteRange;
import dev.sluice.query.port.TemplateStats.TemplateQuery;
import dev.sluice.query.port.TemplateStats.TimeSlice;
import dev.sluice.query.port.TemplateVectorStore;
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
 * A {@link TemplateVectorStore} in the ClickHouse table {@code log_template_vectors_384}, or in the
 * table of another dimension.
 *
 * <p>Few rows are compared with a query exhaustively. The vector index is used only for many rows
 * and without conditions, since it applies conditions after it has selected the nearest rows. The
 * index has the rows of all tenants, so that a tenant with a small part of the rows may not find
 * all of its nearest ones.
 *
 * <p>Shares the connections and the schema migration of a {@link ClickHouseDatabase}, whose close
 * also ends this store. Safe for use by many threads; all methods but the constructor block.
 */
public final class ClickHouseTemplateVectorStore implements TemplateVectorStore {
  /**
   * Maximum number of rows that are compared exhaustively: the result is exact, and the index saves
   * little time for so few rows; measured; see docs/search.md.
   */
  private static final long MAX_EXHAUSTIVE_ROWS = 20_000;

  /**
   * Number of candidates that the HNSW index keeps during a search ({@code ef} of Malkov and
   * Yashunin, "Efficient and robust approximate nearest neighbor search", 2016). The default of
   * ClickHouse misses more of the nearest vectors and is hardly faster; measured; see
   * docs/search.md.
   */
  private static final int HNSW_CANDIDATES = 1_000;

  /** Maximum number of characters of the sample of a template. */
  private static final int SAMPLE_CHARACTERS = 2_000;

  /** A word of letters and digits, as an RE2 pattern in an SQL string. */
  private static final String WORD_PATTERN = "[\\\\p{L}\\\\p{N}]+";

  /** Places of the component name in a log record, the most specific first. */
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

  private final ClickHouseDatabase database;
  private final int dimension;
  private final String table;
  private final AtomicBoolean tableCreated = new AtomicBoolean();

  /**
   * Number of rows by tenant, as last counted by {@link #backlog}, which each search also queries.
   */
  private final Map<String, Long> rowCounts = new ConcurrentHashMap<>();

  /**
   * @param database the database whose connections are used
   * @param dimension the dimension of all vectors
   */
  public ClickHouseTemplateVectorStore(ClickHouseDatabase database, int dimension) {
    this.database = database;
    this.dimension = dimension;
    table = "log_template_vectors_" + dimension;
  }

  @Override
  public void write(String embeddingVersion, List<VectorRow> rows) throws InterruptedException {
    ensureTable();
    var block = new NativeBlock();
    var tenant = block.addLowCardinality("Tenant");
    var embeddingVersions = block.addLowCardinality("Recipe");
    var ids = block.addPlain("TemplateId", "UUID");
    var words = block.addPlain("Words", "String");
    var vector = block.addColumn("Vector", "Array(Float32)", new ArrayFloat32Column());
    var tokens = block.addPlain("Tokens", "String");
    for (var row : rows) {
      var vectors = row.vectors();
      if (vectors.sentenceVector().length != dimension) {
        throw new IllegalArgumentException(
            "vector has dimension %d, not %d"
                .formatted(vectors.sentenceVector().length, dimension));
      }
      tenant.add(row.tenant());
      embeddingVersions.add(embeddingVersion);
      ids.writeUuid(vectors.id());
      var text = row.keywords().getBytes(UTF_8);
      words.writeString(text, 0, text.length);
      vector.add(vectors.sentenceVector());
      tokens.writeString(vectors.tokenVectors(), 0, vectors.tokenVectors().length);
      block.endRow();
    }
    var token = UUID.randomUUID().toString();
    try {
      database.client().insert(table, block, token, "vectors~" + token);
    } catch (ClickHouseException e) {
      throw onFailure(e);
    }
  }

  @Override
  public Set<String> tenants() throws InterruptedException {
    ensureTable();
    return Set.copyOf(
        query(
            "SELECT DISTINCT Tenant FROM log_templates FORMAT RowBinary",
            Map.of(),
            RowBinary::readStrings));
  }

  @Override
  public List<UnembeddedTemplate> findUnembedded(
      String embeddingVersion, String tenant, Collection<UUID> excluded, int limit)
      throws InterruptedException {
    requireAtMostMaxIds(excluded);
    ensureTable();
    return query(
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
                excluded.isEmpty()
                    ? ""
                    : " AND TemplateId NOT IN (%s)".formatted(DictionaryTable.uuidList(excluded))),
        Map.of("recipe", embeddingVersion, "tenant", tenant, "limit", String.valueOf(limit)),
        RowBinary::readUnembeddedTemplates);
  }

  /**
   * {@inheritDoc} Each part adds to the cost of each query. Only up to {@value
   * #MAX_EXHAUSTIVE_ROWS} rows are merged here, since merging takes CPU; with more rows the index
   * is used, and merging is left to ClickHouse.
   */
  @Override
  public void compact(String embeddingVersion) throws InterruptedException {
    ensureTable();
    var parts =
        query(
            """
            SELECT toInt64(count()), toInt64(sum(rows)) FROM system.parts
            WHERE database = currentDatabase() AND table = {table:String}
              AND partition = {recipe:String} AND active
            FORMAT RowBinary""",
            Map.of("table", table, "recipe", embeddingVersion),
            in -> RowBinary.readInt64s(in, 2));
    if (parts[0] > 1 && parts[1] <= MAX_EXHAUSTIVE_ROWS) {
      query(
          "OPTIMIZE TABLE %s PARTITION {recipe:String} FINAL".formatted(table),
          Map.of("recipe", embeddingVersion),
          InputStream::readAllBytes);
    }
  }

  @Override
  public long backlog(String embeddingVersion, String tenant) throws InterruptedException {
    ensureTable();
    var counts =
        query(
            """
            SELECT templates, embedded
            FROM (SELECT uniqExact(TemplateId) AS templates FROM log_templates
              WHERE Tenant = {tenant:String}) AS dictionary
            CROSS JOIN (SELECT uniqExact(TemplateId) AS embedded FROM %s
              WHERE Recipe = {recipe:String} AND Tenant = {tenant:String}) AS vectors
            FORMAT RowBinary"""
                .formatted(table),
            Map.of("recipe", embeddingVersion, "tenant", tenant),
            in -> RowBinary.readInt64s(in, 2));
    rowCounts.put(tenant, counts[1]);
    return Math.max(0, counts[0] - counts[1]);
  }

  @Override
  public Map<UUID, TemplateSample> samples(String tenant, Map<UUID, MinuteRange> minutes)
      throws InterruptedException {
    requireAtMostMaxIds(minutes.keySet());
    if (minutes.isEmpty()) {
      return Map.of();
    }
    var query =
        LogQuery.forTemplates(
            LogFilter.of(tenant).build(),
            minutes.entrySet().stream()
                .map(each -> TimeSlice.of(each.getKey(), null, each.getValue()))
                .toList(),
            """
            SELECT TemplateId, toString(ServiceName), arrayFirst(name -> name != '', [%s]),
              substringUTF8(Body, 1, %d)
            """
                .formatted(String.join(", ", COMPONENTS), SAMPLE_CHARACTERS),
            // The query ends with the first log of the last template, since a minute may have
            // millions of rows.
            """
            LIMIT 1 BY TemplateId
            LIMIT %d
            SETTINGS max_threads = 1, max_block_size = 8192
            FORMAT RowBinary"""
                .formatted(minutes.size()));
    return query == null
        ? Map.of()
        : query(query.sql(), query.parameters(), RowBinary::readSamples);
  }

  @Override
  public Set<UUID> templatesMatching(LogFilter filter) throws InterruptedException {
    ensureTable();
    int maxIds = TemplateStats.MAX_IDS;
    var query = LogQuery.templates(filter, maxIds + 1);
    var ids = query(query.sql(), query.parameters(), RowBinary::readUuids);
    if (ids.size() > maxIds) {
      throw new QueryTooExpensiveException("logs of more than %d templates".formatted(maxIds));
    }
    return new HashSet<>(ids);
  }

  /**
   * {@inheritDoc} Compares the rows of all templates and filters them, instead of looking up each
   * matching template in the primary index, which takes longer.
   */
  @Override
  public List<Candidate> nearest(
      String embeddingVersion, TemplateQuery filter, float[] vector, List<String> words, int limit)
      throws InterruptedException {
    ensureTable();
    var where = whereTemplates(embeddingVersion, filter);
    var queryVector = where.bind("Array(Float32)", Arrays.toString(vector));
    var maxRows = where.bind("UInt32", limit);
    var similarity = "toFloat64(1 - cosineDistance(Vector, %s))".formatted(queryVector);
    var allWordsCondition =
        words.isEmpty()
            ? null
            : "hasAllTokens(Words, %s)".formatted(where.bind("Array(String)", quoteAll(words)));
    boolean useIndex =
        isUnrestricted(filter) && rowCounts.getOrDefault(filter.tenant(), 0L) > MAX_EXHAUSTIVE_ROWS;
    var select =
        useIndex
            ? indexQuery(
                where, queryVector, similarity, allWordsCondition, where.bind("UInt32", 2 * limit))
            : "SELECT TemplateId, %s AS similarity, toUInt8(%s) AS allWords FROM %s WHERE %s"
                .formatted(
                    similarity,
                    allWordsCondition == null ? "0" : allWordsCondition,
                    table,
                    where.sql());
    return query(
        """
        %s
        ORDER BY allWords DESC, similarity DESC
        LIMIT 1 BY TemplateId
        LIMIT %s
        SETTINGS use_skip_indexes = %d, hnsw_candidate_list_size_for_search = %d,
          use_index_for_in_with_subqueries = 0
        FORMAT RowBinary"""
            .formatted(select, maxRows, useIndex ? 1 : 0, HNSW_CANDIDATES),
        where.parameters(),
        RowBinary::readCandidates);
  }

  /**
   * Returns a query that selects templates with all words separately, since the index only supports
   * an order by distance.
   *
   * @param maxRows parameter with the maximum number of rows of each part; more than the caller
   *     needs, since an id may have two rows before a merge
   */
  private String indexQuery(
      WhereClause where,
      String queryVector,
      String similarity,
      @Nullable String allWordsCondition,
      String maxRows) {
    var nearest =
        """
        SELECT TemplateId, %s AS similarity, toUInt8(0) AS allWords
        FROM %s
        WHERE %s
        ORDER BY cosineDistance(Vector, %s)
        LIMIT %s"""
            .formatted(similarity, table, where.sql(), queryVector, maxRows);
    if (allWordsCondition == null) {
      return "SELECT * FROM (%s)".formatted(nearest);
    }
    var keywordMatches =
        """
        SELECT TemplateId, %s AS similarity, toUInt8(1) AS allWords
        FROM %s
        WHERE %s AND %s
        ORDER BY similarity DESC
        LIMIT %s"""
            .formatted(similarity, table, where.sql(), allWordsCondition, maxRows);
    return "SELECT * FROM (SELECT * FROM (%s) UNION ALL SELECT * FROM (%s))"
        .formatted(nearest, keywordMatches);
  }

  private static List<String> quoteAll(List<String> words) {
    return words.stream().map(word -> "'" + word + "'").toList();
  }

  @Override
  public List<Candidate> matchKeywords(
      String embeddingVersion, TemplateQuery filter, List<String> words, int limit)
      throws InterruptedException {
    ensureTable();
    var where = whereTemplates(embeddingVersion, filter);
    var wordsParameter = where.bind("Array(String)", quoteAll(words));
    return query(
        """
        SELECT TemplateId,
          toFloat64(length(arrayIntersect(splitByChar(' ', Words), %1$s))) AS found,
          toUInt8(found = length(%1$s))
        FROM %2$s
        WHERE %3$s AND found > 0
        ORDER BY found DESC, TemplateId
        LIMIT %4$s
        FORMAT RowBinary"""
            .formatted(wordsParameter, table, where.sql(), where.bind("UInt32", limit)),
        where.parameters(),
        RowBinary::readCandidates);
  }

  @Override
  public List<Candidate> matchKeywordsUnembedded(
      String embeddingVersion, TemplateQuery filter, List<String> words, int limit)
      throws InterruptedException {
    ensureTable();
    var where = WhereClause.of(filter.tenant(), null);
    where.add(
        "TemplateId NOT IN (SELECT TemplateId FROM %s WHERE Recipe = %s AND Tenant = %s)"
            .formatted(
                table,
                where.bind("String", embeddingVersion),
                where.bind("String", filter.tenant())));
    if (!isUnrestricted(filter)) {
      where.addTemplatesOf(filter);
    }
    var wordsParameter = where.bind("Array(String)", quoteAll(words));
    // cheap, before the slower extraction of words
    where.add("multiSearchAny(lowerUTF8(Text), %s)".formatted(wordsParameter));
    return query(
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
            .formatted(wordsParameter, where.sql(), where.bind("UInt32", limit), WORD_PATTERN),
        where.parameters(),
        RowBinary::readCandidates);
  }

  @Override
  public Set<String> vocabulary(String tenant, int maxWords) throws InterruptedException {
    var words =
        Set.copyOf(
            database.queryWithShortTimeout(
                """
                SELECT DISTINCT arrayJoin(extractAll(lowerUTF8(Text), '%s'))
                FROM log_templates
                WHERE Tenant = {tenant:String} AND TemplateId NOT IN (
                  SELECT TemplateId FROM log_templates
                  WHERE Tenant = {tenant:String} AND notEmpty(MergedInto))
                LIMIT {limit:UInt32}
                FORMAT RowBinary"""
                    .formatted(WORD_PATTERN),
                Map.of("limit", String.valueOf(maxWords + 1L), "tenant", tenant),
                RowBinary::readStrings));
    if (words.size() > maxWords) {
      throw new QueryTooExpensiveException("templates of more than %d words".formatted(maxWords));
    }
    return words;
  }

  @Override
  public List<Vectors> find(String embeddingVersion, String tenant, Collection<UUID> ids)
      throws InterruptedException {
    requireAtMostMaxIds(ids);
    ensureTable();
    return ids.isEmpty()
        ? List.of()
        : query(
            """
            SELECT TemplateId, Vector, Tokens FROM %s
            WHERE Recipe = {recipe:String} AND Tenant = {tenant:String} AND TemplateId IN (%s)
            LIMIT 1 BY TemplateId
            FORMAT RowBinary"""
                .formatted(table, DictionaryTable.uuidList(ids)),
            Map.of("recipe", embeddingVersion, "tenant", tenant),
            RowBinary::readVectors);
  }

  /** Returns the condition on templates with which records that match the query are stored. */
  private static WhereClause whereTemplates(String embeddingVersion, TemplateQuery filter) {
    var where = WhereClause.of(filter.tenant(), null);
    where.add("Recipe = " + where.bind("String", embeddingVersion));
    if (!isUnrestricted(filter)) {
      where.addTemplatesOf(filter);
    }
    return where;
  }

  private static boolean isUnrestricted(TemplateQuery filter) {
    return filter.service() == null
        && filter.severities().isEmpty()
        && filter.minSeverity() == 0
        && filter.ids().isEmpty()
        && filter.minuteRange().equals(MinuteRange.ALL);
  }

  private static void requireAtMostMaxIds(Collection<UUID> ids) {
    if (ids.size() > MAX_IDS) {
      throw new IllegalArgumentException(ids.size() + " ids, at most " + MAX_IDS);
    }
  }

  private <T> T query(
      String sql, Map<String, String> parameters, ClickHouseClient.ResponseReader<T> reader)
      throws InterruptedException {
    try {
      return database.query(sql, parameters, reader);
    } catch (ClickHouseException e) {
      throw onFailure(e);
    }
  }

  private ClickHouseException onFailure(ClickHouseException e) {
    if (e.kind() == ClickHouseException.FailureKind.SCHEMA_MISMATCH) {
      tableCreated.set(false);
    }
    return e;
  }

  /** Creates the table before its first use, and again after a schema mismatch. */
  private void ensureTable() throws InterruptedException {
    database.migrate();
    if (!tableCreated.get()) {
      database
          .migrator()
          .run("template_vectors.sql", Map.of("{dimension}", String.valueOf(dimension)));
      tableCreated.set(true);
    }
  }
}
