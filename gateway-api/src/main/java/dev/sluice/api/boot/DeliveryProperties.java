package dev.sluice.api.boot;

import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * The way out. A batch is full by whichever bound is met first.
 *
 * @param workers of each shard, each with a delivery in memory and one insert at a time; two keep
 *     two cores of ClickHouse busy. The write-ahead log has one
 * @param maxRecords log records in a batch
 * @param maxBytes memory of a batch, which waits as the spool has it: what came by Redis packed to
 *     a third; 0 for a quarter of the heap for all workers of a shard, at most 256MB each
 * @param linger how long the first entry of a batch waits for more
 * @param firstPause pause after a first failure; it doubles
 * @param longestPause longest pause between two tries
 * @param maxDeadLetters records refused by the store that each shard keeps at most; deliveries with
 *     more of them wait
 * @param maxDeadLettersPerBatch refused records in one batch that become dead letters; when there
 *     are more, it is the table that is wrong, and delivery waits
 */
@ConfigurationProperties("sluice.delivery")
record DeliveryProperties(
    @DefaultValue("2") int workers,
    @DefaultValue("500000") int maxRecords,
    @DefaultValue("0B") DataSize maxBytes,
    @DefaultValue("1s") Duration linger,
    @DefaultValue("200ms") Duration firstPause,
    @DefaultValue("15s") Duration longestPause,
    @DefaultValue("100000") int maxDeadLetters,
    @DefaultValue("1000") int maxDeadLettersPerBatch) {

  DeliveryProperties {
    PropertyChecks.requireBetween("sluice.delivery.workers", workers, 1, 16);
    PropertyChecks.requirePositive("sluice.delivery.max-records", maxRecords);
    maxBytes = PropertyChecks.orHeapFraction(maxBytes, 4 * workers);
    PropertyChecks.requirePositive("sluice.delivery.max-bytes", maxBytes);
    PropertyChecks.requirePositive("sluice.delivery.max-age", linger);
    PropertyChecks.requirePositive("sluice.delivery.first-pause", firstPause);
    PropertyChecks.requirePositive("sluice.delivery.longest-pause", longestPause);
    PropertyChecks.requirePositive("sluice.delivery.dead-letters", maxDeadLetters);
    PropertyChecks.requirePositive("sluice.delivery.max-refused", maxDeadLettersPerBatch);
    if (maxDeadLetters < maxDeadLettersPerBatch) {
      throw new IllegalArgumentException(
          "sluice.delivery.dead-letters is %d, must be at least sluice.delivery.max-refused, which is %d: a delivery with more dead letters than there is room for waits for ever"
              .formatted(maxDeadLetters, maxDeadLettersPerBatch));
    }
  }
}
