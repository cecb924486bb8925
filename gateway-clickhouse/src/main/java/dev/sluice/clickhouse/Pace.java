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
final class Pace {
  private static final Logger LOG = LoggerFactory.getLogger(Pace.class);
  private static final Duration SLOWEST = Duration.ofSeconds(30);

  /** Parts come with inserts and go with merges: neither is a matter of milliseconds. */
  private static final Duration VALID = Duration.ofSeconds(3);

  private static final Duration PATIENCE = Duration.ofSeconds(1);

  /**
   * Some five times what one costs with its first merge, 10 ms of CPU, measured with logs of 187
   * days that came one by one.
   */
  private static final Duration EACH_PART = Duration.ofMillis(50);

  /** Half of what a client who waits for the store is given by default. */
  private static final Duration LONGEST_FOR_PARTS = Duration.ofSeconds(5);

  /** The most parts of a partition, the table's own limit or nothing, the limit of all tables. */
  private static final String PARTS =
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
  private static final Duration MEMORY = Duration.ofSeconds(30);

  /** What a delivery made. */
  private record Made(int parts, Instant at) {}

  private final ClickHouseHttp http;
  private final InstantSource clock;
  private final ReentrantLock asking = new ReentrantLock();
  private volatile Duration pace = Duration.ZERO;
  private volatile Made made = new Made(0, Instant.MIN);
  private volatile Instant until = Instant.MIN;

  Pace(ClickHouseHttp http, InstantSource clock) {
    this.http = http;
    this.clock = clock;
  }

  /** How many parts a delivery has made. */
  void made(int parts) {
    made = new Made(parts, clock.instant());
  }

  /** How long the next delivery should wait for company unless it is full. */
  Duration gather() {
    var last = made; // another may make more meanwhile
    boolean longAgo = last.at().isBefore(clock.instant().minus(MEMORY));
    return longAgo ? Duration.ZERO : forParts(last.parts());
  }

  /** What was last found, asked again every few seconds by one thread; zero when nobody knows. */
  Duration distance() {
    var now = clock.instant();
    // a clock that was set back must not make an old answer last
    boolean old = now.isAfter(until) || now.isBefore(until.minus(VALID.multipliedBy(2)));
    if (old && asking.tryLock()) {
      try {
        pace = ask();
        until = now.plus(VALID);
      } finally {
        asking.unlock();
      }
    }
    return pace;
  }

  private Duration ask() {
    try {
      var answer = http.query(PARTS, Map.of(), Map.of(), PATIENCE, InputStream::readAllBytes);
      var found = new String(answer, UTF_8).split("[\t\n]", -1);
      return of(Long.parseLong(found[0]), Long.parseLong(found[1].isEmpty() ? found[2] : found[1]));
    } catch (RuntimeException e) {
      LOG.debug("nobody knows how many parts there are", e);
      return Duration.ZERO;
    }
  }

  /**
   * @param parts made by a delivery
   */
  static Duration forParts(int parts) {
    var pause = EACH_PART.multipliedBy(Math.max(0, parts - 1));
    return pause.compareTo(LONGEST_FOR_PARTS) < 0 ? pause : LONGEST_FOR_PARTS;
  }

  /**
   * @param parts the most active ones of a partition
   * @param limit from which on ClickHouse slows inserts down; 0 for never
   */
  static Duration of(long parts, long limit) {
    double half = limit / 2.0;
    if (limit <= 0 || parts <= half) {
      return Duration.ZERO;
    }
    double share = Math.min(1, (parts - half) / half);
    return Duration.ofMillis(Math.round(SLOWEST.toMillis() * share * share));
  }
}
