package dev.sluice.api.boot;

import dev.sluice.core.ingest.Admission;
import dev.sluice.core.ingest.IngestLogs;
import java.time.Duration;
import org.springframework.context.ApplicationListener;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.event.ContextClosedEvent;

/**
 * Watches the spool before the doors open; and after they are shut, while delivery still goes on,
 * gives what was accepted and is only in memory its last chance to reach the spool.
 */
final class IngestLifecycle implements SmartLifecycle, ApplicationListener<ContextClosedEvent> {

  /** Between delivery's and the web servers'. */
  private static final int PHASE = 1;

  private final IngestLogs ingest;
  private final Admission admission;
  private final Duration budget;
  private volatile boolean running;
  private volatile long deadline = Long.MAX_VALUE;

  IngestLifecycle(IngestLogs ingest, Admission admission, Duration budget) {
    this.ingest = ingest;
    this.admission = admission;
    this.budget = budget;
  }

  @Override
  public void start() {
    admission.start();
    running = true;
  }

  /** The budget counts from the moment the end was asked for, whatever the doors need of it. */
  @Override
  public void onApplicationEvent(ContextClosedEvent event) {
    if (deadline == Long.MAX_VALUE) {
      deadline = System.nanoTime() + budget.toNanos();
    }
  }

  @Override
  public void stop() {
    running = false;
    admission.stop();
    var _ = ingest.close(remaining().dividedBy(2)); // the other half is delivery's
  }

  private Duration remaining() {
    return deadline == Long.MAX_VALUE
        ? budget
        : Duration.ofNanos(Math.max(0, deadline - System.nanoTime()));
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
