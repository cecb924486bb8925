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
public final class AppHealth {
  private static final Duration GOOD_FOR = Duration.ofSeconds(1);

  private final Spool spool;
  private final Supplier<Optional<String>> storeUnavailable;
  private final String version;
  private final InstantSource clock;

  private @Nullable FutureTask<HealthCheckResponse> last;
  private Instant lastBegan = Instant.MIN;

  /**
   * @param storeUnavailable why the store does not answer, empty when it does; may block
   */
  public AppHealth(
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
    return current().get();
  }

  /** On a thread of its own: whoever began it may go away, and others wait for the same answer. */
  private synchronized FutureTask<HealthCheckResponse> current() {
    var now = clock.instant();
    var task = last;
    if (task != null && (!task.isDone() || isFresh(now))) {
      return task;
    }
    task = new FutureTask<>(this::ask);
    Thread.ofVirtual().name("sluice-app-health").start(task);
    last = task;
    lastBegan = now;
    return task;
  }

  /** A clock that was set back makes nothing fresh for longer. */
  private boolean isFresh(Instant now) {
    return !now.isBefore(lastBegan) && now.isBefore(lastBegan.plus(GOOD_FOR));
  }

  private HealthCheckResponse ask() {
    long started = System.nanoTime();
    var trouble = spool.unavailableReason().map(reason -> "logs cannot be taken: " + reason);
    long asked = System.nanoTime();
    var storeTrouble = storeUnavailable.get().map(reason -> "logs cannot be read: " + reason);
    long answered = System.nanoTime();
    boolean healthy = trouble.isEmpty() && storeTrouble.isEmpty();
    return HealthCheckResponse.newBuilder()
        .setHealthy(healthy)
        .setMessage(healthy ? "healthy" : "unhealthy")
        .setTimestamp(clock.instant().truncatedTo(ChronoUnit.MILLIS).toString())
        .setLatencyMs((answered - started) / 1e6)
        .setPingLatencyMs((answered - asked) / 1e6)
        .setVersion(version)
        .setError(
            Stream.of(trouble, storeTrouble)
                .flatMap(Optional::stream)
                .collect(Collectors.joining("; ")))
        .build();
  }
}
