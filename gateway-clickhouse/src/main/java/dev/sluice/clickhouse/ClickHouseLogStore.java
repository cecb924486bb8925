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
  private static final Duration PING_PATIENCE = Duration.ofSeconds(1);

  /** Column sets kept for the next delivery, one for each of the usual workers. */
  private static final int SPARE_COLUMNS = 2;

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
  private static final Map<String, String> SOON_SETTINGS = soon();

  /** A token that hides records is rare; one after the other means that something else is wrong. */
  private static final int MOST_TOKENS = 5;

  private static final Comparator<StoredLog> NEWEST_FIRST =
      Comparator.comparingLong(StoredLog::timeNanos).thenComparing(StoredLog::id).reversed();

  private static final int TIMEOUT_EXCEEDED = 159;
  private static final int MEMORY_LIMIT_EXCEEDED = 241;

  private final ClickHouseSettings settings;
  private final ClickHouseHttp http;
  private final Schema schema;
  private final ConcurrentLinkedDeque<LogColumns> spare = new ConcurrentLinkedDeque<>();
  private final InstantSource clock;
  private final Pace pace;

  public ClickHouseLogStore(ClickHouseSettings settings) {
    this(settings, InstantSource.system());
  }

  /**
   * @param clock tells which logs are older than the retention, and when to count parts again
   */
  public ClickHouseLogStore(ClickHouseSettings settings, InstantSource clock) {
    this.settings = settings;
    this.clock = clock;
    http = new ClickHouseHttp(settings);
    schema = new Schema(http, settings);
    pace = new Pace(http, clock);
  }

  /**
   * Makes the tables or brings them up to date now instead of before their first use.
   *
   * @throws RuntimeException when ClickHouse is away or refuses; asking again later is right
   */
  public void migrate() throws InterruptedException {
    schema.ensure();
  }

  /**
   * Stores the records in one insert, or in several that each cover other days or not too many
   * bytes. The first attempt believes ClickHouse; a later one looks for itself, see {@link
   * #complete}. What the records refer to is written before them.
   */
  @Override
  public StoreResult store(DeliverySlice portion, LogEnricher naming) throws InterruptedException {
    var columns = spare.pollFirst();
    if (columns == null) {
      columns = new LogColumns();
    }
    try {
      schema.ensure();
      if (portion.redelivered()) {
        complete(portion, naming, columns);
      } else {
        insert(portion, naming, null, "", columns);
      }
      return new StoreResult.Stored();
    } catch (LogColumns.Unstorable e) {
      LOG.error("a delivery cannot be stored: {}", e.getMessage());
      return new StoreResult.Corrupt(e.appendId(), e.reason());
    } catch (ClickHouseFailed e) {
      return outcome(e);
    } finally {
      keep(columns);
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
  private void complete(DeliverySlice portion, LogEnricher naming, LogColumns columns)
      throws InterruptedException {
    http.endInserts(attempts(portion));
    var missing = missing(new Identities(portion, Long.MIN_VALUE));
    // what is older than the retention is inserted like any other, but may be gone at once
    var lasting = new Identities(portion, keptSince());
    for (int token = 0; !missing.isEmpty(); token++) {
      if (token == MOST_TOKENS) {
        throw ClickHouseFailed.inDoubt(
            "ClickHouse confirmed %d records that are not there".formatted(missing.cardinality()));
      }
      boolean all = missing.cardinality() == portion.records();
      insert(portion, naming, all ? null : missing, token == 0 ? "" : "#" + token, columns);
      missing = missing(lasting);
    }
  }

  private BitSet missing(Identities identities) {
    var missing = identities.places();
    for (var question : identities.questions()) {
      http.query(
          question,
          Map.of(),
          QUERY_SETTINGS,
          settings.queryTimeout(),
          in -> {
            identities.clear(in, missing);
            return missing;
          });
    }
    return missing;
  }

  private long keptSince() {
    var retention = settings.retention();
    if (retention == null) {
      return Long.MIN_VALUE;
    }
    var since = clock.instant().minus(retention);
    return since.getEpochSecond() * 1_000_000_000L + since.getNano();
  }

  /**
   * @param only places in the portion of the records to insert; null for all. The others still have
   *     their part in what goes into which insert, as when all were inserted
   * @param again added to the tokens
   */
  private void insert(
      DeliverySlice portion,
      LogEnricher naming,
      @Nullable BitSet only,
      String again,
      LogColumns columns)
      throws InterruptedException {
    int inserts = 0;
    int parts = 0;
    for (var pass = Pass.first(settings.maxInsertBytes()); pass != null; pass = pass.next()) {
      var taking = only == null ? pass : restricted(portion, naming, pass, only, columns);
      if (taking != null) {
        var token = (inserts == 0 ? portion.token() : portion.token() + "-" + inserts) + again;
        http.insert(
            "otel_logs",
            columns.names(),
            out ->
                columns.fill(
                    portion,
                    taking,
                    naming,
                    block -> {
                      write(naming);
                      block.writeTo(out);
                    }),
            token,
            attempts(portion) + token + "~" + UUID.randomUUID());
      }
      inserts++;
      parts += pass.days();
    }
    pace.made(parts);
  }

  /** First: rows must not refer to what nobody can look up. */
  private static void write(LogEnricher naming) throws InterruptedException {
    switch (naming.flush()) {
      case Dictionary.WriteResult.Written() -> {}
      case Dictionary.WriteResult.Retryable(var reason) ->
          throw ClickHouseFailed.inDoubt("the dictionary is not written: " + reason);
      case Dictionary.WriteResult.SchemaMismatch(var reason) ->
          throw ClickHouseFailed.misshapen("the dictionary cannot be written: " + reason);
    }
  }

  /** For those of the pass that are to be inserted; null when there are none. */
  private static @Nullable Pass restricted(
      DeliverySlice portion, LogEnricher naming, Pass pass, BitSet only, LogColumns columns)
      throws InterruptedException {
    try {
      columns.fill(portion, pass, naming, _ -> {}); // tells what it takes
    } catch (IOException e) {
      throw new UncheckedIOException(e); // nothing is written anywhere
    }
    var taken = pass.taken();
    taken.and(only);
    return taken.isEmpty() ? null : Pass.only(taken);
  }

  /**
   * How the ids of all inserts of a delivery begin. Not with the token: a part of a delivery has
   * another one than the whole, but an insert of the whole must not run on beside it.
   */
  private static String attempts(DeliverySlice portion) {
    return portion.batches().getFirst().appendId() + "~";
  }

  private StoreResult outcome(ClickHouseFailed e) throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    return switch (e.kind()) {
      case LATER -> new StoreResult.Retryable(message(e));
      case SCHEMA -> {
        schema.doubt();
        yield new StoreResult.SchemaMismatch(message(e));
      }
      case DATA -> new StoreResult.Rejected(message(e));
    };
  }

  private static String message(Exception e) {
    var message = e.getMessage();
    return message == null ? e.getClass().getSimpleName() : message;
  }

  private void keep(LogColumns columns) {
    if (!columns.oversized() && spare.size() < SPARE_COLUMNS) {
      spare.addFirst(columns);
    }
  }

  @Override
  public LogPage read(Query query) throws InterruptedException {
    if (query.limit() < 1) {
      throw new IllegalArgumentException("limit is " + query.limit() + ", at least 1");
    }
    schema.ensure();
    // one more than asked for tells whether there is more
    int most = query.limit() + 1;
    var few = few(query, most);
    if (few != null) {
      return new LogPage(few, null);
    }
    var logs = new ArrayList<StoredLog>();
    boolean cut = false;
    var late = LogQuery.late(query, most);
    if (late != null && hasLate()) {
      cut = ask(late, in -> RowBinary.readLogs(in, logs));
    }
    var early = cut || logs.size() == most ? null : LogQuery.early(query, most - logs.size());
    if (early != null) {
      cut = ask(early, in -> RowBinary.readLogs(in, logs));
    }
    if (!cut && logs.size() < most) {
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
  private @Nullable List<StoredLog> few(Query query, int most) throws InterruptedException {
    var question = LogQuery.few(query, most);
    if (question == null) {
      return null;
    }
    var logs = new ArrayList<StoredLog>();
    try {
      if (askSoon(question.sql(), question.parameters(), in -> RowBinary.readLogs(in, logs))) {
        return null;
      }
    } catch (QueryTooExpensiveException _) {
      return null;
    }
    logs.sort(NEWEST_FIRST);
    return logs.size() == most ? null : List.copyOf(logs);
  }

  /** Whether it is worth asking for those, which hardly anybody has: a third of what that costs. */
  private boolean hasLate() throws InterruptedException {
    return ask(LogQuery.LATE, Map.of(), in -> in.read() >= 0);
  }

  @Override
  public TimeExtent timeExtent(LogFilter filter) throws InterruptedException {
    schema.ensure();
    var early = ask(LogQuery.earlySpan(filter), RowBinary::readSpan);
    var question = LogQuery.lateSpan(filter);
    if (question == null || !hasLate()) {
      return early;
    }
    var late = ask(question, RowBinary::readSpan);
    if (late.count() == 0) {
      return early;
    }
    return early.count() == 0
        ? late
        : new TimeExtent(early.count() + late.count(), early.firstNanos(), late.lastNanos());
  }

  @Override
  public List<HistogramBucket> histogram(LogFilter filter, long originNanos, long widthNanos)
      throws InterruptedException {
    if (widthNanos < 1) {
      throw new IllegalArgumentException("width is " + widthNanos + " ns, at least 1");
    }
    schema.ensure();
    return ask(
        LogQuery.histogram(filter, originNanos, widthNanos),
        in -> RowBinary.readBuckets(in, originNanos, widthNanos));
  }

  private <T> T ask(LogQuery query, ClickHouseHttp.Body<T> body) throws InterruptedException {
    return ask(query.sql(), query.parameters(), body);
  }

  private static Map<String, String> soon() {
    var soon = new HashMap<>(QUERY_SETTINGS);
    soon.put("max_execution_time", "1");
    return Map.copyOf(soon);
  }

  /** A question of a person, for whom it matters why it has no answer. */
  <T> T ask(String sql, Map<String, String> parameters, ClickHouseHttp.Body<T> body)
      throws InterruptedException {
    return ask(sql, parameters, QUERY_SETTINGS, body);
  }

  /** The same, which would be good to know but can be done without: for a second at most. */
  <T> T askSoon(String sql, Map<String, String> parameters, ClickHouseHttp.Body<T> body)
      throws InterruptedException {
    return ask(sql, parameters, SOON_SETTINGS, body);
  }

  private <T> T ask(
      String sql,
      Map<String, String> parameters,
      Map<String, String> querySettings,
      ClickHouseHttp.Body<T> body)
      throws InterruptedException {
    schema.ensure();
    try {
      return http.query(sql, parameters, querySettings, settings.queryTimeout(), body);
    } catch (ClickHouseFailed e) {
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      if (e.kind() == ClickHouseFailed.Kind.SCHEMA) {
        schema.doubt();
      }
      var failed = e.withoutDetail();
      if (e.code() == TIMEOUT_EXCEEDED) {
        throw new QueryTooExpensiveException("more time than a query may take", failed);
      }
      if (e.code() == MEMORY_LIMIT_EXCEEDED && !e.memoryOfAll()) {
        throw new QueryTooExpensiveException("more memory than a query may take", failed);
      }
      throw failed;
    }
  }

  @Override
  public SortedMap<LocalDate, Long> storedRecords(LocalDate from) {
    try {
      schema.ensure();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw ClickHouseFailed.unreachable("interrupted while the tables were made", e);
    }
    return http.query(
        // what others wrote has no identity of ours
        """
        SELECT toDate32(ReceivedTimestamp, 'UTC') AS day, count() FROM otel_logs
        WHERE Id != toFixedString('', 16)
          AND ReceivedTimestamp >= toDateTime64({from:String}, 9, 'UTC')
        GROUP BY day FORMAT TSVRaw""",
        Map.of("from", from.isBefore(LocalDate.EPOCH) ? "1970-01-01" : from.toString()),
        QUERY_SETTINGS,
        settings.queryTimeout(),
        ClickHouseLogStore::days);
  }

  private static SortedMap<LocalDate, Long> days(InputStream in) throws IOException {
    var days = new TreeMap<LocalDate, Long>();
    new String(in.readAllBytes(), UTF_8)
        .lines()
        .map(line -> line.split("\t", 2))
        .forEach(line -> days.put(LocalDate.parse(line[0]), Long.valueOf(line[1])));
    return days;
  }

  /** {@inheritDoc} Follows the parts of the table: see {@link Pace}. */
  @Override
  public Duration minInsertInterval() {
    return pace.distance();
  }

  /** {@inheritDoc} Follows the parts of the last insert: see {@link Pace}. */
  @Override
  public Duration preferredLinger() {
    return pace.gather();
  }

  /**
   * Why ClickHouse does not answer at the moment; empty when it does. Takes a few seconds at most.
   */
  public Optional<String> unavailable() {
    try {
      http.query("SELECT 1", Map.of(), Map.of(), PING_PATIENCE, in -> in.readAllBytes().length);
      return Optional.empty();
    } catch (ClickHouseFailed e) {
      return Optional.of(message(e));
    }
  }

  ClickHouseHttp http() {
    return http;
  }

  Schema schema() {
    return schema;
  }

  /** Ends the connections; what is under way fails. */
  @Override
  public void close() {
    http.close();
  }
}
