package dev.sluice.api.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.failover.FailoverSpool;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.testkit.InMemorySpool;
import dev.sluice.testkit.LogBatches;
import java.time.Duration;
import java.time.InstantSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.health.contributor.Status;

class SpoolHealthTest {
  private static final AppendResult.Unavailable FULL =
      new AppendResult.Unavailable(Duration.ofSeconds(1), "it is full");

  private final InMemorySpool primary = new InMemorySpool();
  private final InMemorySpool fallback = new InMemorySpool();
  private final FailoverSpool failover =
      new FailoverSpool(
          FailoverSpool.SpoolTarget.of("Redis", primary),
          primary,
          primary,
          FailoverSpool.SpoolTarget.of("the write-ahead log", fallback),
          new FailoverSpool.FailoverSettings(
              "node", Duration.ofSeconds(10), Duration.ofHours(1), 10, Duration.ofDays(1)),
          (_, _) -> {}, // no timer runs
          (_, _) -> () -> {},
          InstantSource.system());

  @AfterEach
  void close() {
    failover.close();
  }

  private SpoolHealth health() {
    return new SpoolHealth(failover, failover);
  }

  private void append(int records) {
    var appendResult =
        failover.append(LogBatches.of(records), AppendMode.SYNC).toCompletableFuture().join();
    assertThat(appendResult).isInstanceOf(AppendResult.Accepted.class);
  }

  @Test
  void health_redisAvailable_isUpWithoutDetails() {
    append(3);

    var health = health().health();

    assertThat(health.getStatus()).isEqualTo(Status.UP);
    assertThat(health.getDetails()).isEmpty();
  }

  @Test
  void health_failover_isUpAndReportsDelivery() {
    primary.setUnavailable(FULL);
    append(3);

    var health = health().health();

    assertThat(health.getStatus()).isEqualTo(Status.UP);
    assertThat(health.getDetails())
        .containsEntry("fallbackRecords", 3L)
        .containsEntry(
            "failover",
            "Redis rejects logs; the write-ahead log accepts them and delivers them: it is full");
  }

  @Test
  void health_bothSpoolsUnavailable_isDownWithTheReason() {
    primary.setUnavailable(FULL);
    fallback.setUnavailable(
        new AppendResult.Unavailable(Duration.ofSeconds(1), "no space on the disk"));
    var _ = failover.append(LogBatches.of(1), AppendMode.SYNC).toCompletableFuture().join();

    var health = health().health();

    assertThat(health.getStatus()).isEqualTo(Status.DOWN);
    assertThat(health.getDetails().get("reason"))
        .asString()
        .contains("it is full")
        .contains("no space on the disk");
  }

  @Test
  void health_noFailover_isTheSpoolStatus() {
    var health = new SpoolHealth(primary, null);
    assertThat(health.health().getStatus()).isEqualTo(Status.UP);

    primary.setUnavailable(FULL);

    assertThat(health.health().getStatus()).isEqualTo(Status.DOWN);
    assertThat(health.health().getDetails()).containsEntry("reason", "it is full");
  }
}
