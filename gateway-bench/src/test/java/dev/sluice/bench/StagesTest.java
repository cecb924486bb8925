package dev.sluice.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StagesTest {

  private static CaseResult outcome(Stage stage, double rate, long lost, long extra) {
    var cost = new CaseResult.Cost(1, 2, 100);
    Long imbalance = stage == Stage.PROTOBUF ? 0L : null;
    return new CaseResult(
        stage.title(),
        1,
        0,
        1_000,
        1_000 - lost + extra,
        lost,
        extra,
        imbalance,
        rate,
        rate,
        1,
        Map.of("gateway", cost, "Redis", cost, "ClickHouse", cost),
        100,
        0.5,
        new Latency(1, 2, 2, 3));
  }

  private static CrashResult crash(Stage stage, long lost, long doubled, @Nullable Long imbalance) {
    return new CrashResult(stage.title(), 1_000, 1_000 - lost, lost, doubled, imbalance);
  }

  private static boolean keepsGuarantee(
      Stage stage, long lost, long doubled, @Nullable Long imbalance) {
    return stage.keepsGuarantee(outcome(stage, 1, 0, 0), crash(stage, lost, doubled, imbalance));
  }

  @Test
  void parse_severalSeparators_keepsTheOrder() {
    assertThat(Stage.parse(" 7,1  3 "))
        .containsExactly(Stage.PROTOBUF, Stage.SYNCHRONOUS_INSERT, Stage.COALESCING);
  }

  @Test
  void parse_unknownStage_throwsWithItsNumber() {
    assertThatThrownBy(() -> Stage.parse("1 8")).hasMessageContaining("8");
  }

  @Test
  void keepsGuarantee_lost_isTrueOnlyWithoutGuarantee() {
    for (var stage : Stage.values()) {
      assertThat(keepsGuarantee(stage, 1, 0, null))
          .as(stage.name())
          .isEqualTo(stage == Stage.FIRE_AND_FORGET);
      assertThat(stage.keepsGuarantee(outcome(stage, 1, 1, 0), crash(stage, 0, 0, null)))
          .as(stage.name())
          .isEqualTo(stage == Stage.FIRE_AND_FORGET);
    }
  }

  @Test
  void keepsGuarantee_duplicates_isTrueExceptForExactlyOnce() {
    for (var stage : Stage.values()) {
      boolean gateway = stage == Stage.COLUMNAR || stage == Stage.PROTOBUF;
      assertThat(keepsGuarantee(stage, 0, 1, null)).as(stage.name()).isEqualTo(!gateway);
      assertThat(stage.keepsGuarantee(outcome(stage, 1, 0, 1), crash(stage, 0, 0, null)))
          .as(stage.name())
          .isEqualTo(!gateway);
    }
  }

  @Test
  void keepsGuarantee_gatewayImbalance_isFalse() {
    assertThat(keepsGuarantee(Stage.PROTOBUF, 0, 0, 0L)).isTrue();
    assertThat(keepsGuarantee(Stage.PROTOBUF, 0, 0, -1L)).isFalse();
  }

  private static StagesReportWriter report() {
    var first = Stage.SYNCHRONOUS_INSERT;
    var last = Stage.PROTOBUF;
    return new StagesReportWriter(
        Map.of("machine", "a machine"),
        List.of(
            new StagesReportWriter.Group(
                100,
                List.of(
                    new StagesReportWriter.Result(
                        first, outcome(first, 250, 0, 0), 1_000, crash(first, 0, 3, null)),
                    new StagesReportWriter.Result(
                        last, outcome(last, 1_000, 7, 0), 3, crash(last, 5, 0, 4L))))));
  }

  @Test
  void page_outcomes_hasTheirFigures() {
    assertThat(report().page())
        .contains("- machine: a machine")
        .contains("| 1 synchronous insert | " + Stage.SYNCHRONOUS_INSERT.description)
        .doesNotContain(Stage.COALESCING.description)
        .contains("## 100 logs per request")
        .contains(
            "| 1 synchronous insert | 250 | 1.0 | 1 | 1.0 | 2.0 | 3.0 | 6.0 | 300 | 0 | 0 | 3 |")
        .contains(
            "| 7 Protobuf instead of JSON | 1,000 | 4.0 | 331 | 1.0 | 2.0 | 3.0 | 6.0 | 300 | 7 | 5 | 0 |")
        .contains("| 1 synchronous insert | 1,000 | 1,000 | 0 | 3 |  |")
        .contains("| 7 Protobuf instead of JSON | 1,000 | 995 | 5 | 0 | 4 |");
  }

  @Test
  void write_pageWithCharts_writesEveryFile(@TempDir Path folder) throws Exception {
    report().write(folder);

    var page = Files.readString(folder.resolve("stages.md"));
    for (var name : List.of("rates", "latencies", "cpu")) {
      var chart = "stages-100-" + name + ".svg";
      assertThat(page).contains("](" + chart + ")");
      assertThat(folder.resolve(chart)).content().contains("7 Protobuf instead of JSON");
    }
    assertThat(folder.resolve("stages.json")).content().contains("\"logsPerRequest\" : 100");
  }
}
