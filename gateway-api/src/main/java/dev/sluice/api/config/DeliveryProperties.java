package dev.sluice.api.config;

import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * Size of the batches that go to ClickHouse, and what happens when an insert fails. A batch is full
 * at the first bound that it reaches.
 *
 * @param workers delivery workers of each shard, each with one batch in memory and one insert at a
 *     time; two keep two cores of ClickHouse busy; the write-ahead log has one worker
 * @param maxRecords log records in a batch
 * @param maxBytes memory of a batch, in the form that the spool has: compressed to about a third
 *     when it is Redis; 0 means a quarter of the heap for all workers of a shard, at most 256MB
 *     each
 * @param linger time that the first entry of a batch waits for more
 * @param retry delays after a failed insert
 * @param maxDeadLettersPerBatch rejected records of one batch that become dead letters; with more
 *     the cause is the table, and delivery pauses
 */
@ConfigurationProperties("sluice.delivery")
record DeliveryProperties(
    @DefaultValue("2") int workers,
    @DefaultValue("500000") int maxRecords,
    @DefaultValue("0B") DataSize maxBytes,
    @DefaultValue("1s") Duration linger,
    @DefaultValue Retry retry,
    @DefaultValue("1000") int maxDeadLettersPerBatch) {

  /**
   * Delays after a failed insert.
   *
   * @param initialDelay delay after the first failure; it doubles with each further one
   * @param maxDelay upper limit of the delay
   */
  record Retry(
      @DefaultValue("200ms") Duration initialDelay, @DefaultValue("15s") Duration maxDelay) {

    Retry {
      PropertyChecks.requirePositive("sluice.delivery.retry.initial-delay", initialDelay);
      PropertyChecks.requirePositive("sluice.delivery.retry.max-delay", maxDelay);
    }
  }

  DeliveryProperties {
    PropertyChecks.requireBetween("sluice.delivery.workers", workers, 1, 16);
    PropertyChecks.requirePositive("sluice.delivery.max-records", maxRecords);
    maxBytes = PropertyChecks.orHeapFraction(maxBytes, 4 * workers);
    PropertyChecks.requirePositive("sluice.delivery.max-bytes", maxBytes);
    PropertyChecks.requirePositive("sluice.delivery.linger", linger);
    PropertyChecks.requirePositive(
        "sluice.delivery.max-dead-letters-per-batch", maxDeadLettersPerBatch);
  }
}
