package dev.sluice.api.config;

import dev.sluice.core.ingest.AdmissionController;
import dev.sluice.core.ingest.IngestService;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.springframework.context.SmartLifecycle;

/**
 * Starts and stops ingest. It starts to poll the spool before the servers accept requests. After
 * the servers have stopped, and before delivery stops, it makes the last attempts to append
 * acknowledged logs that are only in memory.
 */
final class IngestLifecycle implements SmartLifecycle {

  /** Above the phase of delivery and below those of the web servers. */
  private static final int PHASE = 1;

  /** The minimum, also past the shutdown deadline: these logs exist only in memory. */
  private static final Duration MIN_CLOSE_TIMEOUT = Duration.ofSeconds(1);

  /** Longer than the spool needs to report that it is unreachable. */
  private static final Duration FIRST_STATUS_TIMEOUT = Duration.ofSeconds(2);

  private final IngestService ingest;
  private final AdmissionController admission;
  private final ShutdownDeadline deadline;
  private volatile boolean running;

  IngestLifecycle(IngestService ingest, AdmissionController admission, ShutdownDeadline deadline) {
    this.ingest = ingest;
    this.admission = admission;
    this.deadline = deadline;
  }

  /** Waits for the first status of the spool, without which durable logs are rejected. */
  @Override
  public void start() {
    try {
      admission
          .start()
          .toCompletableFuture()
          .get(FIRST_STATUS_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    } catch (TimeoutException _) {
      // ingest rejects durable logs until the first status arrives
    } catch (ExecutionException e) {
      throw new IllegalStateException(e); // unreachable: the stage never fails
    }
    running = true;
  }

  @Override
  public void stop() {
    running = false;
    admission.stop();
    var half = deadline.remaining().dividedBy(2); // delivery gets the other half
    var _ = ingest.close(half.compareTo(MIN_CLOSE_TIMEOUT) < 0 ? MIN_CLOSE_TIMEOUT : half);
  }

  @Override
  public boolean isRunning() {
    return running;
  }

  @Override
  public int getPhase() {
    return PHASE;
  }
}
