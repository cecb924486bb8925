package dev.sluice.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.bench.GrowthReport.RunOptions;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class GrowthReportTest {

  @Test
  void options_names_haveTheirDefaultPointsInOrder() {
    var runOptions = RunOptions.parse("shards, connections endurance", "");

    assertThat(runOptions.points().keySet()).containsExactly(Axis.SHARDS, Axis.CONNECTIONS);
    assertThat(runOptions.points().get(Axis.SHARDS)).containsExactly(1L, 2L, 4L);
    assertThat(runOptions.endurance()).isTrue();
  }

  @Test
  void options_pointsOfOneAxis_areSorted() {
    var runOptions = RunOptions.parse("table", "1000000 0");

    assertThat(runOptions.points()).isEqualTo(Map.of(Axis.TABLE, List.of(0L, 1_000_000L)));
    assertThat(runOptions.endurance()).isFalse();
  }

  @Test
  void options_pointsOfSeveralAxes_throws() {
    assertThatThrownBy(() -> RunOptions.parse("table shards", "1"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("one axis");
  }

  @Test
  void options_unknownName_throws() {
    assertThatThrownBy(() -> RunOptions.parse("tables", ""))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void spoolBacklog_reply_hasLengthAndPending() throws Exception {
    var reply =
        "+OK\r\n:12\r\n*4\r\n:3\r\n$3\r\n1-0\r\n$3\r\n3-0\r\n*1\r\n*2\r\n$1\r\na\r\n$1\r\n3\r\n+OK\r\n";

    assertThat(SpoolBacklog.parse(reply)).isEqualTo(new SpoolBacklog(12, 3));
  }

  @Test
  void spoolBacklog_noGroup_throwsWithTheReply() {
    assertThatThrownBy(() -> SpoolBacklog.parse("+OK\r\n:0\r\n-NOGROUP No such key\r\n+OK\r\n"))
        .hasMessageContaining("NOGROUP");
  }
}
