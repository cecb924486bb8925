package dev.sluice.api.boot;

import dev.sluice.core.ingest.IngestService.BatchLimits;
import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * The way in.
 *
 * @param maxInFlightBytes bytes that all requests together may hold until they are answered, and
 *     those of level {@code accepted} until they are in the spool; beyond it clients are told to
 *     come again; 0 for an eighth of the heap, at most 256MB
 * @param maxBacklogRecords log records that may wait in the spool; beyond it clients are told to
 *     come again; 0 for as many as the spool has room for
 * @param requestBodyTimeout how long a request or a message of a stream may take to come, from its
 *     first byte to its last
 * @param ackTimeout how long a client waits for its logs to be safe before it is told to retry
 * @param storedAckTimeout how long a request of level {@code stored} waits for the database, after
 *     its logs are durable; then it is answered as {@code durable}
 * @param coalesceRecords log records at which a spool entry of several requests is full
 * @param coalesceBytes OTLP bytes at which a spool entry of several requests is full
 * @param coalesceWait how long a request may wait for others to share its entry; alone on an idle
 *     gateway it does not
 * @param idempotencyKeys idempotency keys remembered for each shard of the spool; the oldest is
 *     forgotten first
 * @param idempotencyKeyTtl how long an idempotency key is remembered
 * @param otlpHttpPort second port for OTLP over HTTP, the one that OpenTelemetry SDKs send to by
 *     default; 0 for any free one, -1 for none
 */
@ConfigurationProperties("sluice.ingest")
record IngestProperties(
    @DefaultValue("0B") DataSize maxInFlightBytes,
    @DefaultValue("0") long maxBacklogRecords,
    @DefaultValue("30s") Duration requestBodyTimeout,
    @DefaultValue("10s") Duration ackTimeout,
    @DefaultValue("10s") Duration storedAckTimeout,
    @DefaultValue("10000") int coalesceRecords,
    @DefaultValue("1MB") DataSize coalesceBytes,
    @DefaultValue("5ms") Duration coalesceWait,
    @DefaultValue("1000000") int idempotencyKeys,
    @DefaultValue("24h") Duration idempotencyKeyTtl,
    @DefaultValue("4318") int otlpHttpPort) {

  IngestProperties {
    maxInFlightBytes = PropertyChecks.orHeapFraction(maxInFlightBytes);
    PropertyChecks.requirePositive("sluice.ingest.max-in-flight", maxInFlightBytes);
    if (maxBacklogRecords < 0) {
      throw new IllegalArgumentException(
          "sluice.ingest.max-backlog is " + maxBacklogRecords + ", must not be negative");
    }
    PropertyChecks.requirePositive("sluice.ingest.body-within", requestBodyTimeout);
    PropertyChecks.requirePositive("sluice.ingest.answer-within", ackTimeout);
    PropertyChecks.requirePositive("sluice.ingest.stored-within", storedAckTimeout);
    PropertyChecks.requirePositive("sluice.ingest.coalesce-records", coalesceRecords);
    PropertyChecks.requirePositive("sluice.ingest.coalesce-wait", coalesceWait);
    PropertyChecks.requirePositive("sluice.ingest.idempotency-keys", idempotencyKeys);
    PropertyChecks.requirePositive("sluice.ingest.idempotency-retention", idempotencyKeyTtl);
    if (otlpHttpPort != -1) {
      PropertyChecks.requirePort("sluice.ingest.otlp-http-port", otlpHttpPort);
    }
  }

  BatchLimits batchLimits() {
    return new BatchLimits(
        coalesceRecords,
        PropertyChecks.toArraySize("sluice.ingest.coalesce-bytes", coalesceBytes),
        coalesceWait);
  }
}
