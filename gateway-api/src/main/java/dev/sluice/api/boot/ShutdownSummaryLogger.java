package dev.sluice.api.boot;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.boot.SpringApplication;

/**
 * What is left in the spool, as the last line that an orderly end writes. It is looked up while the
 * spool is still open, after the last delivery, and said when everything else has ended.
 */
final class ShutdownSummaryLogger implements DisposableBean {
  private static final Logger LOG = LoggerFactory.getLogger(ShutdownSummaryLogger.class);

  private final SpoolBackend spoolBackend;
  private volatile String summary = "what is left in the spool was not looked up";

  ShutdownSummaryLogger(SpoolBackend spoolBackend) {
    this.spoolBackend = spoolBackend;
    SpringApplication.getShutdownHandlers().add(() -> LOG.info("ended, {}", summary));
  }

  /** Before the spool's, since the spool is a part of this. */
  @Override
  public void destroy() {
    summary = summarize();
  }

  private String summarize() {
    try {
      long entries = spoolBackend.backlog().depth().entries();
      return entries == 0
          ? "nothing is left in the spool"
          : "%d entries with %d logs stay in the spool until the next start"
                  .formatted(entries, spoolBackend.spool().recordCounts().inFlight())
              + describeFallbackBacklog();
    } catch (RuntimeException e) {
      return "what is left in the spool is not known: "
          + e.getMessage()
          + describeFallbackBacklog();
    }
  }

  /** What nobody but this process can deliver. */
  private String describeFallbackBacklog() {
    var failover = spoolBackend.failover();
    long backlog = failover == null ? 0 : failover.failoverStatus().waitingInSecond();
    return backlog == 0 ? "" : ", %d logs in the write-ahead log".formatted(backlog);
  }
}
