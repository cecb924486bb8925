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
public final class BoundedReader implements LogReader {
  private final LogReader reader;
  private final Duration patience;
  private final Semaphore permits;

  /** Turns away at once what is too many. */
  public BoundedReader(LogReader reader, int atOnce) {
    this(reader, atOnce, Duration.ZERO);
  }

  /**
   * @param atOnce queries under way in the store at most, from all protocols together
   * @param patience how long one that is too many waits for its turn
   */
  public BoundedReader(LogReader reader, int atOnce, Duration patience) {
    this(reader, patience, new Semaphore(atOnce, true));
  }

  private BoundedReader(LogReader reader, Duration patience, Semaphore permits) {
    this.reader = reader;
    this.patience = patience;
    this.permits = permits;
  }

  /** Another reader, whose questions take turns with those of this one. */
  public BoundedReader with(LogReader other) {
    return new BoundedReader(other, patience, permits);
  }

  /** As many queries as are allowed are under way; asking again is right. */
  public static final class Busy extends RuntimeException {
    @Serial private static final long serialVersionUID = 1L;

    private Busy() {
      super("too many queries at once", null, false, false);
    }
  }

  /**
   * {@inheritDoc}
   *
   * @throws Busy when too many are under way
   */
  @Override
  public LogPage read(Query query) throws InterruptedException {
    return bounded(_ -> reader.read(query));
  }

  /**
   * {@inheritDoc}
   *
   * @throws Busy when too many are under way
   */
  @Override
  public TimeExtent timeExtent(LogFilter filter) throws InterruptedException {
    return bounded(_ -> reader.timeExtent(filter));
  }

  /**
   * {@inheritDoc}
   *
   * @throws Busy when too many are under way
   */
  @Override
  public List<HistogramBucket> histogram(LogFilter filter, long originNanos, long widthNanos)
      throws InterruptedException {
    return bounded(_ -> reader.histogram(filter, originNanos, widthNanos));
  }

  /** What the store is asked while it is one's turn. */
  public interface Question<T> {
    /**
     * @param reader whom no other question keeps waiting
     */
    T ask(LogReader reader) throws InterruptedException;
  }

  /**
   * Whatever else is asked of the store, in one turn; what is asked beside it too.
   *
   * @throws Busy when too many are under way
   */
  public <T> T bounded(Question<T> question) throws InterruptedException {
    if (!permits.tryAcquire(patience.toNanos(), TimeUnit.NANOSECONDS)) {
      throw new Busy();
    }
    try {
      return question.ask(reader);
    } finally {
      permits.release();
    }
  }
}
