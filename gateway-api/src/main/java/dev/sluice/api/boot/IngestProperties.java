package dev.sluice.api.boot;

import dev.sluice.core.ingest.IngestService.BatchLimits;
import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * The way in.
 *
 * @param maxInFlight bytes that all requests together may hold until they are answered, and those
 *     of level {@code accepted} until they are in the spool; beyond it clients are told to come
 *     again; 0 for an eighth of the heap, at most 256MB
 * @param maxBacklog log records that may wait in the spool; beyond it clients are told to come
 *     again; 0 for as many as the spool has room for
 * @param bodyWithin how long a request or a message of a stream may take to come, from its first
 *     byte to its last
 * @param answerWithin how long a client waits for its logs to be safe before it is told to retry
 * @param storedWithin how long a request of level {@code stored} waits for the database, after its
 *     logs are durable; then it is answered as {@code durable}
 * @param coalesceRecords log records at which a spool entry of several requests is full
 * @param coalesceBytes OTLP bytes at which a spool entry of several requests is full
 * @param coalesceWait how long a request may wait for others to share its entry; alone on an idle
 *     gateway it does not
 * @param idempotencyKeys idempotency keys remembered for each shard of the spool; the oldest is
 *     forgotten first
 * @param idempotencyRetention how long an idempotency key is remembered
 * @param otlpHttpPort second port for OTLP over HTTP, the one that OpenTelemetry SDKs send to by
 *     default; 0 for any free one, -1 for none
 */
@ConfigurationProperties("sluice.ingest")
record IngestProperties(
    @DefaultValue("0B") DataSize maxInFlight,
    @DefaultValue("0") long maxBacklog,
    @DefaultValue("30s") Duration bodyWithin,
    @DefaultValue("10s") Duration answerWithin,
    @DefaultValue("10s") Duration storedWithin,
    @DefaultValue("10000") int coalesceRecords,
    @DefaultValue("1MB") DataSize coalesceBytes,
    @DefaultValue("5ms") Duration coalesceWait,
    @DefaultValue("1000000") int idempotencyKeys,
    @DefaultValue("24h") Duration idempotencyRetention,
    @DefaultValue("4318") int otlpHttpPort) {

  IngestProperties {
    maxInFlight = Setting.orShareOfHeap(maxInFlight);
    Setting.requirePositive("sluice.ingest.max-in-flight", maxInFlight);
    if (maxBacklog < 0) {
      throw new IllegalArgumentException(
          "sluice.ingest.max-backlog is " + maxBacklog + ", must not be negative");
    }
    Setting.requirePositive("sluice.ingest.body-within", bodyWithin);
    Setting.requirePositive("sluice.ingest.answer-within", answerWithin);
    Setting.requirePositive("sluice.ingest.stored-within", storedWithin);
    Setting.requirePositive("sluice.ingest.coalesce-records", coalesceRecords);
    Setting.requirePositive("sluice.ingest.coalesce-wait", coalesceWait);
    Setting.requirePositive("sluice.ingest.idempotency-keys", idempotencyKeys);
    Setting.requirePositive("sluice.ingest.idempotency-retention", idempotencyRetention);
    if (otlpHttpPort != -1) {
      Setting.requirePort("sluice.ingest.otlp-http-port", otlpHttpPort);
    }
  }

  BatchLimits coalescing() {
    return new BatchLimits(
        coalesceRecords,
        Setting.bytes("sluice.ingest.coalesce-bytes", coalesceBytes),
        coalesceWait);
  }
}
