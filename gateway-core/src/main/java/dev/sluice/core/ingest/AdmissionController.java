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
 * An admission controller. It decides, before the body of a request is read, whether its logs can
 * reach their acknowledgement level, and computes the retry delay of a rejected request from the
 * rate at which the backlog drains.
 *
 * <p>The controller polls the status of the spool once a second and uses the latest status. A spool
 * that has become unavailable since then rejects the append itself. Until the first status is
 * known, only requests of level {@link AckLevel#ACCEPTED} are admitted. Thread-safe; no method
 * blocks.
 */
public final class AdmissionController {
  private static final System.Logger LOG = System.getLogger(AdmissionController.class.getName());
  private static final Duration POLL_INTERVAL = Duration.ofSeconds(1);

  private static final double MIN_DELAY_SECONDS = 1;
  private static final double MAX_DELAY_SECONDS = 60;

  /** The delay in seconds when the backlog does not drain. */
  private static final double STALLED_DELAY_SECONDS = 30;

  /** The maximum jitter as a ratio of the delay, so that rejected clients do not retry together. */
  private static final double JITTER = 0.25;

  /** The ratio of the maximum backlog that the backlog should reach before clients retry. */
  private static final double BACKLOG_RESUME_RATIO = 0.9;

  /** The ratio of the records of an unavailable spool that must drain before it has capacity. */
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
  private volatile AdmissionSnapshot admissionSnapshot =
      new AdmissionSnapshot(null, Double.NaN, Double.NaN);
  private volatile boolean stopped;

  /** A consistent snapshot of the status and the rates. */
  private record AdmissionSnapshot(
      @Nullable SpoolStatus spoolStatus, double drainRate, double memoryReleaseRate) {}

  /**
   * @param maxBacklog the maximum number of log records in the spool; 0 for no limit other than the
   *     capacity of the spool
   * @param random the source of jitter
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
   * Starts to poll the spool. Call it once.
   *
   * @return completes with the first status of the spool, which may be an outage; never fails
   */
  public CompletionStage<Void> start() {
    pollSpool();
    return firstStatus.minimalCompletionStage();
  }

  /** Stops polling. */
  public void stop() {
    stopped = true;
  }

  private void pollSpool() {
    if (stopped) {
      return;
    }
    // a poll that takes longer than the interval is not started a second time
    if (pollInFlight.compareAndSet(false, true)) {
      CompletionStage<SpoolStatus> status;
      try {
        status = spool.status();
      } catch (Throwable e) { // also an Error: polling must continue, else the status is stale
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
      stopped = true; // the scheduler is shutting down, and so is the gateway
    }
  }

  private void onStatus(SpoolStatus status) {
    var previous = admissionSnapshot.spoolStatus();
    long nanos = nanos(clock.instant());
    // the status of an unreachable spool has no counts
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
    admissionSnapshot =
        new AdmissionSnapshot(merged, drainRate.perSecond(), memoryReleaseRate.perSecond());
    firstStatus.complete(null);
    logTransition(
        previous == null ? null : previous.unavailableReason(), merged.unavailableReason());
  }

  /** Logs a change of the availability for operators; clients do not get the reasons. */
  private static void logTransition(@Nullable String previous, @Nullable String current) {
    if (Objects.equals(previous, current)) {
      return;
    }
    if (current == null) {
      LOG.log(System.Logger.Level.INFO, "spool available again for durable writes");
    } else if (previous == null) {
      LOG.log(
          System.Logger.Level.WARNING,
          "spool unavailable for durable writes, rejecting requests: {0}",
          current);
    } else {
      LOG.log(
          System.Logger.Level.DEBUG, "spool still unavailable for durable writes: {0}", current);
    }
  }

  private static long nanos(Instant instant) {
    return TimeUnit.SECONDS.toNanos(instant.getEpochSecond()) + instant.getNano();
  }

  /**
   * Checks whether a request of this level can be admitted.
   *
   * @return the rejection with its retry delay; null when the request is admitted
   */
  public IngestResult.@Nullable Unavailable check(AckLevel level) {
    var snapshot = admissionSnapshot;
    var status = snapshot.spoolStatus();
    if (status == null) { // unknown whether the spool is durable
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
    // logs of level accepted wait in memory until the spool is available
    return level != AckLevel.ACCEPTED && status.unavailableReason() != null
        ? new IngestResult.Unavailable(retryAfterSpoolFailure())
        : null;
  }

  /** Returns the retry delay for a request that exceeds the memory budget. */
  public Duration retryAfterMemoryPressure() {
    double releaseRate = admissionSnapshot.memoryReleaseRate();
    return delay(Double.isNaN(releaseRate) ? MIN_DELAY_SECONDS : budget.used() / releaseRate);
  }

  /** Returns the retry delay for a request that the spool did not accept, or not in time. */
  public Duration retryAfterSpoolFailure() {
    return retryAfterSpoolFailure(Duration.ZERO);
  }

  /**
   * Returns the retry delay for a request that the spool did not accept.
   *
   * @param minDelay the minimum delay, from the spool itself
   */
  Duration retryAfterSpoolFailure(Duration minDelay) {
    var snapshot = admissionSnapshot;
    var status = snapshot.spoolStatus();
    double pending = status == null ? 0 : status.pendingRecords();
    double drainSeconds =
        pending == 0 ? MIN_DELAY_SECONDS : pending * SPOOL_RESUME_RATIO / knownDrainRate(snapshot);
    return delay(Math.max(seconds(minDelay), drainSeconds));
  }

  /** Returns the retry delay for a request whose idempotency key is in progress, which is short. */
  Duration retryAfterConflict() {
    return delay(MIN_DELAY_SECONDS);
  }

  private static double knownDrainRate(AdmissionSnapshot snapshot) {
    return Double.isNaN(snapshot.drainRate()) ? 0 : snapshot.drainRate();
  }

  private static double seconds(Duration duration) {
    return duration.toNanos() / 1e9;
  }

  private Duration delay(double seconds) {
    double requestedSeconds = Double.isFinite(seconds) ? seconds : STALLED_DELAY_SECONDS;
    double bounded = Math.clamp(requestedSeconds, MIN_DELAY_SECONDS, MAX_DELAY_SECONDS);
    double jitter = bounded * JITTER * random.nextDouble();
    double jittered = bounded + jitter > MAX_DELAY_SECONDS ? bounded - jitter : bounded + jitter;
    return Duration.ofMillis(Math.round(jittered * 1000));
  }
}
