package dev.sluice.core.port;

import dev.sluice.core.port.DailyCounts.RecordCounts;
import java.time.LocalDate;
import java.util.SortedMap;
import java.util.concurrent.CompletionStage;

/**
 * The daily counts of the fallback spools of all processes. A process cannot read the fallback of
 * another one, but the store has the records of all. So each process publishes the counts of its
 * fallback where the ledger of every process finds them.
 *
 * <p>Thread-safe.
 */
public interface FallbackCounts {

  /**
   * Replaces the counts that this node has published. The stage fails when the place is
   * unavailable. Does not block.
   *
   * @param node the name of the node, the same for as long as its fallback exists
   * @param counts the counts of all days
   */
  CompletionStage<Void> publish(String node, SortedMap<LocalDate, RecordCounts> counts);

  /**
   * Returns the last published counts of all nodes but this one, summed by day. Blocks.
   *
   * @param from the first day to return
   * @throws RuntimeException when the place is unavailable
   */
  SortedMap<LocalDate, RecordCounts> countsOfOtherNodes(String node, LocalDate from);
}
