package dev.sluice.bench;

import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What came of one case.
 *
 * @param notTaken requests answered by other than success, or not at all
 * @param accepted log records answered with success
 * @param stored log records that are in the table
 * @param lost accepted, and not in the table
 * @param extra in the table, though neither accepted nor under way when the load ended
 * @param imbalance of the server's own ledger, null when it keeps none
 * @param storedPerSecond from the first request to the last row
 * @param mergedAfter seconds, from the last row to the end of all merges
 * @param costs by the name of the process
 * @param allocated bytes on the server's heap for each stored record; not a number when unknown
 * @param generatorMicros CPU of the load generator for each accepted record
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
   * What a process has spent.
   *
   * @param stored microseconds of CPU for each stored record, until the last was
   * @param merged the same until all was merged
   * @param peakMebibytes the most memory it has had
   */
  record Cost(double stored, double merged, long peakMebibytes) {}

  Cost cost(String process) {
    return Objects.requireNonNull(costs.get(process), process);
  }

  boolean complete() {
    return lost == 0 && extra == 0 && (imbalance == null || imbalance == 0);
  }

  /** What is in front of ClickHouse, against what ClickHouse cannot do without, merges among it. */
  double ratioToBaseline(ClickHouseBaseline baseline) {
    return gatewayAndRedisCpu() / baseline.merged();
  }

  /** The same against its inserts alone. */
  double ratioToBaselineInsert(ClickHouseBaseline baseline) {
    return gatewayAndRedisCpu() / baseline.insert();
  }

  private double gatewayAndRedisCpu() {
    return cost("gateway").stored() + cost("Redis").stored();
  }
}
