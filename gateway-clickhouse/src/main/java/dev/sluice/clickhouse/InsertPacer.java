package dev.sluice.clickhouse;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.InputStream;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Determines the minimum interval between inserts and the preferred linger of deliveries, so that
 * the merges of ClickHouse keep up.
 *
 * <p>ClickHouse delays inserts once a partition has {@code parts_to_delay_insert} active parts, and
 * rejects inserts at {@code parts_to_throw_insert}. Fewer, larger inserts create fewer parts, so
 * the gateway slows down before these limits: with the maximum number of active parts of a
 * partition {@code p} and {@code parts_to_delay_insert} {@code d}, the interval is
 *
 * <pre>
 *   0                             for p &lt;= d/2
 *   30 s * ((p - d/2) / (d/2))²   for d/2 &lt; p &lt; d
 *   30 s                          for p &gt;= d
 * </pre>
 *
 * <p>A part costs CPU time even with few rows, and an insert creates one part for each partition of
 * its rows. So a delivery lingers for each part but the first that the last delivery created, up to
 * a limit: in a table that is partitioned by event day, records of many days arrive in fewer
 * inserts, and records of one day are not delayed. A full delivery does not linger, so that a
 * backlog of many days is stored at full speed. Measured; see ADR 0025.
 *
 * <p>Safe for use by many threads.
 */
final class InsertPacer {
  private static final Logger LOG = LoggerFactory.getLogger(InsertPacer.class);
  private static final Duration MAX_INTERVAL = Duration.ofSeconds(30);

  /**
   * Lifetime of the queried number of parts, which changes with inserts and merges, but not within
   * milliseconds.
   */
  private static final Duration CACHE_TTL = Duration.ofSeconds(3);

  private static final Duration QUERY_TIMEOUT = Duration.ofSeconds(1);

  /**
   * Linger for each part: several times the CPU time of a part with its first merge; measured; see
   * ADR 0025.
   */
  private static final Duration LINGER_PER_PART = Duration.ofMillis(50);

  /** Half of the default time that a client waits for the store ({@code ack=stored}). */
  private static final Duration MAX_LINGER = Duration.ofSeconds(5);

  /**
   * Selects the maximum number of active parts of a partition, the limit of the table itself or an
   * empty value, and the default limit of all tables.
   */
  private static final String PARTS_QUERY =
      """
      SELECT
        (SELECT max(parts) FROM (
          SELECT count() AS parts FROM system.parts
          WHERE database = currentDatabase() AND table = 'otel_logs' AND active
          GROUP BY partition_id)),
        (SELECT extract(any(engine_full), 'parts_to_delay_insert = ([0-9]+)') FROM system.tables
          WHERE database = currentDatabase() AND name = 'otel_logs'),
        (SELECT any(value) FROM system.merge_tree_settings WHERE name = 'parts_to_delay_insert')
      FORMAT TSVRaw""";

  /** Age from which on the last insert does not influence the next delivery. */
  private static final Duration LAST_INSERT_TTL = Duration.ofSeconds(30);

  /** The number of parts that a delivery created, and its time. */
  private record LastInsert(int parts, Instant time) {}

  private final ClickHouseClient client;
  private final InstantSource clock;
  private final ReentrantLock queryLock = new ReentrantLock();
  private volatile Duration interval = Duration.ZERO;
  private volatile LastInsert lastInsert = new LastInsert(0, Instant.MIN);
  private volatile Instant validUntil = Instant.MIN;

  InsertPacer(ClickHouseClient client, InstantSource clock) {
    this.client = client;
    this.clock = clock;
  }

  /** Records the number of parts that a delivery created. */
  void recordInsert(int parts) {
    lastInsert = new LastInsert(parts, clock.instant());
  }

  /** Returns the time for which the next delivery should linger unless it is full. */
  Duration preferredLinger() {
    var last = lastInsert; // one read, since other threads write the field
    boolean expired = last.time().isBefore(clock.instant().minus(LAST_INSERT_TTL));
    return expired ? Duration.ZERO : lingerFor(last.parts());
  }

  /**
   * Returns the minimum interval between inserts. One thread at a time queries it again every few
   * seconds; zero when the number of parts is unknown.
   */
  Duration minInsertInterval() {
    var now = clock.instant();
    // If the clock was set back, the cached value must not stay valid for longer.
    boolean stale =
        now.isAfter(validUntil) || now.isBefore(validUntil.minus(CACHE_TTL.multipliedBy(2)));
    if (stale && queryLock.tryLock()) {
      try {
        interval = queryInterval();
        validUntil = now.plus(CACHE_TTL);
      } finally {
        queryLock.unlock();
      }
    }
    return interval;
  }

  private Duration queryInterval() {
    try {
      var response =
          client.query(PARTS_QUERY, Map.of(), Map.of(), QUERY_TIMEOUT, InputStream::readAllBytes);
      var values = new String(response, UTF_8).split("[\t\n]", -1);
      return intervalFor(
          Long.parseLong(values[0]), Long.parseLong(values[1].isEmpty() ? values[2] : values[1]));
    } catch (RuntimeException e) {
      LOG.debug("part count unavailable; inserts are not throttled", e);
      return Duration.ZERO;
    }
  }

  /**
   * @param parts number of parts that a delivery created
   */
  static Duration lingerFor(int parts) {
    var linger = LINGER_PER_PART.multipliedBy(Math.max(0, parts - 1));
    return linger.compareTo(MAX_LINGER) < 0 ? linger : MAX_LINGER;
  }

  /**
   * @param parts maximum number of active parts of a partition
   * @param limit number of parts from which on ClickHouse delays inserts; 0 for no limit
   */
  static Duration intervalFor(long parts, long limit) {
    double half = limit / 2.0;
    if (limit <= 0 || parts <= half) {
      return Duration.ZERO;
    }
    double pressure = Math.min(1, (parts - half) / half);
    return Duration.ofMillis(Math.round(MAX_INTERVAL.toMillis() * pressure * pressure));
  }
}
