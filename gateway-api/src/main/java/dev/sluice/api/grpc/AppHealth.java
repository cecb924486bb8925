package dev.sluice.api.grpc;

import dev.sluice.core.port.Spool;
import dev.sluice.proto.logs.HealthCheckResponse;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The answer to {@code logs.LogService/HealthCheck}: can logs be taken, and can they be read. */
public final class AppHealth {
  private final Spool spool;
  private final Supplier<Optional<String>> storeUnavailable;
  private final String version;

  /**
   * @param storeUnavailable why the store does not answer, empty when it does; may block
   */
  public AppHealth(Spool spool, Supplier<Optional<String>> storeUnavailable, String version) {
    this.spool = spool;
    this.storeUnavailable = storeUnavailable;
    this.version = version;
  }

  /** Asks both; blocks. */
  HealthCheckResponse check() {
    long started = System.nanoTime();
    var trouble = spool.unavailable().map(reason -> "logs cannot be taken: " + reason);
    long asked = System.nanoTime();
    var storeTrouble = storeUnavailable.get().map(reason -> "logs cannot be read: " + reason);
    long answered = System.nanoTime();
    boolean healthy = trouble.isEmpty() && storeTrouble.isEmpty();
    return HealthCheckResponse.newBuilder()
        .setHealthy(healthy)
        .setMessage(healthy ? "healthy" : "unhealthy")
        .setTimestamp(Instant.now().truncatedTo(ChronoUnit.MILLIS).toString())
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
