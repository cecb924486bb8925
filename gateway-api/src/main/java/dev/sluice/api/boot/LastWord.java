package dev.sluice.api.boot;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.boot.SpringApplication;

/**
 * What is left in the spool, as the last line that an orderly end writes. It is looked up while the
 * spool is still open, after the last delivery, and said when everything else has ended.
 */
final class LastWord implements DisposableBean {
  private static final Logger LOG = LoggerFactory.getLogger(LastWord.class);

  private final Spools spools;
  private volatile String left = "what is left in the spool was not looked up";

  LastWord(Spools spools) {
    this.spools = spools;
    SpringApplication.getShutdownHandlers().add(() -> LOG.info("ended, {}", left));
  }

  /** Before the spool's, since the spool is a part of this. */
  @Override
  public void destroy() {
    left = look();
  }

  private String look() {
    try {
      long entries = spools.backlog().depth().entries();
      return entries == 0
          ? "nothing is left in the spool"
          : "%d entries with %d logs stay in the spool until the next start"
                  .formatted(entries, spools.spool().recordCounts().inFlight())
              + standIn();
    } catch (RuntimeException e) {
      return "what is left in the spool is not known: " + e.getMessage() + standIn();
    }
  }

  /** What nobody but this process can deliver. */
  private String standIn() {
    var failover = spools.failover();
    long waiting = failover == null ? 0 : failover.failoverStatus().waitingInSecond();
    return waiting == 0 ? "" : ", %d logs in the write-ahead log".formatted(waiting);
  }
}
