package dev.sluice.bench;

import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The result of one case.
 *
 * @param notTaken the number of requests without a success response
 * @param accepted the number of log records in requests with a success response
 * @param stored the number of log records in the table
 * @param lost the number of accepted records that are not in the table
 * @param extra the number of records in the table that were neither accepted nor in flight when the
 *     load ended
 * @param imbalance the imbalance of the server's own ledger; null when it has no ledger
 * @param storedPerSecond the rate from the first request to the last row
 * @param mergedAfter the seconds from the last row to the end of all merges
 * @param costs the costs, by the name of the process
 * @param allocated the heap bytes that the server allocated per stored record; NaN when unknown
 * @param generatorMicros the CPU of the load generator in microseconds per accepted record
 */
record CaseResult(
    String name,
    int logsPerRequest,
    long notTaken,
    long accepted,
    long stored,
    long lost,
    long extra,
    @Nullable Long imbalance,
    double acceptedPerSecond,
    double storedPerSecond,
    double mergedAfter,
    Map<String, Cost> costs,
    double allocated,
    double generatorMicros,
    Latency latency) {

  /**
   * The CPU and the memory of one process.
   *
   * @param stored microseconds of CPU per stored record, until the last record was stored
   * @param merged microseconds of CPU per stored record, until all merges had ended
   * @param peakMebibytes the peak of its resident memory, in MiB
   */
  record Cost(double stored, double merged, long peakMebibytes) {}

  Cost cost(String process) {
    return Objects.requireNonNull(costs.get(process), process);
  }

  boolean complete() {
    return lost == 0 && extra == 0 && (imbalance == null || imbalance == 0);
  }

  /**
   * Returns the CPU of gateway and Redis divided by the CPU of ClickHouse alone, including its
   * merges.
   */
  double ratioToBaseline(ClickHouseBaseline baseline) {
    return gatewayAndRedisCpu() / baseline.merged();
  }

  /**
   * Returns the CPU of gateway and Redis divided by the CPU of ClickHouse alone for inserts,
   * without merges.
   */
  double ratioToBaselineInsert(ClickHouseBaseline baseline) {
    return gatewayAndRedisCpu() / baseline.insert();
  }

  /** Returns microseconds of CPU of gateway and Redis per stored record, without merges. */
  double gatewayAndRedisCpu() {
    return cost("gateway").stored() + cost("Redis").stored();
  }
}
