package dev.sluice.core.ingest;

import dev.sluice.core.port.IngestMeter;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/** Sums, whatever the entrance; the last one is remembered. */
final class CountingMeter implements IngestMeter {
  final AtomicLong received = new AtomicLong();
  final AtomicLong bytes = new AtomicLong();
  final AtomicLong accepted = new AtomicLong();
  final AtomicLong rejected = new AtomicLong();
  final AtomicLong filtered = new AtomicLong();
  final AtomicLong turnedAway = new AtomicLong();
  final AtomicLong replayed = new AtomicLong();
  final AtomicLong conflicting = new AtomicLong();
  final AtomicLong lost = new AtomicLong();
  final AtomicLong malformed = new AtomicLong();
  final AtomicLong unknownFields = new AtomicLong();
  final AtomicReference<String> entrance = new AtomicReference<>("");
  final AtomicReference<Duration> took = new AtomicReference<>(Duration.ZERO);

  /** The invariant of the port; true whenever nothing is under way. */
  boolean balances() {
    return received.get()
        == accepted.get()
            + rejected.get()
            + filtered.get()
            + turnedAway.get()
            + replayed.get()
            + conflicting.get()
            + lost.get();
  }

  @Override
  public void received(String entrance, int records, long bytes) {
    this.entrance.set(entrance);
    received.addAndGet(records);
    this.bytes.addAndGet(bytes);
  }

  @Override
  public void accepted(String entrance, int records, Duration took) {
    this.took.set(took);
    accepted.addAndGet(records);
  }

  @Override
  public void rejected(String entrance, int records) {
    rejected.addAndGet(records);
  }

  @Override
  public void filtered(String entrance, int records) {
    filtered.addAndGet(records);
  }

  @Override
  public void turnedAway(String entrance, int records) {
    turnedAway.addAndGet(records);
  }

  @Override
  public void replayed(String entrance, int records) {
    replayed.addAndGet(records);
  }

  @Override
  public void conflicting(String entrance, int records) {
    conflicting.addAndGet(records);
  }

  @Override
  public void lost(String entrance, int records) {
    lost.addAndGet(records);
  }

  @Override
  public void shed(String entrance) {}

  @Override
  public void malformed(String entrance) {
    this.entrance.set(entrance);
    malformed.incrementAndGet();
  }

  @Override
  public void unknownFields(String entrance, long fields) {
    unknownFields.addAndGet(fields);
  }
}
