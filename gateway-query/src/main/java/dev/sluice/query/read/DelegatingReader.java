package dev.sluice.query.read;

import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader;
import java.util.List;

/**
 * A {@link LogReader} that lets another reader answer each query. A subclass changes the execution
 * of all kinds of queries in one method.
 */
abstract class DelegatingReader implements LogReader {

  /** A query without its filter. */
  interface FilterQuery<T> {
    T execute(LogReader reader, LogFilter filter) throws InterruptedException;
  }

  /** Executes a query, whose filter is {@code filter}, with another reader. */
  abstract <T> T execute(LogFilter filter, FilterQuery<T> query) throws InterruptedException;

  @Override
  public LogPage read(Query query) throws InterruptedException {
    return execute(
        query.filter(),
        (reader, filter) -> reader.read(new Query(filter, query.limit(), query.after())));
  }

  @Override
  public final TimeExtent timeExtent(LogFilter filter) throws InterruptedException {
    return execute(filter, LogReader::timeExtent);
  }

  @Override
  public final List<HistogramBucket> histogram(LogFilter filter, long originNanos, long widthNanos)
      throws InterruptedException {
    return execute(filter, (reader, actual) -> reader.histogram(actual, originNanos, widthNanos));
  }
}
