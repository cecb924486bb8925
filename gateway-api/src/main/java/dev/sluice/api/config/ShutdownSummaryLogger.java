package dev.sluice.api.config;

import dev.sluice.core.failover.FailoverSpool;
import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.DailyCounts;
import org.jspecify.annotations.Nullable;
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

  private final Backlog backlog;
  private final DailyCounts dailyCounts;
  private final @Nullable FailoverSpool failover;
  private volatile String summary = "the backlog of the spool is unknown";

  /**
   * @param failover the failover from Redis; null when the spool has no fallback
   */
  ShutdownSummaryLogger(
      Backlog backlog, DailyCounts dailyCounts, @Nullable FailoverSpool failover) {
    this.backlog = backlog;
    this.dailyCounts = dailyCounts;
    this.failover = failover;
    SpringApplication.getShutdownHandlers().add(() -> LOG.info("gateway stopped: {}", summary));
  }

  /** Runs before the spool closes, because this bean depends on the spool. */
  @Override
  public void destroy() {
    summary = summarize();
  }

  private String summarize() {
    try {
      long entries = backlog.depth().entries();
      return entries == 0
          ? "the spool is empty"
          : "%d entries with %d logs remain in the spool until the next start"
                  .formatted(entries, dailyCounts.recordCounts().inFlight())
              + describeFallbackBacklog();
    } catch (RuntimeException e) {
      return "the backlog of the spool is unknown: " + e.getMessage() + describeFallbackBacklog();
    }
  }

  /** Describes the logs that only this process can deliver. */
  private String describeFallbackBacklog() {
    long records = failover == null ? 0 : failover.failoverStatus().fallbackRecords();
    return records == 0 ? "" : ", %d logs in the write-ahead log".formatted(records);
  }
}
