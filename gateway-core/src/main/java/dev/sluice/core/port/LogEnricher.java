package dev.sluice.core.port;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.RecordIds;
import java.util.List;

/**
 * Resolves the dictionary ids that stored logs carry, of their resources, templates and long texts,
 * and writes the missing entries to the dictionary.
 *
 * <p>Not thread-safe.
 */
@FunctionalInterface
public interface LogEnricher {

  /**
   * Resolves the ids of all records of a delivery. Blocks when the dictionary must be read or
   * written.
   *
   * <p>The records may be stored with the ids only after {@link WriteResult.Written}: all entries
   * of the ids are in the dictionary then. After another result the ids must be resolved again. The
   * records of a batch that can never be stored may lack ids; the store reports the batch.
   *
   * @param batches the batches of the delivery
   * @param into the ids of the previous delivery, which are replaced
   * @throws RuntimeException when the dictionary must be read first and does not respond
   */
  WriteResult enrich(List<LogBatch> batches, RecordIds into) throws InterruptedException;
}
