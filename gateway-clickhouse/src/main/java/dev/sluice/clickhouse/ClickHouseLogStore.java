package dev.sluice.clickhouse;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.port.LogReader;
import dev.sluice.core.port.LogStore;
import dev.sluice.core.query.LogFilter;
import java.time.Duration;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs in ClickHouse's table {@code otel_logs}.
 *
 * <p>Building one needs no ClickHouse; the tables are made or brought up to date before they are
 * first used. One insert is under way at a time: ClickHouse takes few large ones far more cheaply
 * than many small ones. The columns of several deliveries may be built meanwhile.
 *
 * <p>Safe for use by many threads. All methods but the constructor and {@link #close} block.
 */
public final class ClickHouseLogStore implements LogStore, LogReader, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ClickHouseLogStore.class);
  private static final Duration PING_PATIENCE = Duration.ofSeconds(1);

  /** Column sets kept for the next delivery: one being sent and one being filled. */
  private static final int SPARE_COLUMNS = 2;

  /** A runaway query must not take the memory and the cores that inserts need. */
  private static final Map<String, String> QUERY_SETTINGS =
      Map.of(
          "max_memory_usage",
          String.valueOf(2L << 30),
          "max_threads",
          "2",
          "use_uncompressed_cache",
          "0");

  private static final int TIMEOUT_EXCEEDED = 159;
  private static final int MEMORY_LIMIT_EXCEEDED = 241;

  private final ClickHouseSettings settings;
  private final ClickHouseHttp http;
  private final Schema schema;
  private final ReentrantLock inserting = new ReentrantLock(true);
  private final ConcurrentLinkedDeque<LogColumns> spare = new ConcurrentLinkedDeque<>();

  public ClickHouseLogStore(ClickHouseSettings settings) {
    this.settings = settings;
    http = new ClickHouseHttp(settings);
    schema = new Schema(http, settings);
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
   * bytes. Repeated with the same token and batches it makes the same inserts, and those that were
   * stored before are not stored again.
   */
  @Override
  public Outcome store(Portion portion) throws InterruptedException {
    var columns = spare.pollFirst();
    if (columns == null) {
      columns = new LogColumns();
    }
    try {
      schema.ensure();
      int inserts = 0;
      for (var pass = Pass.first(settings.maxInsertBytes()); pass != null; pass = pass.next()) {
        columns.fill(portion.batches(), pass);
        insert(inserts == 0 ? portion.token() : portion.token() + "-" + inserts, columns.block());
        inserts++;
      }
      return new Outcome.Stored();
    } catch (LogColumns.Unstorable e) {
      LOG.error("a delivery cannot be stored: {}", e.getMessage());
      return new Outcome.Refused(message(e));
    } catch (ClickHouseFailed e) {
      return outcome(e);
    } finally {
      keep(columns);
    }
  }

  private void insert(String token, NativeBlock block) throws InterruptedException {
    inserting.lockInterruptibly();
    try {
      http.insert("otel_logs", block, token);
    } finally {
      inserting.unlock();
    }
  }

  private Outcome outcome(ClickHouseFailed e) throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    return switch (e.kind()) {
      case LATER -> new Outcome.TryLater(message(e));
      case SCHEMA -> {
        schema.doubt();
        yield new Outcome.Misshapen(message(e));
      }
      case DATA -> new Outcome.Refused(message(e));
    };
  }

  private static String message(Exception e) {
    var message = e.getMessage();
    return message == null ? e.getClass().getSimpleName() : message;
  }

  private void keep(LogColumns columns) {
    if (!columns.block().oversized() && spare.size() < SPARE_COLUMNS) {
      spare.addFirst(columns);
    }
  }

  @Override
  public Page read(Query query) throws InterruptedException {
    if (query.limit() < 1) {
      throw new IllegalArgumentException("limit is " + query.limit() + ", at least 1");
    }
    schema.ensure();
    var logs = new ArrayList<StoredLog>();
    // one more than asked for tells whether there is more
    int most = query.limit() + 1;
    boolean cut = false;
    var late = LogQuery.late(query, most);
    if (late != null) {
      cut = ask(late, in -> RowBinary.readLogs(in, logs));
    }
    var early = cut || logs.size() == most ? null : LogQuery.early(query, most - logs.size());
    if (early != null) {
      cut = ask(early, in -> RowBinary.readLogs(in, logs));
    }
    if (!cut && logs.size() < most) {
      return new Page(List.copyOf(logs), null);
    }
    var page = List.copyOf(logs.subList(0, Math.min(logs.size(), query.limit())));
    var last = page.getLast();
    return new Page(page, new Position(last.timeNanos(), last.id()));
  }

  @Override
  public Span span(LogFilter filter) throws InterruptedException {
    schema.ensure();
    var early = ask(LogQuery.earlySpan(filter), RowBinary::readSpan);
    var late = ask(LogQuery.lateSpan(filter), RowBinary::readSpan);
    if (late.count() == 0) {
      return early;
    }
    return early.count() == 0
        ? late
        : new Span(early.count() + late.count(), early.firstNanos(), late.lastNanos());
  }

  @Override
  public List<Bucket> histogram(LogFilter filter, long originNanos, long widthNanos)
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
    try {
      return http.query(
          query.sql(), query.parameters(), QUERY_SETTINGS, settings.queryTimeout(), body);
    } catch (ClickHouseFailed e) {
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      if (e.kind() == ClickHouseFailed.Kind.SCHEMA) {
        schema.doubt();
      }
      var failed = e.withoutDetail();
      if (e.code() == TIMEOUT_EXCEEDED) {
        throw new TooCostly("more time than a query may take", failed);
      }
      if (e.code() == MEMORY_LIMIT_EXCEEDED && !e.memoryOfAll()) {
        throw new TooCostly("more memory than a query may take", failed);
      }
      throw failed;
    }
  }

  /**
   * {@inheritDoc}
   *
   * @throws RuntimeException when ClickHouse cannot tell
   */
  @Override
  public SortedMap<LocalDate, Long> stored(LocalDate from) {
    try {
      schema.ensure();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw ClickHouseFailed.unreachable("interrupted while the tables were made", e);
    }
    return http.query(
        "SELECT count() FROM otel_logs FORMAT TSV",
        Map.of(),
        Map.of(),
        settings.queryTimeout(),
        in ->
            new TreeMap<>(
                Map.of(
                    LocalDate.EPOCH,
                    Long.parseLong(new String(in.readAllBytes(), UTF_8).strip()))));
  }

  @Override
  public Duration pace() {
    return Duration.ZERO;
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

  /** Ends the connections; what is under way fails. */
  @Override
  public void close() {
    http.close();
  }
}
