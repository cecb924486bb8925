package dev.sluice.bench;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.templates.MessageMasker;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.logs.v1.LogRecord;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.json.JsonMapper;

/** Checks the properties of the logs that the report of {@code make bench} states. */
class SyntheticLogsTest {
  private static final long NOW = 1_790_000_000_000_000_000L;

  @Test
  void otlp_body_matchesTheReport() throws Exception {
    var bodies = new SyntheticLogs(7, 5_000, NOW);
    var bytes = IntStream.range(0, 10).mapToObj(_ -> bodies.otlp(500)).toList();

    var requests = bytes.stream().map(SyntheticLogsTest::parsed).toList();
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
  void otlp_sameSeed_hasTheSameLogs() {
    assertThat(new SyntheticLogs(7, 500, NOW).otlp(500))
        .isEqualTo(new SyntheticLogs(7, 500, NOW).otlp(500));
  }

  @Test
  void otlpAndJson_linesOfTheShop_equalEarlierReports() throws Exception {
    var syntheticLogs = new SyntheticLogs(7, 1_000, NOW);

    assertThat(md5(syntheticLogs.otlp(900))).isEqualTo("6efc45220ea88b8e0719af145bddbfab");
    assertThat(md5(syntheticLogs.json(100))).isEqualTo("fb6bbdd566c734f70e2fc32aff612f7c");
  }

  @Test
  void otlp_lines_haveAsManyTemplates() {
    for (int lines : new int[] {5, 10, 1_000}) {
      var logs = logs(parsed(new SyntheticLogs(7, 100_000, NOW, lines).otlp(20 * lines)));

      assertThat(logs.stream().map(SyntheticLogsTest::masked).distinct()).hasSize(lines);
    }
  }

  /** Masks a message as the gateway does: messages of one template have the same masked text. */
  private static String masked(LogRecord log) {
    var body = log.getBody().getStringValueBytes().toByteArray();
    var mask = new MessageMasker();
    mask.apply(body, 0, body.length);
    return mask.text();
  }

  private static String md5(byte[] bytes) throws Exception {
    return HexFormat.of().formatHex(MessageDigest.getInstance("MD5").digest(bytes));
  }

  @Test
  void json_oneAndMany_haveTheSameLogs() throws Exception {
    var one = new String(new SyntheticLogs(7, 3, NOW).json(1), UTF_8);

    var many = JsonMapper.shared().readTree(new SyntheticLogs(7, 3, NOW).json(3));

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
