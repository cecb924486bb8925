package dev.sluice.api;

import dev.sluice.core.port.IngestMetrics;
import java.time.Duration;

/** Ingest metrics that record nothing. */
public final class NoopIngestMetrics implements IngestMetrics {
  @Override
  public void recordReceived(String protocol, int records, long bytes) {}

  @Override
  public void recordAccepted(String protocol, int records, Duration duration) {}

  @Override
  public void recordRejected(String protocol, int records) {}

  @Override
  public void recordFiltered(String protocol, int records) {}

  @Override
  public void recordUnavailable(String protocol, int records) {}

  @Override
  public void recordReplayed(String protocol, int records) {}

  @Override
  public void recordConflict(String protocol, int records) {}

  @Override
  public void recordLost(String protocol, int records) {}

  @Override
  public void recordShed(String protocol) {}

  @Override
  public void recordDecodeError(String protocol) {}

  @Override
  public void recordMalformed(String protocol) {}

  @Override
  public void recordUnknownFields(String protocol, long fields) {}

  @Override
  public void recordUnknownTimestamps(String protocol, long timestamps) {}
}
