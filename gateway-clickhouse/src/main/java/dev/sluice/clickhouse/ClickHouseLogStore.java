package dev.sluice.clickhouse;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.port.Dictionary;
import dev.sluice.core.port.LogEnricher;
import dev.sluice.core.port.LogReader;
import dev.sluice.core.port.LogStore;
import dev.sluice.core.query.LogFilter;
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
 * Logs in ClickHouse's table {@code otel_logs}.
 *
 * <p>Building one needs no ClickHouse; the tables are made or brought up to date before they are
 * first used. As many inserts are under way as there are callers of {@link #store}, who should be
 * few: ClickHouse takes few large inserts far more cheaply than many small ones.
 *
 * <p>Safe for use by many threads. All methods but the constructor and {@link #close} block.
 */
public final class ClickHouseLogStore implements LogStore, LogReader, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ClickHouseLogStore.class);
  private static final Duration PING_TIMEOUT = Duration.ofSeconds(1);

  /** Column sets kept for the next delivery, one for each of the usual workers. */
  private static final int MAX_SPARE_BUILDERS = 2;

  /**
   * A runaway query must not take the memory and the cores that inserts need. Ten thousand ids are
   * a long question.
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

  /** Of a question that is not worth more. */
  private static final Map<String, String> SHORT_TIMEOUT_SETTINGS = shortTimeoutSettings();

  /** A token that hides records is rare; one after the other means that something else is wrong. */
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
   * @param clock tells which logs are older than the retention, and when to count parts again
   */
  public ClickHouseLogStore(ClickHouseSettings settings, InstantSource clock) {
    this.settings = settings;
    this.clock = clock;
    client = new ClickHouseClient(settings);
    migrator = new SchemaMigrator(client, settings);
    pacer = new InsertPacer(client, clock);
  }

  /**
   * Makes the tables or brings them up to date now instead of before their first use.
   *
   * @throws RuntimeException when ClickHouse is away or refuses; asking again later is right
   */
  public void migrate() throws InterruptedException {
    migrator.ensureMigrated();
  }

  /**
   * Stores the records in one insert, or in several that each cover other days or not too many
   * bytes. The first attempt believes ClickHouse; a later one looks for itself, see {@link
   * #storeMissing}. What the records refer to is written before them.
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
      LOG.error("a delivery cannot be stored: {}", e.getMessage());
      return new StoreResult.Corrupt(e.appendId(), e.reason());
    } catch (ClickHouseException e) {
      return toOutcome(e);
    } finally {
      recycle(builder);
    }
  }

  /**
   * Inserts what is not there of a portion that somebody may have tried before.
   *
   * <ul>
   *   <li>The token alone is no proof. ClickHouse forgets it after so many inserts, and the rows
   *       would be there twice; or it remembers a token whose rows a crash has taken, and they
   *       would not be there at all.
   *   <li>What is there says nothing while an earlier insert may still run. So that is ended first.
   *   <li>An earlier insert may even begin later than this one: its bytes may be under way, or
   *       whoever sends them asleep. So the first insert here has the same token, which ClickHouse
   *       takes once.
   *   <li>Only where the records do not appear under their token do they get another, which is the
   *       same for everyone who comes to this point.
   *   <li>What is there is not inserted again, not even to be left out by its token: views of the
   *       table would be fed twice once the token is forgotten.
   * </ul>
   */
  private void storeMissing(DeliverySlice slice, LogEnricher enricher, LogBlockBuilder builder)
      throws InterruptedException {
    client.killInserts(queryIdPrefix(slice));
    var missing = findMissing(new DuplicateCheck(slice, Long.MIN_VALUE));
    // what is older than the retention is inserted like any other, but may be gone at once
    var retained = new DuplicateCheck(slice, retentionStart());
    for (int token = 0; !missing.isEmpty(); token++) {
      if (token == MAX_INSERT_TOKENS) {
        throw ClickHouseException.retryable(
            "ClickHouse confirmed %d records that are not there".formatted(missing.cardinality()));
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
   * @param records places in the portion of the records to insert; null for all. The others still
   *     have their part in what goes into which insert, as when all were inserted
   * @param tokenSuffix added to the tokens
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

  /** First: rows must not refer to what nobody can look up. */
  private static void writeDictionary(LogEnricher enricher) throws InterruptedException {
    switch (enricher.flush()) {
      case Dictionary.WriteResult.Written() -> {}
      case Dictionary.WriteResult.Retryable(var reason) ->
          throw ClickHouseException.retryable("the dictionary is not written: " + reason);
      case Dictionary.WriteResult.SchemaMismatch(var reason) ->
          throw ClickHouseException.schemaMismatch("the dictionary cannot be written: " + reason);
    }
  }

  /** For those of the pass that are to be inserted; null when there are none. */
  private static @Nullable InsertPartitioner withoutStored(
      DeliverySlice slice,
      LogEnricher enricher,
      InsertPartitioner partitioner,
      BitSet missing,
      LogBlockBuilder builder)
      throws InterruptedException {
    try {
      builder.fill(slice, partitioner, enricher, _ -> {}); // tells what it takes
    } catch (IOException e) {
      throw new UncheckedIOException(e); // nothing is written anywhere
    }
    var selected = partitioner.selected();
    selected.and(missing);
    return selected.isEmpty() ? null : InsertPartitioner.ofRecords(selected);
  }

  /**
   * How the ids of all inserts of a delivery begin. Not with the token: a part of a delivery has
   * another one than the whole, but an insert of the whole must not run on beside it.
   */
  private static String queryIdPrefix(DeliverySlice slice) {
    return slice.batches().getFirst().appendId() + "~";
  }

  private StoreResult toOutcome(ClickHouseException e) throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    return switch (e.kind()) {
      case RETRYABLE -> new StoreResult.Retryable(message(e));
      case SCHEMA_MISMATCH -> {
        migrator.invalidate();
        yield new StoreResult.SchemaMismatch(message(e));
      }
      case REJECTED -> new StoreResult.Rejected(message(e));
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
      throw new IllegalArgumentException("limit is " + query.limit() + ", at least 1");
    }
    migrator.ensureMigrated();
    // one more than asked for tells whether there is more
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
   * All logs that are asked for, if these are fewer; null when they are not, or may well be more.
   * To find them by the text index takes 12 ms of CPU where to go through all parts in the table's
   * order takes 16 (one of ten million logs). Where many come and few are asked for, that order has
   * them at once and the index does not: so this gives up soon.
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

  /** Whether it is worth asking for those, which hardly anybody has: a third of what that costs. */
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
      throw new IllegalArgumentException("width is " + widthNanos + " ns, at least 1");
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

  /** A question of a person, for whom it matters why it has no answer. */
  <T> T query(String sql, Map<String, String> parameters, ClickHouseClient.ResponseReader<T> reader)
      throws InterruptedException {
    return query(sql, parameters, QUERY_SETTINGS, reader);
  }

  /** The same, which would be good to know but can be done without: for a second at most. */
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
      throw ClickHouseException.unreachable("interrupted while the tables were made", e);
    }
    return client.query(
        // what others wrote has no identity of ours
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

  /** {@inheritDoc} Follows the parts of the table: see {@link InsertPacer}. */
  @Override
  public Duration minInsertInterval() {
    return pacer.minInsertInterval();
  }

  /** {@inheritDoc} Follows the parts of the last insert: see {@link InsertPacer}. */
  @Override
  public Duration preferredLinger() {
    return pacer.preferredLinger();
  }

  /**
   * Why ClickHouse does not answer at the moment; empty when it does. Takes a few seconds at most.
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

  /** Ends the connections; what is under way fails. */
  @Override
  public void close() {
    client.close();
  }
}
