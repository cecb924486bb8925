package dev.sluice.bench;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.logs.v1.LogRecord;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.json.JsonMapper;

/** What the figures of {@code make bench} are of; read by those who did not write it. */
class TrafficTest {
  private static final long NOW = 1_790_000_000_000_000_000L;

  @Test
  void otlp_body_isWhatTheReportSays() throws Exception {
    var bodies = new Traffic(7, 5_000, NOW);
    var bytes = IntStream.range(0, 10).mapToObj(_ -> bodies.otlp(500)).toList();

    var requests = bytes.stream().map(TrafficTest::parsed).toList();
    var logs = requests.stream().flatMap(request -> logs(request).stream()).toList();
    assertThat(logs).hasSize(5_000);
    assertThat(bytes.stream().mapToInt(body -> body.length).sum() / 5_000).isBetween(175, 195);
    assertThat(requests)
        .allSatisfy(body -> assertThat(body.getResourceLogsCount()).isBetween(50, 60));
    assertThat(logs.stream().map(log -> log.getBody().getStringValue()).distinct().count())
        .isGreaterThan(4_900);
    assertThat(logs.stream().filter(log -> !log.getTraceId().isEmpty()).count())
        .isBetween(1_150L, 1_350L);
    assertThat(logs).allSatisfy(log -> assertThat(log.getAttributesCount()).isEqualTo(2));
    assertThat(logs.stream().mapToLong(LogRecord::getTimeUnixNano).max()).hasValue(NOW);
    assertThat(logs.stream().mapToLong(LogRecord::getTimeUnixNano).distinct().count())
        .isEqualTo(5_000);
  }

  @Test
  void otlp_sameSeed_sameLogs() {
    assertThat(new Traffic(7, 500, NOW).otlp(500)).isEqualTo(new Traffic(7, 500, NOW).otlp(500));
  }

  @Test
  void json_oneAndMany_theSameLogs() throws Exception {
    var one = new String(new Traffic(7, 3, NOW).json(1), UTF_8);

    var many = JsonMapper.shared().readTree(new Traffic(7, 3, NOW).json(3));

    assertThat(many.size()).isEqualTo(3);
    assertThat(many.get(0)).isEqualTo(JsonMapper.shared().readTree(one));
    assertThat(many.get(0).path("body").asString()).isNotBlank();
  }

  private static ExportLogsServiceRequest parsed(byte[] body) {
    try {
      return ExportLogsServiceRequest.parseFrom(body);
    } catch (java.io.IOException e) {
      throw new AssertionError(e);
    }
  }

  private static List<LogRecord> logs(ExportLogsServiceRequest request) {
    return request.getResourceLogsList().stream()
        .flatMap(resource -> resource.getScopeLogs(0).getLogRecordsList().stream())
        .toList();
  }
}
