package dev.sluice.api.config;

import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.SpoolConsumer;
import java.util.List;
import java.util.function.IntSupplier;
import java.util.function.Supplier;

/**
 * The delivery side of the spool that {@code sluice.spool} selects. Each spool has a configuration
 * class of its own, which creates this bean and the spool, whose ports other beans inject by type.
 *
 * @param consumers creates the consumers of the delivery workers of this process; called once
 * @param deliverableBacklog the backlog that this process can deliver now
 */
record SpoolDelivery(Supplier<List<WorkerConsumer>> consumers, Backlog deliverableBacklog) {

  /**
   * The consumer of one delivery worker.
   *
   * @param worker the name of the worker
   * @param consumer the consumer
   * @param skippedEntries the number of entries that the consumer cannot read or has set aside
   * @param concurrentWorkers the number of workers that store at the same time as this one, itself
   *     included
   */
  record WorkerConsumer(
      String worker, SpoolConsumer consumer, IntSupplier skippedEntries, int concurrentWorkers) {}
}
