package dev.sluice.bench;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.bench.EndToEndReport.Case;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TargetsTest {
  private static final Map<String, CaseResult.Cost> COSTS =
      Map.of(
          "gateway", new CaseResult.Cost(1.2, 1.2, 600),
          "Redis", new CaseResult.Cost(0.4, 0.4, 100),
          "ClickHouse", new CaseResult.Cost(2, 3, 900));

  @Test
  void evaluate_measuredCases_comparesThemWithTheirTargets() {
    var targets =
        new Targets(
            Map.of(
                Case.OTLP, stored(500_000), Case.GRPC, stored(460_000), Case.GZIP, stored(290_000)),
            new ClickHouseBaseline(1, 1, 2));

    assertThat(targets.evaluate())
        .extracting(target -> String.join(" | ", target.cells()))
        .containsExactly(
            "OTLP/HTTP, 500 logs per request: stored logs/s | 600,000 | 500,000 | no",
            "OTLP/HTTP, 500 logs per request: CPU of gateway and Redis, ratio to the floor | at most 1.00 | 0.80 | yes",
            "OTLP/HTTP, 500 logs per request: resident memory of the gateway, MiB | at most 512 | 600 | no",
            "OTLP/gRPC, 500 logs per request: stored logs/s, ratio to OTLP/HTTP | 0.90 | 0.92 | yes",
            "OTLP/HTTP, gzip: stored logs/s, ratio to OTLP/HTTP | 0.60 | 0.58 | no");
  }

  @Test
  void evaluate_openLoop_usesItsLatency() {
    assertThat(new Targets(Map.of(Case.OPEN, stored(1)), null).evaluate())
        .singleElement()
        .matches(Targets.Target::isReached)
        .extracting(Targets.Target::reached)
        .isEqualTo(20.0);
  }

  private static ReportWriter report() {
    var results = Map.of(Case.OTLP, stored(500_000));
    return new ReportWriter(
        Map.of(), null, List.copyOf(results.values()), new Targets(results, null).evaluate());
  }

  @Test
  void writeTargets_contributingBesideTheReport_writesThere(@TempDir Path docs) throws Exception {
    var contributing = Files.createDirectories(docs.resolve("contributing"));
    var benchmarks = docs.resolve("benchmarks");

    report().write(benchmarks);
    report().writeTargets(benchmarks);

    assertThat(contributing.resolve("targets.md"))
        .content()
        .startsWith("# Performance targets\n\n")
        .contains("\n\n| metric | target | measured | reached |\n|---|---|---|---|\n")
        .endsWith("resident memory of the gateway, MiB | at most 512 | 600 | no |\n");
    assertThat(benchmarks.resolve("end-to-end.md")).content().doesNotContain("at most 512");
    assertThat(benchmarks.resolve("targets.md")).doesNotExist();
  }

  @Test
  void writeTargets_noContributingBesideTheReport_writesToTheReport(@TempDir Path parent)
      throws Exception {
    var folder = parent.resolve("report");

    report().writeTargets(folder);

    assertThat(folder.resolve("targets.md")).exists();
    assertThat(parent.resolve("contributing")).doesNotExist();
  }

  private static CaseResult stored(double perSecond) {
    return new CaseResult(
        "",
        500,
        0,
        1,
        1,
        0,
        0,
        0L,
        perSecond,
        perSecond,
        1,
        COSTS,
        0,
        0,
        new Latency(1, 2, 20, 30));
  }
}
