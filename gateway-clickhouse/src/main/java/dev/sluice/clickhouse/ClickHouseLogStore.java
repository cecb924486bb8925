package dev.sluice.clickhouse;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.port.LogEnricher;
import dev.sluice.core.port.LogStore;
import dev.sluice.core.port.WriteResult;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.time.InstantSource;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedDeque;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A {@link LogStore} and {@link LogReader} on the ClickHouse table {@code otel_logs}.
 *
 * <p>The constructor needs no ClickHouse; the tables are created or migrated before their first
 * use. The number of concurrent inserts is the number of concurrent callers of {@link #store},
 * which should be small: few large inserts cost ClickHouse far less than many small ones.
 *
 * <p>Safe for use by many threads. All methods but the constructor and {@link #close} block.
 */
public final class ClickHouseLogStore implements LogStore, LogReader, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ClickHouseLogStore.class);
  private static final Duration PING_TIMEOUT = Duration.ofSeconds(1);

  /**
   * Maximum number of builders that are kept for the next delivery, one for each of the default
   * workers.
   */
  private static final int MAX_SPARE_BUILDERS = 2;

  /**
   * Settings of each query: limits that reserve memory and cores for inserts (ADR 0038), and a
   * query size that fits ten thousand ids.
   */
  private static final Map<String, String> QUERY_SETTINGS =
      Map.of(
          "max_memory_usage",
          String.valueOf(2L << 30),
          "max_threads",
          "2",
          "use_uncompressed_cache",
          "0",
          "max_query_size",
          String.valueOf(4 << 20));

  /** Settings of a query whose result is optional. */
  private static final Map<String, String> SHORT_TIMEOUT_SETTINGS = shortTimeoutSettings();

  /**
   * Maximum number of deduplication tokens of a delivery. A token that hides missing records is
   * rare; several in a row indicate another fault.
   */
  private static final int MAX_INSERT_TOKENS = 5;

  private static final Comparator<StoredLog> NEWEST_FIRST =
      Comparator.comparingLong(StoredLog::timeNanos).thenComparing(StoredLog::id).reversed();

  private static final int TIMEOUT_EXCEEDED = 159;
  private static final int MEMORY_LIMIT_EXCEEDED = 241;

  private final ClickHouseSettings settings;
  private final ClickHouseClient client;
  private final SchemaMigrator migrator;
  private final ConcurrentLinkedDeque<LogBlockBuilder> spareBuilders =
      new ConcurrentLinkedDeque<>();
  private final InstantSource clock;
  private final InsertPacer pacer;

  public ClickHouseLogStore(ClickHouseSettings settings) {
    this(settings, InstantSource.system());
  }

  /**
   * @param clock the clock for the retention and for the age of cached part counts
   */
  public ClickHouseLogStore(ClickHouseSettings settings, InstantSource clock) {
    this.settings = settings;
    this.clock = clock;
    client = new ClickHouseClient(settings);
    migrator = new SchemaMigrator(client, settings);
    pacer = new InsertPacer(client, clock);
  }

  /**
   * Creates or migrates the tables now instead of before their first use.
   *
   * @throws RuntimeException when ClickHouse is unavailable or rejects the migration; a later call
   *     may succeed
   */
  public void migrate() throws InterruptedException {
    migrator.ensureMigrated();
  }

  /**
   * Stores the records in one insert, or in several inserts of different days or of a limited size.
   * A first attempt relies on the confirmation of ClickHouse; a redelivery checks which records are
   * stored, see {@link #storeMissing}. Dictionary entries are written before the records that refer
   * to them.
   */
  @Override
  public StoreResult store(DeliverySlice slice, LogEnricher enricher) throws InterruptedException {
    var builder = spareBuilders.pollFirst();
    if (builder == null) {
      builder = new LogBlockBuilder();
    }
    try {
      migrator.ensureMigrated();
      if (slice.redelivered()) {
        storeMissing(slice, enricher, builder);
      } else {
        insert(slice, enricher, null, "", builder);
      }
      return new StoreResult.Stored();
    } catch (LogBlockBuilder.UnstorableBatchException e) {
      LOG.error("insert failed: corrupt batch in the delivery: {}", e.getMessage());
      return new StoreResult.Corrupt(e.appendId(), e.reason());
    } catch (ClickHouseException e) {
      return toStoreResult(e);
    } finally {
      recycle(builder);
    }
  }

  /**
   * Inserts the missing records of a slice that an earlier attempt may have inserted; see ADR 0026.
   *
   * <ul>
   *   <li>A deduplication token alone proves nothing. ClickHouse forgets a token after a number of
   *       inserts, so that the rows would be stored twice; or it remembers a token whose rows were
   *       lost in a crash, so that the rows would never be stored.
   *   <li>A lookup proves nothing while an earlier insert may still run. So earlier inserts are
   *       killed first.
   *   <li>An earlier insert may even start after this one, when its bytes are delayed in the
   *       network or its sender is suspended. So the first insert here has the same token, which
   *       ClickHouse accepts once.
   *   <li>Only records that are missing after an insert with their token get another token, which
   *       is the same for every gateway that reaches this point.
   *   <li>Stored records are not inserted again, not even with their token: views of the table
   *       would count these twice once the token is forgotten.
   * </ul>
   */
  private void storeMissing(DeliverySlice slice, LogEnricher enricher, LogBlockBuilder builder)
      throws InterruptedException {
    client.killInserts(queryIdPrefix(slice));
    var missing = findMissing(new DuplicateCheck(slice, Long.MIN_VALUE));
    // Records that are older than the retention are inserted as well, but ClickHouse may delete
    // these immediately.
    var retained = new DuplicateCheck(slice, retentionStart());
    for (int token = 0; !missing.isEmpty(); token++) {
      if (token == MAX_INSERT_TOKENS) {
        throw ClickHouseException.retryable(
            "ClickHouse confirmed %d records that are missing from the table"
                .formatted(missing.cardinality()));
      }
      boolean all = missing.cardinality() == slice.records();
      insert(slice, enricher, all ? null : missing, token == 0 ? "" : "#" + token, builder);
      missing = findMissing(retained);
    }
  }

  private BitSet findMissing(DuplicateCheck check) {
    var missing = check.positions();
    for (var sql : check.queries()) {
      client.query(
          sql,
          Map.of(),
          QUERY_SETTINGS,
          settings.queryTimeout(),
          in -> {
            check.clearStored(in, missing);
            return missing;
          });
    }
    return missing;
  }

  private long retentionStart() {
    var retention = settings.retention();
    if (retention == null) {
      return Long.MIN_VALUE;
    }
    var start = clock.instant().minus(retention);
    return start.getEpochSecond() * 1_000_000_000L + start.getNano();
  }

  /**
   * Inserts records of a slice.
   *
   * @param records indexes in the slice of the records to insert; null for all. The other records
   *     still influence the partitioning, so that it is the same as for an insert of all records
   * @param tokenSuffix suffix of the deduplication tokens
   */
  private void insert(
      DeliverySlice slice,
      LogEnricher enricher,
      @Nullable BitSet records,
      String tokenSuffix,
      LogBlockBuilder builder)
      throws InterruptedException {
    int inserts = 0;
    int parts = 0;
    for (var partitioner = InsertPartitioner.first(settings.maxInsertBytes());
        partitioner != null;
        partitioner = partitioner.next()) {
      var selection =
          records == null
              ? partitioner
              : withoutStored(slice, enricher, partitioner, records, builder);
      if (selection != null) {
        var token = (inserts == 0 ? slice.token() : slice.token() + "-" + inserts) + tokenSuffix;
        client.insert(
            "otel_logs",
            builder.columnNames(),
            out ->
                builder.fill(
                    slice,
                    selection,
                    enricher,
                    block -> {
                      writeDictionary(enricher);
                      block.writeTo(out);
                    }),
            token,
            queryIdPrefix(slice) + token + "~" + UUID.randomUUID());
      }
      inserts++;
      parts += partitioner.dayCount();
    }
    pacer.recordInsert(parts);
  }

  /** Writes the dictionary entries before the rows, so that each id in a row can be resolved. */
  private static void writeDictionary(LogEnricher enricher) throws InterruptedException {
    switch (enricher.flush()) {
      case WriteResult.Written() -> {}
      case WriteResult.Retryable(var reason) ->
          throw ClickHouseException.retryable("dictionary write failed: " + reason);
      case WriteResult.SchemaMismatch(var reason) ->
          throw ClickHouseException.schemaMismatch("dictionary write failed: " + reason);
    }
  }

  /**
   * Returns a partitioner of the missing records among those that the given one selects; null when
   * there are none.
   */
  private static @Nullable InsertPartitioner withoutStored(
      DeliverySlice slice,
      LogEnricher enricher,
      InsertPartitioner partitioner,
      BitSet missing,
      LogBlockBuilder builder)
      throws InterruptedException {
    try {
      builder.fill(slice, partitioner, enricher, _ -> {}); // only to select the records
    } catch (IOException e) {
      throw new UncheckedIOException(e); // impossible, since nothing is written
    }
    var selected = partitioner.selected();
    selected.and(missing);
    return selected.isEmpty() ? null : InsertPartitioner.ofRecords(selected);
  }

  /**
   * Returns the common prefix of the query ids of all inserts of a delivery. It does not contain
   * the token, since a part of a delivery has another token than the whole delivery, and an insert
   * of the whole delivery must also be killed.
   */
  private static String queryIdPrefix(DeliverySlice slice) {
    return slice.batches().getFirst().appendId() + "~";
  }

  private StoreResult toStoreResult(ClickHouseException e) throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    return switch (e.kind()) {
      case RETRYABLE -> new StoreResult.Retryable(message(e));
      case SCHEMA_MISMATCH -> {
        migrator.invalidate();
        yield new StoreResult.SchemaMismatch(message(e));
      }
      case REJECTED -> new StoreResult.Rejected(message(e), e.code());
    };
  }

  private static String message(Exception e) {
    var message = e.getMessage();
    return message == null ? e.getClass().getSimpleName() : message;
  }

  private void recycle(LogBlockBuilder builder) {
    if (!builder.oversized() && spareBuilders.size() < MAX_SPARE_BUILDERS) {
      spareBuilders.addFirst(builder);
    }
  }

  @Override
  public LogPage read(Query query) throws InterruptedException {
    if (query.limit() < 1) {
      throw new IllegalArgumentException("limit is " + query.limit() + ", minimum is 1");
    }
    migrator.ensureMigrated();
    // One row more than the limit shows whether there are more.
    int maxRows = query.limit() + 1;
    var indexed = queryTextIndex(query, maxRows);
    if (indexed != null) {
      return new LogPage(indexed, null);
    }
    var logs = new ArrayList<StoredLog>();
    boolean truncated = false;
    var unsortedQuery = LogQuery.unsortedRange(query, maxRows);
    if (unsortedQuery != null && hasUnsortedRange()) {
      truncated = query(unsortedQuery, in -> RowBinary.readLogs(in, logs));
    }
    var sortedQuery =
        truncated || logs.size() == maxRows
            ? null
            : LogQuery.sortedRange(query, maxRows - logs.size());
    if (sortedQuery != null) {
      truncated = query(sortedQuery, in -> RowBinary.readLogs(in, logs));
    }
    if (!truncated && logs.size() < maxRows) {
      return new LogPage(List.copyOf(logs), null);
    }
    var page = List.copyOf(logs.subList(0, Math.min(logs.size(), query.limit())));
    var last = page.getLast();
    return new LogPage(page, new Position(last.timeNanos(), last.id()));
  }

  /**
   * Returns all logs that match, if the text index finds fewer than {@code maxRows}; null
   * otherwise. For rare terms the index is cheaper than a scan of all parts in the order of the
   * table. For frequent terms the scan returns the first page immediately and the index does not,
   * so that this lookup has a short timeout.
   */
  private @Nullable List<StoredLog> queryTextIndex(Query query, int maxRows)
      throws InterruptedException {
    var indexQuery = LogQuery.textIndexLookup(query, maxRows);
    if (indexQuery == null) {
      return null;
    }
    var logs = new ArrayList<StoredLog>();
    try {
      if (queryWithShortTimeout(
          indexQuery.sql(), indexQuery.parameters(), in -> RowBinary.readLogs(in, logs))) {
        return null;
      }
    } catch (QueryTooExpensiveException _) {
      return null;
    }
    logs.sort(NEWEST_FIRST);
    return logs.size() == maxRows ? null : List.copyOf(logs);
  }

  /**
   * Whether the table has rows in the unsorted range, which is rare; the check is cheaper than a
   * query of the range.
   */
  private boolean hasUnsortedRange() throws InterruptedException {
    return query(LogQuery.UNSORTED_RANGE_EXISTS, Map.of(), in -> in.read() >= 0);
  }

  @Override
  public TimeExtent timeExtent(LogFilter filter) throws InterruptedException {
    migrator.ensureMigrated();
    var sorted = query(LogQuery.sortedRangeExtent(filter), RowBinary::readTimeExtent);
    var unsortedQuery = LogQuery.unsortedRangeExtent(filter);
    if (unsortedQuery == null || !hasUnsortedRange()) {
      return sorted;
    }
    var unsorted = query(unsortedQuery, RowBinary::readTimeExtent);
    if (unsorted.count() == 0) {
      return sorted;
    }
    return sorted.count() == 0
        ? unsorted
        : new TimeExtent(
            sorted.count() + unsorted.count(), sorted.firstNanos(), unsorted.lastNanos());
  }

  @Override
  public List<HistogramBucket> histogram(LogFilter filter, long originNanos, long widthNanos)
      throws InterruptedException {
    if (widthNanos < 1) {
      throw new IllegalArgumentException("width is " + widthNanos + " ns, minimum is 1");
    }
    migrator.ensureMigrated();
    return query(
        LogQuery.histogram(filter, originNanos, widthNanos),
        in -> RowBinary.readBuckets(in, originNanos, widthNanos));
  }

  private <T> T query(LogQuery query, ClickHouseClient.ResponseReader<T> reader)
      throws InterruptedException {
    return query(query.sql(), query.parameters(), reader);
  }

  private static Map<String, String> shortTimeoutSettings() {
    var shortTimeout = new HashMap<>(QUERY_SETTINGS);
    shortTimeout.put("max_execution_time", "1");
    return Map.copyOf(shortTimeout);
  }

  /** Runs a query of a client, which needs the reason of a failure. */
  <T> T query(String sql, Map<String, String> parameters, ClickHouseClient.ResponseReader<T> reader)
      throws InterruptedException {
    return query(sql, parameters, QUERY_SETTINGS, reader);
  }

  /** Runs a query whose result is optional, for one second at most. */
  <T> T queryWithShortTimeout(
      String sql, Map<String, String> parameters, ClickHouseClient.ResponseReader<T> reader)
      throws InterruptedException {
    return query(sql, parameters, SHORT_TIMEOUT_SETTINGS, reader);
  }

  private <T> T query(
      String sql,
      Map<String, String> parameters,
      Map<String, String> querySettings,
      ClickHouseClient.ResponseReader<T> reader)
      throws InterruptedException {
    migrator.ensureMigrated();
    try {
      return client.query(sql, parameters, querySettings, settings.queryTimeout(), reader);
    } catch (ClickHouseException e) {
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      if (e.kind() == ClickHouseException.FailureKind.SCHEMA_MISMATCH) {
        migrator.invalidate();
      }
      var failed = e.withoutDetail();
      if (e.code() == TIMEOUT_EXCEEDED) {
        throw new QueryTooExpensiveException("more time than a query may take", failed);
      }
      if (e.code() == MEMORY_LIMIT_EXCEEDED && !e.isServerMemoryLimit()) {
        throw new QueryTooExpensiveException("more memory than a query may take", failed);
      }
      throw failed;
    }
  }

  @Override
  public SortedMap<LocalDate, Long> storedRecords(LocalDate from) {
    try {
      migrator.ensureMigrated();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw ClickHouseException.unreachable("interrupted during the schema migration", e);
    }
    return client.query(
        // Rows of other writers have an empty Id.
        """
        SELECT toDate32(ReceivedTimestamp, 'UTC') AS day, count() FROM otel_logs
        WHERE Id != toFixedString('', 16)
          AND ReceivedTimestamp >= toDateTime64({from:String}, 9, 'UTC')
        GROUP BY day FORMAT TSVRaw""",
        Map.of("from", from.isBefore(LocalDate.EPOCH) ? "1970-01-01" : from.toString()),
        QUERY_SETTINGS,
        settings.queryTimeout(),
        ClickHouseLogStore::parseDays);
  }

  private static SortedMap<LocalDate, Long> parseDays(InputStream in) throws IOException {
    var days = new TreeMap<LocalDate, Long>();
    new String(in.readAllBytes(), UTF_8)
        .lines()
        .map(line -> line.split("\t", 2))
        .forEach(line -> days.put(LocalDate.parse(line[0]), Long.valueOf(line[1])));
    return days;
  }

  /** {@inheritDoc} Depends on the active parts of the table: see {@link InsertPacer}. */
  @Override
  public Duration minInsertInterval() {
    return pacer.minInsertInterval();
  }

  /** {@inheritDoc} Depends on the parts of the last insert: see {@link InsertPacer}. */
  @Override
  public Duration preferredLinger() {
    return pacer.preferredLinger();
  }

  /**
   * Returns the reason for which ClickHouse does not respond; empty when it responds. Takes a few
   * seconds at most.
   */
  public Optional<String> unavailableReason() {
    try {
      client.query("SELECT 1", Map.of(), Map.of(), PING_TIMEOUT, in -> in.readAllBytes().length);
      return Optional.empty();
    } catch (ClickHouseException e) {
      return Optional.of(message(e));
    }
  }

  ClickHouseClient client() {
    return client;
  }

  SchemaMigrator migrator() {
    return migrator;
  }

  /** Closes the connections; requests in flight fail. */
  @Override
  public void close() {
    client.close();
  }
}
