package dev.sluice.api.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.api.IngestFixture;
import dev.sluice.api.ops.MicrometerMetrics;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.ingest.AckLevel;
import dev.sluice.core.ingest.IngestService;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.port.Spool;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The start of ingest waits for the first status of the spool. */
@Timeout(60)
class IngestLifecycleTest {
  private final UnresponsiveSpool spool = new UnresponsiveSpool();
  private final IngestFixture ingestFixture =
      IngestFixture.of(
          spool,
          Limits.DEFAULT,
          new MemoryBudget(1 << 20),
          new IngestService.BatchLimits(1, 1, Duration.ZERO),
          new MicrometerMetrics(new SimpleMeterRegistry()));
  private final IngestLifecycle lifecycle =
      new IngestLifecycle(
          ingestFixture.ingest(),
          ingestFixture.admission(),
          new ShutdownDeadline(Duration.ofSeconds(1)));

  @Test
  void start_spoolResponds_acceptsDurableLogsImmediately() throws InterruptedException {
    var starting = Thread.ofVirtual().start(lifecycle::start);
    await().until(() -> starting.getState() == Thread.State.TIMED_WAITING);
    assertThat(lifecycle.isRunning()).isFalse();

    spool.status.complete(new Spool.SpoolStatus(null, null, 0, 0));

    starting.join();
    assertThat(lifecycle.isRunning()).isTrue();
    assertThat(ingestFixture.admission().check(AckLevel.DURABLE)).isNull();
  }

  @Test
  void start_spoolDoesNotRespond_startsWithoutDurableWrites() {
    lifecycle.start();

    assertThat(lifecycle.isRunning()).isTrue();
    assertThat(ingestFixture.admission().check(AckLevel.DURABLE)).isNotNull();
    assertThat(ingestFixture.admission().check(AckLevel.ACCEPTED)).isNull();
  }

  /** A spool whose status the test completes, and that never completes an append. */
  private static final class UnresponsiveSpool implements Spool {
    private final CompletableFuture<SpoolStatus> status = new CompletableFuture<>();

    @Override
    public CompletionStage<SpoolStatus> status() {
      return status;
    }

    @Override
    public CompletionStage<AppendResult> append(LogBatch batch, AppendMode appendMode) {
      return new CompletableFuture<>();
    }
  }
}
