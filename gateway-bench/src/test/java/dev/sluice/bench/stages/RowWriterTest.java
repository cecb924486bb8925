package dev.sluice.bench.stages;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class RowWriterTest {
  private static final long NOW = 1_790_000_000_000_000_000L;
  private static final String LOG =
      """
      {"timestamp":1789999999999000000,"severity":"WARN","service":"payment","host":"payment-3",
      "body":"card \\"declined\\"","unknown":{"a":[1]},
      "attributes":{"log.logger":"shop.Cards","thread.name":"t-1"},
      "trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"b7ad6b7169203331"}""";

  private final RowWriter writer = new RowWriter(() -> NOW);

  private Rows rows(String json) {
    return writer.rows(json.getBytes(UTF_8));
  }

  private static List<JsonNode> read(Rows rows) {
    return new String(rows.lines(), UTF_8).lines().map(JsonMapper.shared()::readTree).toList();
  }

  @Test
  void rows_object_hasTheColumnsOfTheTable() {
    var rows = rows(LOG);

    assertThat(rows.logs()).isEqualTo(1);
    assertThat(read(rows))
        .containsExactly(
            JsonMapper.shared()
                .readTree(
                    """
                    {"Id":"18d75b8423f30000","ObservedTimestamp":1790000000000000000,
                    "ReceivedTimestamp":1790000000000000000,"Timestamp":1789999999999000000,
                    "SeverityText":"WARN","SeverityNumber":13,"Body":"card \\"declined\\"",
                    "LogAttributes":{"log.logger":"shop.Cards","thread.name":"t-1"},
                    "TraceId":"0af7651916cd43dd8448eb211c80319c","SpanId":"b7ad6b7169203331",
                    "ServiceName":"payment",
                    "ResourceAttributes":{"service.name":"payment","host.name":"payment-3"}}"""));
  }

  @Test
  void rows_array_hasALineAndAnIdPerLog() {
    var rows = rows("[" + LOG + "," + LOG + "]");

    assertThat(rows.logs()).isEqualTo(2);
    assertThat(read(rows).stream().map(row -> row.path("Id").asString()).distinct()).hasSize(2);
  }

  @Test
  void merge_severalRows_hasAllLines() {
    var merged = Rows.merge(List.of(rows(LOG), rows("[" + LOG + "," + LOG + "]")));

    assertThat(merged.logs()).isEqualTo(3);
    assertThat(read(merged)).hasSize(3);
  }

  @Test
  void rows_noLogs_fails() {
    for (var json : List.of("7", "[7]", "[" + LOG, "{\"body\":", "[" + LOG + ",7]")) {
      assertThatThrownBy(() -> rows(json)).as(json).isInstanceOf(JacksonException.class);
    }
  }
}
