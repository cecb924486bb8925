package dev.sluice.api;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;

/** Tests {@code GET /api/v1/logs/histogram}. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class HistogramIT {
  private final Gateway gateway = Gateway.shared();
  private final String service = Gateway.service("histogram");

  @BeforeAll
  void store() {
    gateway.postLogs(
        """
        [{"service":"%1$s","timestamp":"2024-03-01T10:00:30Z","severity":"ERROR","body":"a"},
         {"service":"%1$s","timestamp":"2024-03-01T10:00:59.999999999Z","severity":"INFO2","body":"b"},
         {"service":"%1$s","timestamp":"2024-03-01T10:01:00Z","severity":"ERROR3","body":"a"},
         {"service":"%1$s","timestamp":"2024-03-01T10:05:00Z","body":"c"}]"""
            .formatted(service));
    gateway.awaitStored(service, 4);
  }

  private JsonNode histogram(String parameters) {
    var response =
        gateway.get(gateway.http("/api/v1/logs/histogram?service=" + service + "&" + parameters));
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return Gateway.json(response);
  }

  @Test
  void get_interval_countsByBucketAndLevel() {
    assertThat(histogram("interval=1m&from=2024-03-01T10:00:00Z&to=2024-03-01T10:10:00Z"))
        .hasToString(
            """
            {"total":4,"interval_ms":60000,"from":"2024-03-01T10:00:00.000000000Z","to":"2024-03-01T10:10:00.000000000Z",\
            "buckets":[\
            {"timestamp":"2024-03-01T10:00:00.000000000Z","count":2,"severities":{"INFO":1,"ERROR":1}},\
            {"timestamp":"2024-03-01T10:01:00.000000000Z","count":1,"severities":{"ERROR":1}},\
            {"timestamp":"2024-03-01T10:05:00.000000000Z","count":1,"severities":{}}]}""");
  }

  @Test
  void get_noTimeRange_spansTheLogs() {
    var histogram = histogram("buckets=6");

    assertThat(histogram.get("interval_ms").asLong()).isEqualTo(60_000);
    assertThat(histogram.get("from").asString()).isEqualTo("2024-03-01T10:00:00.000000000Z");
    assertThat(histogram.get("to").asString()).isEqualTo("2024-03-01T10:06:00.000000000Z");
    assertThat(histogram.get("total").asLong()).isEqualTo(4);
  }

  @Test
  void get_timeRangeWithinABucket_countsOnlyLogsInRange() {
    var histogram = histogram("interval=1h&from=2024-03-01T10:00:31Z&to=2024-03-01T10:05:00Z");

    assertThat(histogram.get("total").asLong()).isEqualTo(2);
    assertThat(histogram.get("buckets").get(0).get("timestamp").asString())
        .isEqualTo("2024-03-01T10:00:00.000000000Z");
  }

  @Test
  void get_filter_countsMatchingLogs() {
    assertThat(histogram("text=a&interval=1d").get("total").asLong()).isEqualTo(2);
    assertThat(histogram("text=nowhere").get("total").asLong()).isZero();
    assertThat(histogram("from=2030-01-01&to=2020-01-01").get("total").asLong()).isZero();
  }

  @Test
  void get_fullTimeRange_isCounted() {
    var histogram = histogram("from=1970-01-01&to=2262-04-11T00:00:00Z&buckets=1");

    assertThat(histogram.get("total").asLong()).isEqualTo(4);
  }

  @Test
  void get_intervalLongerThanTime_isOneBucket() {
    assertThat(histogram("interval=999999999d").get("buckets").size()).isEqualTo(1);
  }

  @ParameterizedTest
  @CsvSource({
    "interval=0s, interval",
    "interval=1x, interval",
    "buckets=0, buckets",
    "buckets=1001, buckets",
    "interval=1m&buckets=2, interval and buckets",
    "interval=1ms&from=2024-01-01&to=2024-01-02, more than 1000 buckets",
    "limit=5, unknown parameter",
  })
  void get_badParameter_is400NamingIt(String parameters, String detail) {
    var response = gateway.get(gateway.http("/api/v1/logs/histogram?" + parameters));

    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(Gateway.json(response).get("type").asString()).isEqualTo("/api/problems/malformed");
    assertThat(Gateway.json(response).get("detail").asString()).contains(detail);
  }
}
