package dev.sluice.api.grpc;

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
 * The answer to {@code logs.LogService/HealthCheck}: can logs be taken, and can they be read.
 *
 * <p>One check is under way at a time, and its answer serves all who ask within a second of its
 * beginning: anybody may ask, and each check costs Redis and ClickHouse a question. Safe for use by
 * many threads.
 */
public final class LegacyHealthCheck {
  private static final Duration CACHE_TTL = Duration.ofSeconds(1);

  private final Spool spool;
  private final Supplier<Optional<String>> storeUnavailable;
  private final String version;
  private final InstantSource clock;

  private @Nullable FutureTask<HealthCheckResponse> lastCheck;
  private Instant lastCheckStart = Instant.MIN;

  /**
   * @param storeUnavailable why the store does not answer, empty when it does; may block
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

  /** Blocks while a check is under way. */
  HealthCheckResponse check() throws InterruptedException, ExecutionException {
    return currentCheck().get();
  }

  /** On a thread of its own: whoever began it may go away, and others wait for the same answer. */
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

  /** A clock that was set back makes nothing fresh for longer. */
  private boolean isFresh(Instant now) {
    return !now.isBefore(lastCheckStart) && now.isBefore(lastCheckStart.plus(CACHE_TTL));
  }

  private HealthCheckResponse runCheck() {
    long started = System.nanoTime();
    var spoolError = spool.unavailableReason().map(reason -> "logs cannot be taken: " + reason);
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
