package dev.sluice.bench;

import java.io.IOException;
import java.time.Instant;

/**
 * The rows that are in the table before a gateway starts. Their times are in the hour before the
 * run, so they are in the same partition as the rows of the gateway, like those of a gateway that
 * ran for that hour. ClickHouse generates and merges them.
 *
 * @param rows the number of rows
 * @param seconds the duration of the load, including the merges
 * @param bytes the size on disk
 * @param parts the number of active parts after the merges
 */
record PreloadedRows(long rows, double seconds, long bytes, long parts) {
  private static final long HOUR = 3_600_000_000_000L;

  /**
   * The rows of one insert, as many as a gateway's insert can have; larger inserts need more
   * memory.
   */
  private static final long INSERT_ROWS = 1_000_000;

  /**
   * The insert. The rows have an old receive time: the gateway's ledger covers the last days and
   * does not know them. An id starts with a time, so the ids of these rows are below those of all
   * new rows.
   */
  private static final String INSERT_SQL =
      """
      INSERT INTO otel_logs (Timestamp, TraceId, SpanId, SeverityText, SeverityNumber, ServiceName,
        Body, ResourceAttributes, LogAttributes, Id, Tenant, TemplateId, ObservedTimestamp,
        ReceivedTimestamp)
      WITH
        ['gateway', 'checkout', 'payment', 'catalog', 'sessions', 'mailer'][rand(1) %% 6 + 1]
          AS service,
        ['GET /api/v2/orders/# 200 # ms, client 10.17.4.#, cached',
         'order # placed: # items, express delivery from wh-#',
         'payment of customer # captured after # ms, settlement batch #',
         'search for # terms took # ms, # hits, page 1',
         'session of user # ended after # s, # requests',
         'mail to customer # handed over in # ms, queue #'][rand(2) %% 6 + 1] AS line,
        rand(3) %% 4 = 0 AS traced,
        fromUnixTimestamp64Nano(toInt64(%1$d + number * %2$d)) AS time
      SELECT
        time,
        traced ? lower(hex(sipHash128(number))) : '',
        traced ? lower(hex(sipHash64(number))) : '',
        'INFO',
        9,
        service,
        replaceOne(replaceOne(replaceOne(line,
          '#', toString(rand(4) %% 1000000)), '#', toString(rand(5) %% 1000)),
          '#', toString(rand(6) %% 10000)),
        map('service.name', service,
          'host.name', service || '-' || toString(rand(7) %% 5) || '.eu-central-1.internal'),
        map('log.logger', 'shop.' || service,
          'thread.name', 'request-executor-' || toString(rand(8) %% 99)),
        toFixedString(unhex(leftPad(hex(intDiv(%1$d + number * %2$d, 1000000) * 65536), 16, '0')
          || leftPad(hex(number), 16, '0')), 16),
        'default',
        reinterpretAsUUID(MD5(line)),
        time,
        time - INTERVAL 30 DAY
      FROM numbers(%3$d, %4$d)
      SETTINGS max_insert_threads = 1, min_insert_block_size_rows = %4$d,
        min_insert_block_size_bytes = 2000000000""";

  /** Loads the rows into the table, which must exist. */
  static PreloadedRows load(ClickHouseAdmin clickHouseAdmin, long rows)
      throws IOException, InterruptedException {
    long startNanos = System.nanoTime();
    long first = Instant.now().toEpochMilli() * 1_000_000 - HOUR;
    for (long from = 0; from < rows; from += INSERT_ROWS) {
      long count = Math.min(INSERT_ROWS, rows - from);
      clickHouseAdmin.query(INSERT_SQL.formatted(first, HOUR / rows, from, count));
    }
    clickHouseAdmin.awaitMerges();
    double seconds = (System.nanoTime() - startNanos) / 1e9;
    long found = clickHouseAdmin.countRows(Measurement.TABLE);
    if (found != rows) {
      throw new IOException("the table has %,d rows instead of %,d".formatted(found, rows));
    }
    return new PreloadedRows(
        rows,
        seconds,
        activePartsStatistic(clickHouseAdmin, "sum(bytes_on_disk)"),
        activePartsStatistic(clickHouseAdmin, "count()"));
  }

  /** Returns an aggregate of the active parts of the table. */
  static long activePartsStatistic(ClickHouseAdmin clickHouseAdmin, String expression)
      throws IOException, InterruptedException {
    return clickHouseAdmin.queryLong(
        "SELECT %s FROM system.parts WHERE active AND database = currentDatabase() AND table = '%s'"
            .formatted(expression, Measurement.TABLE));
  }

  @Override
  public String toString() {
    return "loading %,d rows took %.0f s; they occupy %.2f GiB on disk in %d parts"
        .formatted(rows, seconds, bytes / (double) (1 << 30), parts);
  }
}
