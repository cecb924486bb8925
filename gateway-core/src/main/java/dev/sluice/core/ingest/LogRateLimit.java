package dev.sluice.core.ingest;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/** A limit for log lines that clients can cause: one in an interval. Thread-safe. */
public final class LogRateLimit {
  private final long intervalNanos;
  private final LongSupplier nanoTime;
  private final AtomicLong nextNanos;

  /**
   * @param nanoTime a clock as {@link System#nanoTime}
   */
  public LogRateLimit(Duration interval, LongSupplier nanoTime) {
    this.intervalNanos = interval.toNanos();
    this.nanoTime = nanoTime;
    this.nextNanos = new AtomicLong(nanoTime.getAsLong());
  }

  /** Returns whether to log now; true for the first call, and for one call in each interval. */
  public boolean tryAcquire() {
    long now = nanoTime.getAsLong();
    long next = nextNanos.get();
    return now - next >= 0 && nextNanos.compareAndSet(next, now + intervalNanos);
  }
}
