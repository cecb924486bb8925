package dev.sluice.api.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.core.delivery.Backoff;
import dev.sluice.core.delivery.DeliveryWorker;
import dev.sluice.core.port.DeliveryMetrics.PauseReason;
import dev.sluice.core.port.LogStore.StoreResult;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.WriteResult;
import dev.sluice.testkit.InMemoryDeadLetterStore;
import dev.sluice.testkit.InMemoryLogStore;
import dev.sluice.testkit.InMemorySpool;
import dev.sluice.testkit.LogBatches;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.health.contributor.Status;

class DeliveryHealthTest {
  private final InMemorySpool spool = new InMemorySpool();
  private final InMemoryLogStore store = new InMemoryLogStore();
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final DeliveryWorker worker =
      DeliveryWorker.start(
          "test",
          spool.consumer(),
          store,
          new InMemoryDeadLetterStore(),
          (_, _) -> new WriteResult.Written(),
          new MicrometerMetrics(registry),
          new DeliveryWorker.WorkerSettings(
              new Backoff(Duration.ofMillis(1), Duration.ofMillis(1), Thread::sleep, () -> 0L),
              Thread::sleep,
              InstantSource.system(),
              1,
              1));
  private final DeliveryHealth health = new DeliveryHealth(() -> List.of(worker), spool);

  @AfterEach
  void close() {
    worker.close();
  }

  @Test
  void health_schemaMismatch_isUpAndReportsThePauseUntilItEnds() {
    store.setOutcome(new StoreResult.SchemaMismatch("no column Body"));
    spool.append(LogBatches.of(1), AppendMode.SYNC);

    await().until(() -> worker.pauseState().isPresent());

    var paused = health.health();
    assertThat(paused.getStatus()).isEqualTo(Status.UP);
    assertThat(paused.getDetails()).containsEntry("paused", List.of("schema: no column Body"));
    assertThat(registry.get("sluice.delivery.retries").tag("reason", "schema").counter().count())
        .isPositive();

    store.setOutcome(null);

    await().until(() -> worker.pauseState().isEmpty());
    assertThat(health.health().getDetails()).doesNotContainKey("paused");
  }

  @Test
  void health_workerStopped_isDown() {
    worker.shutdown(Duration.ofSeconds(10));

    assertThat(health.health().getStatus()).isEqualTo(Status.DOWN);
  }

  @Test
  void label_reason_isKebabCase() {
    assertThat(MicrometerMetrics.label(PauseReason.SCHEMA)).isEqualTo("schema");
  }
}
