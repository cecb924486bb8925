package dev.sluice.clickhouse;

import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A {@link LogReader} of the ClickHouse table {@code otel_logs}. Safe for use by many threads. */
public final class ClickHouseLogReader implements LogReader {
  private static final Comparator<StoredLog> NEWEST_FIRST =
      Comparator.comparingLong(StoredLog::timeNanos).thenComparing(StoredLog::id).reversed();

  private final ClickHouseDatabase database;

  public ClickHouseLogReader(ClickHouseDatabase database) {
    this.database = database;
  }

  @Override
  public LogPage read(Query query) throws InterruptedException {
    if (query.limit() < 1) {
      throw new IllegalArgumentException("limit is " + query.limit() + ", minimum is 1");
    }
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
      if (database.queryWithShortTimeout(
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
    return database.query(LogQuery.UNSORTED_RANGE_EXISTS, Map.of(), in -> in.read() >= 0);
  }

  @Override
  public TimeExtent timeExtent(LogFilter filter) throws InterruptedException {
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
    return query(
        LogQuery.histogram(filter, originNanos, widthNanos),
        in -> RowBinary.readBuckets(in, originNanos, widthNanos));
  }

  private <T> T query(LogQuery query, ClickHouseClient.ResponseReader<T> reader)
      throws InterruptedException {
    return database.query(query.sql(), query.parameters(), reader);
  }
}
