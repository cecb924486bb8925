package dev.sluice.api.ops;

import dev.sluice.core.ledger.Ledger;
import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.Spool.RecordCounts;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.time.Duration;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The ledger as gauges, counted in the background now and then: whoever asks for the meters must
 * not wait for two databases. Not a number while it is not known.
 */
public final class LedgerGauges implements MeterBinder, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(LedgerGauges.class);

  /** Counting takes one part in so many of the time. */
  private static final int MAX_TIME_SHARE_DIVISOR = 100;

  /** Also where a count takes long because somebody does not answer. */
  private static final Duration MAX_DELAY = Duration.ofMinutes(10);

  private final Ledger ledger;
  private final Scheduler scheduler;
  private final Duration interval;
  private volatile boolean closed;
  private volatile Ledger.@Nullable LedgerBalance total;

  /**
   * @param interval between the end of one count and the beginning of the next, longer where a
   *     count takes more than a hundredth of it, up to ten minutes
   */
  public LedgerGauges(Ledger ledger, Scheduler scheduler, Duration interval) {
    this.ledger = ledger;
    this.scheduler = scheduler;
    this.interval = interval;
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    gauge("imbalance", ledgerBalance -> orNaN(ledgerBalance.imbalance()))
        .description("Log records of the last days that are missing or too many; alert on it")
        .register(registry);
    gauge("accepted", fromSpool(RecordCounts::accepted))
        .description("Log records of the last days that were accepted")
        .register(registry);
    gauge("in.flight", fromSpool(RecordCounts::inFlight))
        .description("Of those, the ones that are in the spool")
        .register(registry);
    gauge("stored", ledgerBalance -> orNaN(ledgerBalance.stored()))
        .description("Of those, the ones that are in the log table")
        .register(registry);
    gauge("dead.lettered", fromSpool(RecordCounts::deadLettered))
        .description("Of those, the ones that the store refused and that are kept")
        .register(registry);
    gauge("purged", fromSpool(RecordCounts::purged))
        .description("Of those, dead letters that were thrown away")
        .register(registry);
    gauge("quarantined", fromSpool(RecordCounts::quarantined))
        .description("Of those, the ones in damaged entries that were put aside")
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

  private static double orNaN(@Nullable Long value) {
    return value == null ? Double.NaN : value.doubleValue();
  }

  /** On a thread of its own: it blocks, and the timer's thread is not to. */
  private void count() {
    var _ =
        Thread.ofVirtual()
            .name("ledger")
            .start(
                () -> {
                  long began = System.nanoTime();
                  try {
                    var before = total;
                    total = ledger.count().total();
                    logImbalance(before, total);
                  } catch (RuntimeException e) {
                    total = null;
                    LOG.warn("the ledger could not be counted", e);
                  } finally {
                    if (!closed) {
                      scheduler.schedule(
                          nextDelay(Duration.ofNanos(System.nanoTime() - began), interval),
                          this::count);
                    }
                  }
                });
  }

  /** A count of many rows takes its time, and must not take the store's. */
  static Duration nextDelay(Duration duration, Duration interval) {
    var minDelay = duration.multipliedBy(MAX_TIME_SHARE_DIVISOR - 1);
    var bounded = minDelay.compareTo(MAX_DELAY) < 0 ? minDelay : MAX_DELAY;
    return bounded.compareTo(interval) > 0 ? bounded : interval;
  }

  private static void logImbalance(
      Ledger.@Nullable LedgerBalance before, Ledger.@Nullable LedgerBalance after) {
    var now = after == null ? null : after.imbalance();
    if (now != null && now != 0 && (before == null || !now.equals(before.imbalance()))) {
      LOG.error("the ledger does not balance: {} logs are missing or too many", now);
    }
  }

  @Override
  public void close() {
    closed = true;
  }
}
