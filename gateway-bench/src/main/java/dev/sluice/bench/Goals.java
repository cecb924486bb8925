package dev.sluice.bench;

import dev.sluice.bench.EndToEndReport.Case;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * What is to be reached on two cores, which the load generator, Redis and ClickHouse share with the
 * gateway, beside what was.
 *
 * @param outcomes of the cases that were measured
 */
record Goals(Map<Case, Outcome> outcomes, @Nullable Floor floor) {

  /**
   * @param wanted at least, or at most
   */
  record Goal(String title, double wanted, boolean atMost, double reached) {
    boolean isReached() {
      return atMost ? reached <= wanted : reached >= wanted;
    }

    /** As a row of a table. */
    List<String> cells() {
      return List.of(
          title,
          (atMost ? "at most " : "") + text(wanted),
          text(reached),
          isReached() ? "yes" : "no");
    }

    private static String text(double number) {
      return String.format(Locale.ROOT, number >= 10 ? "%,.0f" : "%.2f", number);
    }
  }

  /** Of the cases that were measured. */
  List<Goal> all() {
    var goals = new ArrayList<Goal>();
    atLeast(goals, Case.OTLP, "stored logs/s", 600_000, Outcome::storedPerSecond);
    if (floor != null) {
      atMost(
          goals, Case.OTLP, "CPU of gateway and Redis, of the floor's", 1, it -> it.ratio(floor));
    }
    atMost(
        goals,
        Case.OTLP,
        "resident memory of the gateway, MiB",
        512,
        it -> it.cost("gateway").peakMebibytes());
    var otlp = outcomes.get(Case.OTLP);
    if (otlp != null) {
      double stored = otlp.storedPerSecond();
      atLeast(goals, Case.GRPC, "stored, of OTLP/HTTP's", 0.9, it -> it.storedPerSecond() / stored);
      atLeast(goals, Case.GZIP, "stored, of OTLP/HTTP's", 0.6, it -> it.storedPerSecond() / stored);
    }
    atLeast(goals, Case.JSON, "requests/s", 35_000, Outcome::acceptedPerSecond);
    atLeast(goals, Case.ARRAYS, "accepted logs/s", 350_000, Outcome::acceptedPerSecond);
    atMost(goals, Case.OPEN, "p99, ms", 25, it -> it.latency().p99());
    atLeast(goals, Case.DRAIN, "stored logs/s", 900_000, Outcome::storedPerSecond);
    return goals;
  }

  private void atLeast(
      List<Goal> goals, Case of, String what, double wanted, ToDoubleFunction<Outcome> reached) {
    add(goals, of, what, wanted, false, reached);
  }

  private void atMost(
      List<Goal> goals, Case of, String what, double wanted, ToDoubleFunction<Outcome> reached) {
    add(goals, of, what, wanted, true, reached);
  }

  private void add(
      List<Goal> goals,
      Case of,
      String what,
      double wanted,
      boolean atMost,
      ToDoubleFunction<Outcome> reached) {
    var outcome = outcomes.get(of);
    if (outcome != null) {
      goals.add(new Goal(of.title + ": " + what, wanted, atMost, reached.applyAsDouble(outcome)));
    }
  }
}
