package dev.sluice.core.ingest;

import dev.sluice.core.port.IngestMetrics;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/** Sums, whatever the entrance; the last one is remembered. */
final class CountingMetrics implements IngestMetrics {
  final AtomicLong received = new AtomicLong();
  final AtomicLong bytes = new AtomicLong();
  final AtomicLong accepted = new AtomicLong();
  final AtomicLong rejected = new AtomicLong();
  final AtomicLong filtered = new AtomicLong();
  final AtomicLong unavailable = new AtomicLong();
  final AtomicLong replayed = new AtomicLong();
  final AtomicLong conflicting = new AtomicLong();
  final AtomicLong lost = new AtomicLong();
  final AtomicLong malformed = new AtomicLong();
  final AtomicLong unknownFields = new AtomicLong();
  final AtomicReference<String> protocol = new AtomicReference<>("");
  final AtomicReference<Duration> took = new AtomicReference<>(Duration.ZERO);

  /** The invariant of the port; true whenever nothing is under way. */
  boolean balances() {
    return received.get()
        == accepted.get()
            + rejected.get()
            + filtered.get()
            + unavailable.get()
            + replayed.get()
            + conflicting.get()
            + lost.get();
  }

  @Override
  public void recordReceived(String entrance, int records, long bytes) {
    this.protocol.set(entrance);
    received.addAndGet(records);
    this.bytes.addAndGet(bytes);
  }

  @Override
  public void recordAccepted(String entrance, int records, Duration took) {
    this.took.set(took);
    accepted.addAndGet(records);
  }

  @Override
  public void recordRejected(String entrance, int records) {
    rejected.addAndGet(records);
  }

  @Override
  public void recordFiltered(String entrance, int records) {
    filtered.addAndGet(records);
  }

  @Override
  public void recordUnavailable(String entrance, int records) {
    unavailable.addAndGet(records);
  }

  @Override
  public void recordReplayed(String entrance, int records) {
    replayed.addAndGet(records);
  }

  @Override
  public void recordConflict(String entrance, int records) {
    conflicting.addAndGet(records);
  }

  @Override
  public void recordLost(String entrance, int records) {
    lost.addAndGet(records);
  }

  @Override
  public void recordShed(String entrance) {}

  @Override
  public void recordMalformed(String entrance) {
    this.protocol.set(entrance);
    malformed.incrementAndGet();
  }

  @Override
  public void recordUnknownFields(String entrance, long fields) {
    unknownFields.addAndGet(fields);
  }
}
