package dev.sluice.bench;

import dev.sluice.bench.EndToEndReport.Case;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * The maintainers' performance targets for two cores, which the load generator, Redis and
 * ClickHouse share with the gateway, compared with the measured values.
 *
 * @param outcomes the results of the measured cases, by case
 * @param clickHouseBaseline the CPU cost of ClickHouse alone; null when it was not measured
 */
record Targets(Map<Case, CaseResult> outcomes, @Nullable ClickHouseBaseline clickHouseBaseline) {

  /**
   * One target and its measured value.
   *
   * @param title the case and the metric, with the unit
   * @param target the target value: a minimum, or a maximum when {@code atMost} is set
   * @param atMost whether {@code target} is a maximum
   * @param reached the measured value
   */
  record Target(String title, double target, boolean atMost, double reached) {
    boolean isReached() {
      return atMost ? reached <= target : reached >= target;
    }

    /** Returns the cells of a table row: metric, target, measured value, and yes or no. */
    List<String> cells() {
      return List.of(
          title,
          (atMost ? "at most " : "") + text(target),
          text(reached),
          isReached() ? "yes" : "no");
    }

    private static String text(double number) {
      return String.format(Locale.ROOT, number >= 10 ? "%,.0f" : "%.2f", number);
    }
  }

  /** Returns the targets of the measured cases. */
  List<Target> evaluate() {
    var targets = new ArrayList<Target>();
    atLeast(targets, Case.OTLP, "stored logs/s", 600_000, CaseResult::storedPerSecond);
    if (clickHouseBaseline != null) {
      atMost(
          targets,
          Case.OTLP,
          "CPU of gateway and Redis, ratio to the floor",
          1,
          it -> it.ratioToBaseline(clickHouseBaseline));
    }
    atMost(
        targets,
        Case.OTLP,
        "resident memory of the gateway, MiB",
        512,
        it -> it.cost("gateway").peakMebibytes());
    var otlp = outcomes.get(Case.OTLP);
    if (otlp != null) {
      double stored = otlp.storedPerSecond();
      atLeast(
          targets,
          Case.GRPC,
          "stored logs/s, ratio to OTLP/HTTP",
          0.9,
          it -> it.storedPerSecond() / stored);
      atLeast(
          targets,
          Case.GZIP,
          "stored logs/s, ratio to OTLP/HTTP",
          0.6,
          it -> it.storedPerSecond() / stored);
    }
    atLeast(targets, Case.JSON, "requests/s", 35_000, CaseResult::acceptedPerSecond);
    atLeast(targets, Case.ARRAYS, "accepted logs/s", 350_000, CaseResult::acceptedPerSecond);
    atMost(targets, Case.OPEN, "p99, ms", 25, it -> it.latency().p99());
    atLeast(targets, Case.DRAIN, "stored logs/s", 900_000, CaseResult::storedPerSecond);
    return targets;
  }

  private void atLeast(
      List<Target> targets,
      Case benchmarkCase,
      String metric,
      double target,
      ToDoubleFunction<CaseResult> reached) {
    add(targets, benchmarkCase, metric, target, false, reached);
  }

  private void atMost(
      List<Target> targets,
      Case benchmarkCase,
      String metric,
      double target,
      ToDoubleFunction<CaseResult> reached) {
    add(targets, benchmarkCase, metric, target, true, reached);
  }

  private void add(
      List<Target> targets,
      Case benchmarkCase,
      String metric,
      double target,
      boolean atMost,
      ToDoubleFunction<CaseResult> reached) {
    var caseResult = outcomes.get(benchmarkCase);
    if (caseResult != null) {
      targets.add(
          new Target(
              benchmarkCase.title + ": " + metric,
              target,
              atMost,
              reached.applyAsDouble(caseResult)));
    }
  }
}
