package dev.sluice.api.config;

import dev.sluice.core.ingest.IngestService.BatchLimits;
import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * Limits and timeouts of ingest.
 *
 * @param maxInFlightBytes memory that all requests together may hold until their response, and
 *     requests of level {@code accepted} until the append; above it the gateway answers 503 with
 *     Retry-After; 0 means an eighth of the heap, at most 256MB
 * @param maxBacklogRecords log records that may wait in the spool; above it the gateway answers 503
 *     with Retry-After; 0 means as many as fit into the spool
 * @param requestBodyTimeout time from the first to the last byte of a request body or of a gRPC
 *     message
 * @param ackTimeout time that a request waits for its append; then the client gets an error and
 *     retries
 * @param storedAckTimeout time that a request of level {@code stored} waits for ClickHouse after
 *     its append; then the response says {@code durable}
 * @param batch size and linger of the spool entries that concurrent requests share
 * @param idempotencyKeys idempotency keys that each shard of the spool keeps; above it the oldest
 *     is removed
 * @param idempotencyKeyTtl time that an idempotency key is kept
 * @param otlpHttpPort second port for OTLP/HTTP, the default of OpenTelemetry SDKs; 0 means any
 *     free port, -1 none
 */
@ConfigurationProperties("sluice.ingest")
record IngestProperties(
    @DefaultValue("0B") DataSize maxInFlightBytes,
    @DefaultValue("0") long maxBacklogRecords,
    @DefaultValue("30s") Duration requestBodyTimeout,
    @DefaultValue("10s") Duration ackTimeout,
    @DefaultValue("10s") Duration storedAckTimeout,
    @DefaultValue Batch batch,
    @DefaultValue("1000000") int idempotencyKeys,
    @DefaultValue("24h") Duration idempotencyKeyTtl,
    @DefaultValue("4318") int otlpHttpPort) {

  /**
   * Bounds of a spool entry that concurrent requests share.
   *
   * @param maxRecords log records at which an entry is full
   * @param maxBytes OTLP bytes at which an entry is full
   * @param linger time that a request waits for others to share its entry; without concurrent
   *     requests it does not wait
   */
  record Batch(
      @DefaultValue("10000") int maxRecords,
      @DefaultValue("1MB") DataSize maxBytes,
      @DefaultValue("5ms") Duration linger) {

    Batch {
      PropertyChecks.requirePositive("sluice.ingest.batch.max-records", maxRecords);
      PropertyChecks.requirePositive("sluice.ingest.batch.linger", linger);
    }

    BatchLimits limits() {
      return new BatchLimits(
          maxRecords,
          PropertyChecks.toArraySize("sluice.ingest.batch.max-bytes", maxBytes),
          linger);
    }
  }

  IngestProperties {
    maxInFlightBytes = PropertyChecks.orHeapFraction(maxInFlightBytes);
    PropertyChecks.requirePositive("sluice.ingest.max-in-flight-bytes", maxInFlightBytes);
    if (maxBacklogRecords < 0) {
      throw new IllegalArgumentException(
          "sluice.ingest.max-backlog-records is " + maxBacklogRecords + ", must not be negative");
    }
    PropertyChecks.requirePositive("sluice.ingest.request-body-timeout", requestBodyTimeout);
    PropertyChecks.requirePositive("sluice.ingest.ack-timeout", ackTimeout);
    PropertyChecks.requirePositive("sluice.ingest.stored-ack-timeout", storedAckTimeout);
    PropertyChecks.requirePositive("sluice.ingest.idempotency-keys", idempotencyKeys);
    PropertyChecks.requirePositive("sluice.ingest.idempotency-key-ttl", idempotencyKeyTtl);
    if (otlpHttpPort != -1) {
      PropertyChecks.requirePort("sluice.ingest.otlp-http-port", otlpHttpPort);
    }
  }
}
