package dev.sluice.query.read;

import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader;
import java.io.Serial;
import java.time.Duration;

/**
 * A {@link LogReader} that limits the number of concurrent queries and rejects further queries
 * after a maximum wait with a {@link TooManyQueriesException}. A waiting thread is cheap, but a
 * query takes CPU and memory of the store, which the store also needs for inserts. No client can
 * take all permits ({@link QueryPermits}). Safe for use by many threads.
 */
public final class ConcurrencyLimitedReader extends DelegatingReader {
  private final LogReader reader;
  private final Duration maxWait;
  private final QueryPermits permits;

  /** Creates a reader that rejects a query immediately when all permits are in use. */
  public ConcurrencyLimitedReader(LogReader reader, int maxConcurrent) {
    this(reader, maxConcurrent, Duration.ZERO);
  }

  /**
   * @param maxConcurrent maximum number of concurrent queries, over all protocols together
   * @param maxWait maximum time that a query waits for a permit
   */
  public ConcurrencyLimitedReader(LogReader reader, int maxConcurrent, Duration maxWait) {
    this(reader, maxWait, new QueryPermits(maxConcurrent));
  }

  private ConcurrencyLimitedReader(LogReader reader, Duration maxWait, QueryPermits permits) {
    this.reader = reader;
    this.maxWait = maxWait;
    this.permits = permits;
  }

  /** Returns a limited reader for another reader; both share the permits of this one. */
  public ConcurrencyLimitedReader forReader(LogReader other) {
    return new ConcurrencyLimitedReader(other, maxWait, permits);
  }

  /** The maximum number of concurrent queries is reached; the client may retry. */
  public static final class TooManyQueriesException extends RuntimeException {
    @Serial private static final long serialVersionUID = 1L;

    private TooManyQueriesException() {
      super("too many concurrent queries", null, false, false);
    }
  }

  @Override
  <T> T execute(LogFilter filter, FilterQuery<T> query) throws InterruptedException {
    return withPermit(unlimited -> query.execute(unlimited, filter));
  }

  /** Queries that run while the caller holds a permit. */
  public interface QueryTask<T> {
    /**
     * @param reader the reader without the limit, since the caller holds a permit already
     */
    T execute(LogReader reader) throws InterruptedException;
  }

  /**
   * Runs any queries of the store, also concurrent ones, with one permit.
   *
   * @throws TooManyQueriesException when the task got no permit within the maximum wait
   */
  public <T> T withPermit(QueryTask<T> task) throws InterruptedException {
    var client = QueryClient.current();
    if (!permits.tryAcquire(client, maxWait)) {
      throw new TooManyQueriesException();
    }
    try {
      return task.execute(reader);
    } finally {
      permits.release(client);
    }
  }
}
