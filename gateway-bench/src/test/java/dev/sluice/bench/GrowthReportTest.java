package dev.sluice.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.bench.GrowthReport.Asked;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class GrowthReportTest {

  @Test
  void asked_names_theirUsualPointsInOrder() {
    var asked = Asked.of("shards, connections endurance", "");

    assertThat(asked.points().keySet()).containsExactly(Axis.SHARDS, Axis.CONNECTIONS);
    assertThat(asked.points().get(Axis.SHARDS)).containsExactly(1L, 2L, 4L);
    assertThat(asked.endurance()).isTrue();
  }

  @Test
  void asked_pointsOfOneAxis_thoseRising() {
    var asked = Asked.of("table", "1000000 0");

    assertThat(asked.points()).isEqualTo(Map.of(Axis.TABLE, List.of(0L, 1_000_000L)));
    assertThat(asked.endurance()).isFalse();
  }

  @Test
  void asked_pointsOfSeveralAxes_areRefused() {
    assertThatThrownBy(() -> Asked.of("table shards", "1"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("one axis");
  }

  @Test
  void asked_unknownName_isRefused() {
    assertThatThrownBy(() -> Asked.of("tables", "")).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void spooled_answers_lengthAndPending() throws Exception {
    var said =
        "+OK\r\n:12\r\n*4\r\n:3\r\n$3\r\n1-0\r\n$3\r\n3-0\r\n*1\r\n*2\r\n$1\r\na\r\n$1\r\n3\r\n+OK\r\n";

    assertThat(Spooled.parse(said)).isEqualTo(new Spooled(12, 3));
  }

  @Test
  void spooled_noGroup_saysWhatWasSaid() {
    assertThatThrownBy(() -> Spooled.parse("+OK\r\n:0\r\n-NOGROUP No such key\r\n+OK\r\n"))
        .hasMessageContaining("NOGROUP");
  }
}
