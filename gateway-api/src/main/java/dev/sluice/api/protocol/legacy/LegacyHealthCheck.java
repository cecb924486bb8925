package dev.sluice.api.protocol.legacy;

import dev.sluice.core.port.Spool;
import dev.sluice.proto.logs.HealthCheckResponse;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The health check of {@code logs.LogService/HealthCheck}: whether the spool accepts logs and the
 * store is readable.
 *
 * <p>One check runs at a time, and its result is used for all calls within a second of its start:
 * every client may call it, and each check costs a request to Redis and to ClickHouse. Safe for use
 * by many threads.
 */
final class LegacyHealthCheck {
  private static final Duration CACHE_TTL = Duration.ofSeconds(1);

  private final Spool spool;
  private final Supplier<Optional<String>> storeUnavailable;
  private final String version;
  private final InstantSource clock;

  private @Nullable FutureTask<HealthCheckResponse> lastCheck;
  private Instant lastCheckStart = Instant.MIN;

  /**
   * @param spool the spool
   * @param storeUnavailable the reason why the store is unavailable, empty while it is available;
   *     may block
   * @param version the version of the gateway
   * @param clock the clock of the timestamps
   */
  public LegacyHealthCheck(
      Spool spool,
      Supplier<Optional<String>> storeUnavailable,
      String version,
      InstantSource clock) {
    this.spool = spool;
    this.storeUnavailable = storeUnavailable;
    this.version = version;
    this.clock = clock;
  }

  /** Returns the result of the current check; blocks while it runs. */
  HealthCheckResponse check() throws InterruptedException, ExecutionException {
    return currentCheck().get();
  }

  /**
   * Returns the current check, or starts one. It runs on its own thread, so that a disconnect of
   * the first caller does not interrupt it for the others.
   */
  private synchronized FutureTask<HealthCheckResponse> currentCheck() {
    var now = clock.instant();
    var task = lastCheck;
    if (task != null && (!task.isDone() || isFresh(now))) {
      return task;
    }
    task = new FutureTask<>(this::runCheck);
    Thread.ofVirtual().name("sluice-legacy-health").start(task);
    lastCheck = task;
    lastCheckStart = now;
    return task;
  }

  /** Whether the last check is fresh; not when the clock was set back. */
  private boolean isFresh(Instant now) {
    return !now.isBefore(lastCheckStart) && now.isBefore(lastCheckStart.plus(CACHE_TTL));
  }

  private HealthCheckResponse runCheck() {
    long started = System.nanoTime();
    var spoolError =
        Optional.ofNullable(spool.status().toCompletableFuture().join().unavailableReason())
            .map(reason -> "logs cannot be accepted: " + reason);
    long spoolChecked = System.nanoTime();
    var storeError = storeUnavailable.get().map(reason -> "logs cannot be read: " + reason);
    long storeChecked = System.nanoTime();
    boolean healthy = spoolError.isEmpty() && storeError.isEmpty();
    return HealthCheckResponse.newBuilder()
        .setHealthy(healthy)
        .setMessage(healthy ? "healthy" : "unhealthy")
        .setTimestamp(clock.instant().truncatedTo(ChronoUnit.MILLIS).toString())
        .setLatencyMs((storeChecked - started) / 1e6)
        .setPingLatencyMs((storeChecked - spoolChecked) / 1e6)
        .setVersion(version)
        .setError(
            Stream.of(spoolError, storeError)
                .flatMap(Optional::stream)
                .collect(Collectors.joining("; ")))
        .build();
  }
}
