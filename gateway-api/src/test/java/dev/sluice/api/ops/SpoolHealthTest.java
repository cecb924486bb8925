package dev.sluice.api.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.failover.FailoverSpool;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.testkit.InMemorySpool;
import dev.sluice.testkit.LogBatches;
import java.time.Duration;
import java.time.InstantSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.health.contributor.Status;

class SpoolHealthTest {
  private static final AppendResult.Unavailable BUSY =
      new AppendResult.Unavailable(Duration.ofSeconds(1), "it is full");

  private final InMemorySpool first = new InMemorySpool();
  private final InMemorySpool second = new InMemorySpool();
  private final FailoverSpool failover =
      new FailoverSpool(
          new FailoverSpool.SpoolTarget("Redis", first, first, first, first),
          new FailoverSpool.SpoolTarget("the write-ahead log", second, second, second, second),
          second,
          new FailoverSpool.FailoverSettings(
              Duration.ofSeconds(10),
              Duration.ofHours(1),
              true,
              10,
              Duration.ofDays(1),
              Duration.ofMinutes(2)),
          (_, _) -> {}, // no time passes
          (_, _) -> () -> {},
          InstantSource.system());

  @AfterEach
  void close() {
    failover.close();
  }

  private SpoolHealth health(boolean delivers) {
    return new SpoolHealth(failover, failover, delivers);
  }

  private void append(int records) {
    var appendResult = failover.append(LogBatches.of(records)).toCompletableFuture().join();
    assertThat(appendResult).isInstanceOf(AppendResult.Accepted.class);
  }

  @Test
  void health_redisAvailable_isUpWithoutDetails() {
    append(3);

    var health = health(true).health();

    assertThat(health.getStatus()).isEqualTo(Status.UP);
    assertThat(health.getDetails()).isEmpty();
  }

  @Test
  void health_failoverWithDeliverRole_isUpAndReportsDelivery() {
    first.setUnavailable(BUSY);
    append(3);

    var health = health(true).health();

    assertThat(health.getStatus()).isEqualTo(Status.UP);
    assertThat(health.getDetails())
        .containsEntry("waiting", 3L)
        .containsEntry(
            "failover",
            "the write-ahead log takes the logs, which are delivered from there,"
                + " since Redis does not take them: it is full");
  }

  @Test
  void health_failoverWithoutDeliverRole_isUpAndReportsTheBacklog() {
    first.setUnavailable(BUSY);
    append(3);

    var health = health(false).health();

    assertThat(health.getStatus()).isEqualTo(Status.UP);
    assertThat(health.getDetails())
        .containsEntry("waiting", 3L)
        .containsEntry(
            "failover",
            "the write-ahead log takes the logs, which wait there for Redis,"
                + " since Redis does not take them: it is full");
  }

  @Test
  void health_bothSpoolsUnavailable_isDownWithTheReason() {
    first.setUnavailable(BUSY);
    second.setUnavailable(
        new AppendResult.Unavailable(Duration.ofSeconds(1), "no room on the disk"));
    var _ = failover.append(LogBatches.of(1)).toCompletableFuture().join();

    var health = health(true).health();

    assertThat(health.getStatus()).isEqualTo(Status.DOWN);
    assertThat(health.getDetails().get("reason"))
        .asString()
        .contains("it is full")
        .contains("no room on the disk");
  }

  @Test
  void health_noFailover_isTheSpoolStatus() {
    var health = new SpoolHealth(first, null, true);
    assertThat(health.health().getStatus()).isEqualTo(Status.UP);

    first.setUnavailable(BUSY);

    assertThat(health.health().getStatus()).isEqualTo(Status.DOWN);
    assertThat(health.health().getDetails()).containsEntry("reason", "it is full");
  }
}
