package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import tools.jackson.databind.json.JsonMapper;

/** Tests {@code GET /api/v1/logs} as an NDJSON export. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ExportIT {
  private static final int LOGS = 12_345; // more than two pages
  private static final JsonMapper JSON = new JsonMapper();

  private final Gateway gateway = Gateway.shared();
  private final String service = Gateway.service("export");

  @BeforeAll
  void store() {
    var lines =
        IntStream.range(0, LOGS)
            .mapToObj(
                i ->
                    "{\"service\":\"%s\",\"timestamp\":%d,\"body\":\"log %d\"}"
                        .formatted(service, 1_700_000_000_000L + i / 7, i))
            .collect(Collectors.joining("\n"));
    var response =
        gateway.post(gateway.http("/api/v1/logs"), "application/x-ndjson", lines.getBytes(UTF_8));
    assertThat(response.statusCode()).isEqualTo(202);
    gateway.awaitStored(service, LOGS);
  }

  private HttpResponse<String> export(String parameters) {
    var request =
        HttpRequest.newBuilder(gateway.http("/api/v1/logs?service=" + service + parameters))
            .header("Accept", "application/x-ndjson")
            .build();
    return Gateway.send(request, BodyHandlers.ofString());
  }

  private static List<Integer> numbers(HttpResponse<String> response) {
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return response
        .body()
        .lines()
        .map(line -> JSON.readTree(line).get("body").asString())
        .map(body -> Integer.parseInt(body.substring("log ".length())))
        .toList();
  }

  @Test
  void get_moreThanAPage_returnsAllNewestFirst() {
    var response = export("");

    assertThat(response.headers().firstValue("Content-Type")).hasValue("application/x-ndjson");
    var numbers = numbers(response);
    assertThat(numbers).hasSize(LOGS).doesNotHaveDuplicates();
    assertThat(numbers.stream().map(i -> i / 7).toList())
        .isSortedAccordingTo((a, b) -> Integer.compare(b, a));
  }

  @Test
  void get_limit_stopsAtTheLimit() {
    assertThat(numbers(export("&limit=5001"))).hasSize(5001);
    assertThat(numbers(export("&limit=1"))).hasSize(1);
  }

  @Test
  void get_withCursor_continuesFromIt() {
    var page =
        Gateway.json(gateway.get(gateway.http("/api/v1/logs?limit=10000&service=" + service)));

    var rest = numbers(export("&cursor=" + page.get("next_cursor").asString()));

    assertThat(rest).hasSize(LOGS - 10_000);
  }

  @Test
  void get_noLogs_isEmpty() {
    assertThat(numbers(export("&text=nowhere"))).isEmpty();
  }

  @Test
  void get_badParameter_isAProblem() {
    var response = export("&limit=0");

    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(response.headers().firstValue("Content-Type")).hasValue("application/problem+json");
  }
}
