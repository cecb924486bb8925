package dev.sluice.api.boot;

import dev.sluice.core.ingest.Admission;
import dev.sluice.core.ingest.IngestLogs;
import org.springframework.context.SmartLifecycle;

/**
 * Watches the spool before the doors open; and after they are shut, while delivery still goes on,
 * gives what was accepted and is only in memory its last chance to reach the spool.
 */
final class IngestLifecycle implements SmartLifecycle {

  /** Between delivery's and the web servers'. */
  private static final int PHASE = 1;

  private final IngestLogs ingest;
  private final Admission admission;
  private final ShutdownBudget budget;
  private volatile boolean running;

  IngestLifecycle(IngestLogs ingest, Admission admission, ShutdownBudget budget) {
    this.ingest = ingest;
    this.admission = admission;
    this.budget = budget;
  }

  @Override
  public void start() {
    admission.start();
    running = true;
  }

  @Override
  public void stop() {
    running = false;
    admission.stop();
    var _ = ingest.close(budget.remaining().dividedBy(2)); // the other half is delivery's
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
