package dev.sluice.api.boot;

import dev.sluice.core.ingest.AdmissionController;
import dev.sluice.core.ingest.IngestService;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.springframework.context.SmartLifecycle;

/**
 * Watches the spool before the doors open; and after they are shut, while delivery still goes on,
 * gives what was accepted and is only in memory its last chance to reach the spool.
 */
final class IngestLifecycle implements SmartLifecycle {

  /** Between delivery's and the web servers'. */
  private static final int PHASE = 1;

  /** Also when the doors have used up the budget: these logs are nowhere else. */
  private static final Duration MIN_CLOSE_TIMEOUT = Duration.ofSeconds(1);

  /** Longer than the spool takes to say that it is out of reach. */
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

  /** Waits for the spool's first word, else the first to come would be turned away without need. */
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
      // durable logs are turned away until it says something
    } catch (ExecutionException e) {
      throw new IllegalStateException(e); // it does not fail
    }
    running = true;
  }

  @Override
  public void stop() {
    running = false;
    admission.stop();
    var half = deadline.remaining().dividedBy(2); // the other half is delivery's
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
