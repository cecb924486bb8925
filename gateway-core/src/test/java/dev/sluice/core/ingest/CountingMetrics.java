package dev.sluice.core.ingest;

import dev.sluice.core.port.IngestMetrics;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/** Metrics that sum over all protocols and record the latest protocol. */
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
  final AtomicLong decodeErrors = new AtomicLong();
  final AtomicLong unknownFields = new AtomicLong();
  final AtomicLong unknownTimestamps = new AtomicLong();
  final AtomicReference<String> protocol = new AtomicReference<>("");
  final AtomicReference<Duration> duration = new AtomicReference<>(Duration.ZERO);

  /** The invariant of {@link IngestMetrics}; true whenever no request is in flight. */
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
  public void recordReceived(String protocol, int records, long bytes) {
    this.protocol.set(protocol);
    received.addAndGet(records);
    this.bytes.addAndGet(bytes);
  }

  @Override
  public void recordAccepted(String protocol, int records, Duration duration) {
    this.duration.set(duration);
    accepted.addAndGet(records);
  }

  @Override
  public void recordRejected(String protocol, int records) {
    rejected.addAndGet(records);
  }

  @Override
  public void recordFiltered(String protocol, int records) {
    filtered.addAndGet(records);
  }

  @Override
  public void recordUnavailable(String protocol, int records) {
    unavailable.addAndGet(records);
  }

  @Override
  public void recordReplayed(String protocol, int records) {
    replayed.addAndGet(records);
  }

  @Override
  public void recordConflict(String protocol, int records) {
    conflicting.addAndGet(records);
  }

  @Override
  public void recordLost(String protocol, int records) {
    lost.addAndGet(records);
  }

  @Override
  public void recordShed(String protocol) {}

  @Override
  public void recordDecodeError(String protocol) {
    decodeErrors.incrementAndGet();
  }

  @Override
  public void recordMalformed(String protocol) {
    this.protocol.set(protocol);
    malformed.incrementAndGet();
  }

  @Override
  public void recordUnknownFields(String protocol, long fields) {
    unknownFields.addAndGet(fields);
  }

  @Override
  public void recordUnknownTimestamps(String protocol, long timestamps) {
    unknownTimestamps.addAndGet(timestamps);
  }
}
