package dev.sluice.api;

import dev.sluice.core.port.IngestMetrics;
import java.time.Duration;

/** Ingest metrics that record nothing. */
public final class NoopIngestMetrics implements IngestMetrics {
  @Override
  public void recordReceived(String entrance, int records, long bytes) {}

  @Override
  public void recordAccepted(String entrance, int records, Duration took) {}

  @Override
  public void recordRejected(String entrance, int records) {}

  @Override
  public void recordFiltered(String entrance, int records) {}

  @Override
  public void recordUnavailable(String entrance, int records) {}

  @Override
  public void recordReplayed(String entrance, int records) {}

  @Override
  public void recordConflict(String entrance, int records) {}

  @Override
  public void recordLost(String entrance, int records) {}

  @Override
  public void recordShed(String entrance) {}

  @Override
  public void recordMalformed(String entrance) {}

  @Override
  public void recordUnknownFields(String entrance, long fields) {}
}
