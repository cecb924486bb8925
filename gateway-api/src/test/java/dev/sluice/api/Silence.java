package dev.sluice.api;

import dev.sluice.core.port.IngestMeter;
import java.time.Duration;

/** A meter for tests that ask none. */
public final class Silence implements IngestMeter {
  @Override
  public void received(String entrance, int records, long bytes) {}

  @Override
  public void accepted(String entrance, int records, Duration took) {}

  @Override
  public void rejected(String entrance, int records) {}

  @Override
  public void filtered(String entrance, int records) {}

  @Override
  public void turnedAway(String entrance, int records) {}

  @Override
  public void replayed(String entrance, int records) {}

  @Override
  public void conflicting(String entrance, int records) {}

  @Override
  public void lost(String entrance, int records) {}

  @Override
  public void shed(String entrance) {}

  @Override
  public void malformed(String entrance) {}

  @Override
  public void unknownFields(String entrance, long fields) {}
}
