package dev.sluice.api.ops;

import dev.sluice.core.ledger.Ledger;
import dev.sluice.core.port.DailyCounts.RecordCounts;
import dev.sluice.core.port.DeadLetterStore;
import dev.sluice.core.port.DeadLetterStore.DeadLetterCounts;
import dev.sluice.core.port.Scheduler;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.time.Duration;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The gauges of the ledger and of the dead letters. A background thread counts them at an interval,
 * so that a scrape does not wait for two databases. A gauge is NaN while its count is unknown.
 */
public final class LedgerGauges implements MeterBinder, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(LedgerGauges.class);

  /** Counting takes at most this fraction, one divided by the constant, of the time. */
  private static final int MAX_TIME_SHARE_DIVISOR = 100;

  /** The maximum, also when a count takes long because a source does not respond. */
  private static final Duration MAX_DELAY = Duration.ofMinutes(10);

  private final Ledger ledger;
  private final DeadLetterStore deadLetterStore;
  private final Scheduler scheduler;
  private final Duration interval;
  private volatile boolean closed;
  private volatile Ledger.@Nullable LedgerBalance total;
  private volatile double openDeadLetters = Double.NaN;

  /**
   * @param interval the interval between the end of one count and the start of the next; longer
   *     when a count takes more than a hundredth of it, up to ten minutes
   */
  public LedgerGauges(
      Ledger ledger, DeadLetterStore deadLetterStore, Scheduler scheduler, Duration interval) {
    this.ledger = ledger;
    this.deadLetterStore = deadLetterStore;
    this.scheduler = scheduler;
    this.interval = interval;
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    gauge("imbalance", ledgerBalance -> orNaN(ledgerBalance.imbalance()))
        .description("Missing or surplus log records of the last days; alert when above 0")
        .register(registry);
    gauge("accepted", fromSpool(RecordCounts::accepted))
        .description("Accepted log records of the last days")
        .register(registry);
    gauge("in.flight", fromSpool(RecordCounts::inFlight))
        .description("Accepted log records of the last days that are in the spool")
        .register(registry);
    gauge("stored", ledgerBalance -> orNaN(ledgerBalance.stored()))
        .description("Accepted log records of the last days that are in the log table")
        .register(registry);
    gauge("dead.lettered", fromDeadLetters(DeadLetterCounts::open))
        .description("Accepted log records of the last days that are dead letters")
        .register(registry);
    gauge("purged", fromDeadLetters(DeadLetterCounts::purged))
        .description("Accepted log records of the last days that were purged as dead letters")
        .register(registry);
    gauge("quarantined", fromSpool(RecordCounts::quarantined))
        .description("Accepted log records of the last days that are in quarantined entries")
        .register(registry);
    Gauge.builder("sluice.dead.letters", this, gauges -> gauges.openDeadLetters)
        .description("Log records that the store rejected, neither replayed nor purged")
        .register(registry);
    count();
  }

  private Gauge.Builder<LedgerGauges> gauge(
      String name, ToDoubleFunction<Ledger.LedgerBalance> value) {
    return Gauge.builder(
        "sluice.ledger." + name,
        this,
        gauges -> {
          var known = gauges.total;
          return known == null ? Double.NaN : value.applyAsDouble(known);
        });
  }

  private static ToDoubleFunction<Ledger.LedgerBalance> fromSpool(
      ToDoubleFunction<RecordCounts> value) {
    return ledgerBalance -> {
      var recordCounts = ledgerBalance.spool();
      return recordCounts == null ? Double.NaN : value.applyAsDouble(recordCounts);
    };
  }

  private static ToDoubleFunction<Ledger.LedgerBalance> fromDeadLetters(
      ToDoubleFunction<DeadLetterCounts> value) {
    return ledgerBalance -> {
      var counts = ledgerBalance.deadLetters();
      return counts == null ? Double.NaN : value.applyAsDouble(counts);
    };
  }

  private static double orNaN(@Nullable Long value) {
    return value == null ? Double.NaN : value.doubleValue();
  }

  /** Counts on a virtual thread, because counting blocks and the timer thread must not block. */
  private void count() {
    var _ =
        Thread.ofVirtual()
            .name("ledger")
            .start(
                () -> {
                  long began = System.nanoTime();
                  boolean complete = false;
                  try {
                    openDeadLetters = countOpenDeadLetters();
                    var before = total;
                    var report = ledger.count();
                    total = report.total();
                    complete = report.unavailable().isEmpty();
                    logImbalance(before, total);
                  } catch (RuntimeException e) {
                    total = null;
                    LOG.warn("ledger not counted, its gauges are NaN until the next count", e);
                  } finally {
                    if (!closed) {
                      // an outage takes time too, and must not delay the count after its end
                      var duration =
                          complete ? Duration.ofNanos(System.nanoTime() - began) : Duration.ZERO;
                      scheduler.schedule(nextDelay(duration, interval), this::count);
                    }
                  }
                });
  }

  private double countOpenDeadLetters() {
    try {
      return deadLetterStore.counts().open();
    } catch (RuntimeException _) {
      return Double.NaN;
    }
  }

  /** Returns the delay before the next count, so that counting takes a small share of the time. */
  static Duration nextDelay(Duration duration, Duration interval) {
    var minDelay = duration.multipliedBy(MAX_TIME_SHARE_DIVISOR - 1);
    var bounded = minDelay.compareTo(MAX_DELAY) < 0 ? minDelay : MAX_DELAY;
    return bounded.compareTo(interval) > 0 ? bounded : interval;
  }

  private static void logImbalance(
      Ledger.@Nullable LedgerBalance before, Ledger.@Nullable LedgerBalance after) {
    var now = after == null ? null : after.imbalance();
    if (now != null && now != 0 && (before == null || !now.equals(before.imbalance()))) {
      LOG.error(
          "ledger imbalance: {} logs are missing or surplus; see /actuator/ledger for the days",
          now);
    }
  }

  @Override
  public void close() {
    closed = true;
  }
}
