package dev.sluice.api.config;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.boot.SpringApplication;

/**
 * Logs the remaining backlog of the spool as the last line of an orderly shutdown. It reads the
 * backlog while the spool is still open, after the last delivery.
 */
final class ShutdownSummaryLogger implements DisposableBean {
  private static final Logger LOG = LoggerFactory.getLogger(ShutdownSummaryLogger.class);

  private final SpoolBackend spoolBackend;
  private volatile String summary = "the backlog of the spool is unknown";

  ShutdownSummaryLogger(SpoolBackend spoolBackend) {
    this.spoolBackend = spoolBackend;
    SpringApplication.getShutdownHandlers().add(() -> LOG.info("gateway stopped: {}", summary));
  }

  /** Runs before the spool closes, because this bean depends on the spool. */
  @Override
  public void destroy() {
    summary = summarize();
  }

  private String summarize() {
    try {
      long entries = spoolBackend.backlog().depth().entries();
      return entries == 0
          ? "the spool is empty"
          : "%d entries with %d logs remain in the spool until the next start"
                  .formatted(entries, spoolBackend.spool().recordCounts().inFlight())
              + describeFallbackBacklog();
    } catch (RuntimeException e) {
      return "the backlog of the spool is unknown: " + e.getMessage() + describeFallbackBacklog();
    }
  }

  /** Describes the logs that only this process can deliver. */
  private String describeFallbackBacklog() {
    var failover = spoolBackend.failover();
    long backlog = failover == null ? 0 : failover.failoverStatus().fallbackRecords();
    return backlog == 0 ? "" : ", %d logs in the write-ahead log".formatted(backlog);
  }
}
