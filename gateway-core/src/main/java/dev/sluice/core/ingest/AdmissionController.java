package dev.sluice.core.ingest;

import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.SpoolStatus;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Says of a request, before any of its body is read, whether its logs can be made safe; and of one
 * that is turned away, when it should come again, by the speed at which things drain.
 *
 * <p>It asks the spool once a second, and goes by its last answer: a spool that has just become
 * unavailable says so itself when logs come. Before the first answer nobody is promised that logs
 * are durable. Safe for use by many threads; nothing blocks.
 */
public final class AdmissionController {
  private static final System.Logger LOG = System.getLogger(AdmissionController.class.getName());
  private static final Duration POLL_INTERVAL = Duration.ofSeconds(1);

  private static final double MIN_DELAY_SECONDS = 1;
  private static final double MAX_DELAY_SECONDS = 60;

  /** Seconds, when nothing drains and nobody knows when it will. */
  private static final double STALLED_DELAY_SECONDS = 30;

  /** Of a delay, so that those who were turned away together do not come back together. */
  private static final double JITTER = 0.25;

  /** Where the backlog must be before it is worth trying again. */
  private static final double BACKLOG_RESUME_RATIO = 0.9;

  /** Of what waits in a spool that takes nothing, what must be gone before it has room. */
  private static final double SPOOL_RESUME_RATIO = 0.05;

  private final Spool spool;
  private final MemoryBudget budget;
  private final long maxBacklog;
  private final InstantSource clock;
  private final Scheduler scheduler;
  private final RandomGenerator random;
  private final AtomicBoolean pollInFlight = new AtomicBoolean();
  private final EwmaRate drainRate = new EwmaRate();
  private final EwmaRate memoryReleaseRate = new EwmaRate();
  private final CompletableFuture<Void> firstStatus = new CompletableFuture<>();
  private volatile State state = new State(null, Double.NaN, Double.NaN);
  private volatile boolean stopped;

  /** What is known, all of one moment. */
  private record State(
      @Nullable SpoolStatus spoolStatus, double drainRate, double memoryReleaseRate) {}

  /**
   * @param maxBacklog log records that may wait in the spool; 0 for as many as it has room for
   * @param random spreads the delays
   */
  public AdmissionController(
      Spool spool,
      MemoryBudget budget,
      long maxBacklog,
      InstantSource clock,
      Scheduler scheduler,
      RandomGenerator random) {
    this.spool = spool;
    this.budget = budget;
    this.maxBacklog = maxBacklog;
    this.clock = clock;
    this.scheduler = scheduler;
    this.random = random;
  }

  /**
   * Begins to ask; once.
   *
   * @return completes with the spool's first answer, which may be that it is away; never fails
   */
  public CompletionStage<Void> start() {
    pollSpool();
    return firstStatus.minimalCompletionStage();
  }

  /** Asks no more. */
  public void stop() {
    stopped = true;
  }

  private void pollSpool() {
    if (stopped) {
      return;
    }
    if (pollInFlight.compareAndSet(
        false, true)) { // one that takes longer than a second is not doubled
      CompletionStage<SpoolStatus> status;
      try {
        status = spool.spoolStatus();
      } catch (Throwable e) { // such as no memory: to ask no more would keep the last answer
        status = CompletableFuture.failedStage(e);
      }
      var _ =
          status
              .exceptionally(e -> new SpoolStatus(String.valueOf(e), null, 0, 0))
              .thenAccept(this::onStatus)
              .whenComplete((_, _) -> pollInFlight.set(false));
    }
    try {
      scheduler.schedule(POLL_INTERVAL, this::pollSpool);
    } catch (RuntimeException _) {
      stopped = true; // the timer is shutting down, and so are we
    }
  }

  private void onStatus(SpoolStatus status) {
    var previous = state.spoolStatus();
    long nanos = nanos(clock.instant());
    // one out of reach knows no counts
    boolean countsKnown = status.outageReason() == null || status.deliveredRecords() > 0;
    if (countsKnown) {
      drainRate.sample(nanos, status.deliveredRecords(), status.pendingRecords() > 0);
    }
    memoryReleaseRate.sample(nanos, budget.released(), budget.used() > 0);
    var merged =
        countsKnown || previous == null
            ? status
            : new SpoolStatus(
                status.outageReason(),
                status.notDurableReason(),
                previous.pendingRecords(),
                previous.deliveredRecords());
    state = new State(merged, drainRate.perSecond(), memoryReleaseRate.perSecond());
    firstStatus.complete(null);
    logTransition(
        previous == null ? null : previous.unavailableReason(), merged.unavailableReason());
  }

  /** To operators; clients are told no reasons. The same again is not news. */
  private static void logTransition(@Nullable String previous, @Nullable String current) {
    if (Objects.equals(previous, current)) {
      return;
    }
    if (current == null) {
      LOG.log(System.Logger.Level.INFO, "the spool takes durable logs again");
    } else if (previous == null) {
      LOG.log(System.Logger.Level.WARNING, "durable logs are turned away: {0}", current);
    } else {
      LOG.log(System.Logger.Level.DEBUG, "durable logs are still turned away: {0}", current);
    }
  }

  private static long nanos(Instant instant) {
    return TimeUnit.SECONDS.toNanos(instant.getEpochSecond()) + instant.getNano();
  }

  /** Why a request cannot be taken now and when to come again; null when it may be tried. */
  public IngestResult.@Nullable Unavailable check(AckLevel level) {
    var snapshot = state;
    var status = snapshot.spoolStatus();
    if (status == null) { // also a spool that keeps nothing would take them
      return level == AckLevel.ACCEPTED
          ? null
          : new IngestResult.Unavailable(delay(MIN_DELAY_SECONDS));
    }
    if (maxBacklog > 0 && status.pendingRecords() > maxBacklog) {
      return new IngestResult.Unavailable(
          delay(
              (status.pendingRecords() - maxBacklog * BACKLOG_RESUME_RATIO)
                  / knownDrainRate(snapshot)));
    }
    // what is only accepted waits in memory until the spool takes it
    return level != AckLevel.ACCEPTED && status.unavailableReason() != null
        ? new IngestResult.Unavailable(retryAfterSpoolFailure())
        : null;
  }

  /** When to come again because all requests together hold too much. */
  public Duration retryAfterMemoryPressure() {
    double releaseRate = state.memoryReleaseRate();
    return delay(Double.isNaN(releaseRate) ? MIN_DELAY_SECONDS : budget.used() / releaseRate);
  }

  /** When to come again because the spool did not take the logs, or not in time. */
  public Duration retryAfterSpoolFailure() {
    return retryAfterSpoolFailure(Duration.ZERO);
  }

  /**
   * @param minDelay what the spool itself said
   */
  Duration retryAfterSpoolFailure(Duration minDelay) {
    var snapshot = state;
    var status = snapshot.spoolStatus();
    double pending = status == null ? 0 : status.pendingRecords();
    double drainSeconds =
        pending == 0 ? MIN_DELAY_SECONDS : pending * SPOOL_RESUME_RATIO / knownDrainRate(snapshot);
    return delay(Math.max(seconds(minDelay), drainSeconds));
  }

  /** When to come again because the same request is under way: soon. */
  Duration retryAfterConflict() {
    return delay(MIN_DELAY_SECONDS);
  }

  private static double knownDrainRate(State state) {
    return Double.isNaN(state.drainRate()) ? 0 : state.drainRate();
  }

  private static double seconds(Duration duration) {
    return duration.toNanos() / 1e9;
  }

  private Duration delay(double seconds) {
    double wanted = Double.isFinite(seconds) ? seconds : STALLED_DELAY_SECONDS;
    double bounded = Math.clamp(wanted, MIN_DELAY_SECONDS, MAX_DELAY_SECONDS);
    double jitter = bounded * JITTER * random.nextDouble();
    double jittered = bounded + jitter > MAX_DELAY_SECONDS ? bounded - jitter : bounded + jitter;
    return Duration.ofMillis(Math.round(jittered * 1000));
  }
}
