package dev.sluice.core.read;

import dev.sluice.core.port.LogReader;
import dev.sluice.core.query.LogFilter;
import java.io.Serial;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * A reader that answers so many questions at once and turns others away after a while: a thread
 * that waits is cheap, what a query costs the store is not, and the store has logs to take in. Safe
 * for use by many threads.
 */
public final class ConcurrencyLimitedReader implements LogReader {
  private final LogReader reader;
  private final Duration maxWait;
  private final Semaphore permits;

  /** Turns away at once what is too many. */
  public ConcurrencyLimitedReader(LogReader reader, int maxConcurrent) {
    this(reader, maxConcurrent, Duration.ZERO);
  }

  /**
   * @param maxConcurrent queries under way in the store at most, from all protocols together
   * @param maxWait how long one that is too many waits for its turn
   */
  public ConcurrencyLimitedReader(LogReader reader, int maxConcurrent, Duration maxWait) {
    this(reader, maxWait, new Semaphore(maxConcurrent, true));
  }

  private ConcurrencyLimitedReader(LogReader reader, Duration maxWait, Semaphore permits) {
    this.reader = reader;
    this.maxWait = maxWait;
    this.permits = permits;
  }

  /** Another reader, whose questions take turns with those of this one. */
  public ConcurrencyLimitedReader forReader(LogReader other) {
    return new ConcurrencyLimitedReader(other, maxWait, permits);
  }

  /** As many queries as are allowed are under way; asking again is right. */
  public static final class TooManyQueriesException extends RuntimeException {
    @Serial private static final long serialVersionUID = 1L;

    private TooManyQueriesException() {
      super("too many queries at once", null, false, false);
    }
  }

  /**
   * {@inheritDoc}
   *
   * @throws TooManyQueriesException when too many are under way
   */
  @Override
  public LogPage read(Query query) throws InterruptedException {
    return withPermit(_ -> reader.read(query));
  }

  /**
   * {@inheritDoc}
   *
   * @throws TooManyQueriesException when too many are under way
   */
  @Override
  public TimeExtent timeExtent(LogFilter filter) throws InterruptedException {
    return withPermit(_ -> reader.timeExtent(filter));
  }

  /**
   * {@inheritDoc}
   *
   * @throws TooManyQueriesException when too many are under way
   */
  @Override
  public List<HistogramBucket> histogram(LogFilter filter, long originNanos, long widthNanos)
      throws InterruptedException {
    return withPermit(_ -> reader.histogram(filter, originNanos, widthNanos));
  }

  /** What the store is asked while it is one's turn. */
  public interface QueryTask<T> {
    /**
     * @param reader whom no other question keeps waiting
     */
    T execute(LogReader reader) throws InterruptedException;
  }

  /**
   * Whatever else is asked of the store, in one turn; what is asked beside it too.
   *
   * @throws TooManyQueriesException when too many are under way
   */
  public <T> T withPermit(QueryTask<T> task) throws InterruptedException {
    if (!permits.tryAcquire(maxWait.toNanos(), TimeUnit.NANOSECONDS)) {
      throw new TooManyQueriesException();
    }
    try {
      return task.execute(reader);
    } finally {
      permits.release();
    }
  }
}
