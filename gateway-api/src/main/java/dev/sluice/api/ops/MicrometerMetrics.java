package dev.sluice.api.ops;

import dev.sluice.core.port.DeliveryMetrics;
import dev.sluice.core.port.IngestMetrics;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;

/** The Micrometer meters of ingest, by protocol, and of delivery. */
public final class MicrometerMetrics implements IngestMetrics, DeliveryMetrics {
  private final MeterRegistry registry;
  private final Map<String, ProtocolMeters> protocols = new ConcurrentHashMap<>();
  private final Counter delivered;
  private final DistributionSummary batchRecords;
  private final DistributionSummary batchEntries;
  private final Timer insertDuration;
  private final Timer age;
  private final Map<PauseReason, Counter> retries = new EnumMap<>(PauseReason.class);
  private final Counter deadLettered;

  public MicrometerMetrics(MeterRegistry registry) {
    this.registry = registry;
    delivered =
        Counter.builder("sluice.delivery.records")
            .description("Log records stored in ClickHouse and acked in the spool")
            .register(registry);
    batchRecords =
        DistributionSummary.builder("sluice.delivery.batch.records")
            .description("Log records in one delivery")
            .register(registry);
    batchEntries =
        DistributionSummary.builder("sluice.delivery.batch.entries")
            .description("Spool entries in one delivery")
            .register(registry);
    insertDuration =
        Timer.builder("sluice.delivery.insert.duration")
            .description("Time from the start of an insert until its confirmation")
            .register(registry);
    age =
        Timer.builder("sluice.delivery.age")
            .description("Age of the oldest log record of a delivery when it is stored")
            .register(registry);
    for (var pauseReason : PauseReason.values()) {
      retries.put(
          pauseReason,
          Counter.builder("sluice.delivery.retries")
              .description("Deliveries that were not stored and are retried")
              .tag("reason", label(pauseReason))
              .register(registry));
    }
    deadLettered =
        Counter.builder("sluice.delivery.dead.lettered")
            .description("Log records that the store rejected and that became dead letters")
            .register(registry);
  }

  private static final class ProtocolMeters {
    private final Counter received;
    private final Counter bytes;
    private final Counter accepted;
    private final Counter rejected;
    private final Counter filtered;
    private final Counter unavailable;
    private final Counter replayed;
    private final Counter conflicting;
    private final Counter lost;
    private final Counter shed;
    private final Counter malformed;
    private final Counter decodeErrors;
    private final Counter unknownFields;
    private final Counter unknownTimestamps;
    private final Timer appendDuration;

    ProtocolMeters(String name, MeterRegistry registry) {
      received = outcome(name, "received", registry);
      accepted = outcome(name, "accepted", registry);
      rejected = outcome(name, "rejected", registry);
      unavailable = outcome(name, "unavailable", registry);
      replayed = outcome(name, "replayed", registry);
      conflicting = outcome(name, "conflicting", registry);
      lost = outcome(name, "lost", registry);
      filtered =
          Counter.builder("sluice.ingest.filtered")
              .description("Log records that the allowlist filtered out")
              .tag("protocol", name)
              .register(registry);
      shed =
          Counter.builder("sluice.ingest.shed")
              .description("Requests rejected before their body was read")
              .tag("protocol", name)
              .register(registry);
      bytes =
          Counter.builder("sluice.ingest.bytes")
              .description("Decompressed size of requests as OTLP")
              .tag("protocol", name)
              .register(registry);
      malformed =
          Counter.builder("sluice.ingest.malformed")
              .description("Requests without any decodable log record")
              .tag("protocol", name)
              .register(registry);
      decodeErrors =
          Counter.builder("sluice.ingest.decode.errors")
              .description("Malformed requests that failed a decoder with an unexpected exception")
              .tag("protocol", name)
              .register(registry);
      unknownFields =
          Counter.builder("sluice.ingest.unknown.fields")
              .description("Unknown fields of native logs, which are ignored")
              .tag("protocol", name)
              .register(registry);
      unknownTimestamps =
          Counter.builder("sluice.ingest.unknown.timestamps")
              .description(
                  "Times of native logs in an unknown format, replaced by the receive time")
              .tag("protocol", name)
              .register(registry);
      appendDuration =
          Timer.builder("sluice.ingest.append.duration")
              .description("Time from a complete request until its logs are in the spool")
              .tag("protocol", name)
              .register(registry);
    }

    private static Counter outcome(String name, String outcome, MeterRegistry registry) {
      return Counter.builder("sluice.ingest.records")
          .description(
              "Log records by outcome; received is the sum of the other outcomes, of the filtered"
                  + " records and of those in flight")
          .tag("protocol", name)
          .tag("outcome", outcome)
          .register(registry);
    }
  }

  private ProtocolMeters protocolMeters(String name) {
    return protocols.computeIfAbsent(name, n -> new ProtocolMeters(n, registry));
  }

  @Override
  public void recordReceived(String protocol, int records, long bytes) {
    var meters = protocolMeters(protocol);
    meters.received.increment(records);
    meters.bytes.increment((double) bytes);
  }

  @Override
  public void recordAccepted(String protocol, int records, Duration duration) {
    var meters = protocolMeters(protocol);
    meters.accepted.increment(records);
    meters.appendDuration.record(duration);
  }

  @Override
  public void recordRejected(String protocol, int records) {
    protocolMeters(protocol).rejected.increment(records);
  }

  @Override
  public void recordFiltered(String protocol, int records) {
    protocolMeters(protocol).filtered.increment(records);
  }

  @Override
  public void recordUnavailable(String protocol, int records) {
    protocolMeters(protocol).unavailable.increment(records);
  }

  @Override
  public void recordReplayed(String protocol, int records) {
    protocolMeters(protocol).replayed.increment(records);
  }

  @Override
  public void recordConflict(String protocol, int records) {
    protocolMeters(protocol).conflicting.increment(records);
  }

  @Override
  public void recordLost(String protocol, int records) {
    protocolMeters(protocol).lost.increment(records);
  }

  @Override
  public void recordShed(String protocol) {
    protocolMeters(protocol).shed.increment();
  }

  @Override
  public void recordMalformed(String protocol) {
    protocolMeters(protocol).malformed.increment();
  }

  @Override
  public void recordDecodeError(String protocol) {
    protocolMeters(protocol).decodeErrors.increment();
  }

  @Override
  public void recordUnknownFields(String protocol, long fields) {
    protocolMeters(protocol).unknownFields.increment((double) fields);
  }

  @Override
  public void recordUnknownTimestamps(String protocol, long timestamps) {
    protocolMeters(protocol).unknownTimestamps.increment((double) timestamps);
  }

  @Override
  public void recordStored(long records, int batches, Duration duration, Duration sinceReceived) {
    delivered.increment((double) records);
    batchRecords.record((double) records);
    batchEntries.record(batches);
    insertDuration.record(duration);
    age.record(sinceReceived);
  }

  @Override
  public void recordDeadLettered(int records) {
    deadLettered.increment(records);
  }

  @Override
  public void recordRetryScheduled(PauseReason pauseReason) {
    Objects.requireNonNull(retries.get(pauseReason)).increment();
  }

  /** Returns the reason as the value of a metric tag. */
  public static String label(PauseReason pauseReason) {
    return pauseReason.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
