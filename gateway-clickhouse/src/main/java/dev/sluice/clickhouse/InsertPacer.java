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
 * How far apart inserts should be, so that merges keep up with them.
 *
 * <p>ClickHouse slows inserts down once a partition has {@code parts_to_delay_insert} active parts,
 * and refuses them at {@code parts_to_throw_insert}. Fewer, larger inserts make fewer parts, so the
 * gateway slows down before that: with the most parts of any partition {@code p} and {@code
 * parts_to_delay_insert} {@code d}, the distance is
 *
 * <pre>
 *   0                             for p &lt;= d/2
 *   30 s * ((p - d/2) / (d/2))²   up to
 *   30 s                          for p &gt;= d
 * </pre>
 *
 * <p>A part costs some milliseconds however few rows it has, and an insert makes one for each day
 * in it. So a delivery waits for company 50 ms for each part but the first that the last one made,
 * up to five seconds: logs of many days come in fewer inserts, and those of one day as ever. One
 * that is full has nothing to wait for, so that a backlog of many days is stored as fast as it can
 * be.
 *
 * <p>Safe for use by many threads.
 */
final class InsertPacer {
  private static final Logger LOG = LoggerFactory.getLogger(InsertPacer.class);
  private static final Duration MAX_INTERVAL = Duration.ofSeconds(30);

  /** Parts come with inserts and go with merges: neither is a matter of milliseconds. */
  private static final Duration CACHE_TTL = Duration.ofSeconds(3);

  private static final Duration QUERY_TIMEOUT = Duration.ofSeconds(1);

  /**
   * Some five times what one costs with its first merge, 10 ms of CPU, measured with logs of 187
   * days that came one by one.
   */
  private static final Duration LINGER_PER_PART = Duration.ofMillis(50);

  /** Half of what a client who waits for the store is given by default. */
  private static final Duration MAX_LINGER = Duration.ofSeconds(5);

  /** The most parts of a partition, the table's own limit or nothing, the limit of all tables. */
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

  /** A delivery of long ago says nothing of the next. */
  private static final Duration LAST_INSERT_TTL = Duration.ofSeconds(30);

  /** What a delivery made. */
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

  /** How many parts a delivery has made. */
  void recordInsert(int parts) {
    lastInsert = new LastInsert(parts, clock.instant());
  }

  /** How long the next delivery should wait for company unless it is full. */
  Duration preferredLinger() {
    var last = lastInsert; // another may make more meanwhile
    boolean expired = last.time().isBefore(clock.instant().minus(LAST_INSERT_TTL));
    return expired ? Duration.ZERO : lingerFor(last.parts());
  }

  /** What was last found, asked again every few seconds by one thread; zero when nobody knows. */
  Duration minInsertInterval() {
    var now = clock.instant();
    // a clock that was set back must not make an old answer last
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
      LOG.debug("nobody knows how many parts there are", e);
      return Duration.ZERO;
    }
  }

  /**
   * @param parts made by a delivery
   */
  static Duration lingerFor(int parts) {
    var linger = LINGER_PER_PART.multipliedBy(Math.max(0, parts - 1));
    return linger.compareTo(MAX_LINGER) < 0 ? linger : MAX_LINGER;
  }

  /**
   * @param parts the most active ones of a partition
   * @param limit from which on ClickHouse slows inserts down; 0 for never
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
