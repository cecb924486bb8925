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

  private static Outcome outcome(Stage stage, double rate, long lost, long extra) {
    var cost = new Outcome.Cost(1, 2, 100);
    Long imbalance = stage == Stage.PROTOBUF ? 0L : null;
    return new Outcome(
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

  private static Killed killed(Stage stage, long lost, long doubled, @Nullable Long imbalance) {
    return new Killed(stage.title(), 1_000, 1_000 - lost, lost, doubled, imbalance);
  }

  private static boolean kept(Stage stage, long lost, long doubled, @Nullable Long imbalance) {
    return stage.kept(outcome(stage, 1, 0, 0), killed(stage, lost, doubled, imbalance));
  }

  @Test
  void numbered_severalSigns_inTheirOrder() {
    assertThat(Stage.numbered(" 7,1  3 "))
        .containsExactly(Stage.PROTOBUF, Stage.SYNCHRONOUS_INSERT, Stage.COALESCING);
  }

  @Test
  void numbered_noStage_saysWhich() {
    assertThatThrownBy(() -> Stage.numbered("1 8")).hasMessageContaining("8");
  }

  @Test
  void kept_lost_onlyWhereSuccessMeansNothing() {
    for (var stage : Stage.values()) {
      assertThat(kept(stage, 1, 0, null))
          .as(stage.name())
          .isEqualTo(stage == Stage.FIRE_AND_FORGET);
      assertThat(stage.kept(outcome(stage, 1, 1, 0), killed(stage, 0, 0, null)))
          .as(stage.name())
          .isEqualTo(stage == Stage.FIRE_AND_FORGET);
    }
  }

  @Test
  void kept_doubled_notByTheGateway() {
    for (var stage : Stage.values()) {
      boolean gateway = stage == Stage.COLUMNAR || stage == Stage.PROTOBUF;
      assertThat(kept(stage, 0, 1, null)).as(stage.name()).isEqualTo(!gateway);
      assertThat(stage.kept(outcome(stage, 1, 0, 1), killed(stage, 0, 0, null)))
          .as(stage.name())
          .isEqualTo(!gateway);
    }
  }

  @Test
  void kept_imbalanceOfTheGateway_not() {
    assertThat(kept(Stage.PROTOBUF, 0, 0, 0L)).isTrue();
    assertThat(kept(Stage.PROTOBUF, 0, 0, -1L)).isFalse();
  }

  private static StagesFindings findings() {
    var first = Stage.SYNCHRONOUS_INSERT;
    var last = Stage.PROTOBUF;
    return new StagesFindings(
        Map.of("machine", "a machine"),
        List.of(
            new StagesFindings.Group(
                100,
                List.of(
                    new StagesFindings.Result(
                        first, outcome(first, 250, 0, 0), 1_000, killed(first, 0, 3, null)),
                    new StagesFindings.Result(
                        last, outcome(last, 1_000, 7, 0), 3, killed(last, 5, 0, 4L))))));
  }

  @Test
  void page_outcomes_saysWhatTheyAre() {
    assertThat(findings().page())
        .contains("- machine: a machine")
        .contains("| 1 synchronous insert | " + Stage.SYNCHRONOUS_INSERT.adds)
        .doesNotContain(Stage.COALESCING.adds)
        .contains("## 100 logs a request")
        .contains(
            "| 1 synchronous insert | 250 | 1.0 | 1 | 1.0 | 2.0 | 3.0 | 6.0 | 300 | 0 | 0 | 3 |")
        .contains(
            "| 7 protobuf in place of JSON | 1,000 | 4.0 | 331 | 1.0 | 2.0 | 3.0 | 6.0 | 300 | 7 | 5 | 0 |")
        .contains("| 1 synchronous insert | 1,000 | 1,000 | 0 | 3 |  |")
        .contains("| 7 protobuf in place of JSON | 1,000 | 995 | 5 | 0 | 4 |");
  }

  @Test
  void write_everyFileThatThePageShows_isThere(@TempDir Path folder) throws Exception {
    findings().write(folder);

    var page = Files.readString(folder.resolve("stages.md"));
    for (var name : List.of("rates", "latencies", "cpu")) {
      var chart = "stages-100-" + name + ".svg";
      assertThat(page).contains("](" + chart + ")");
      assertThat(folder.resolve(chart)).content().contains("7 protobuf in place of JSON");
    }
    assertThat(folder.resolve("stages.json")).content().contains("\"logsPerRequest\" : 100");
  }
}
