package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.net.URLEncoder;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** Tests {@code GET /api/v1/logs}. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class QueryIT {
  private final Gateway gateway = Gateway.shared();
  private final String service = Gateway.service("query");

  @BeforeAll
  void store() {
    gateway.postLogs(
        """
        [{"service":"%1$s","timestamp":"2024-01-01T00:00:01Z","severity":"DEBUG",
          "body":"Cache warmed","attributes":{"zone":"a"}},
         {"service":"%1$s","timestamp":"2024-01-01T00:00:02Z","severity":"INFO3",
          "body":"user logged in","attributes":{"zone":"b","user":"O'Brien"}},
         {"service":"%1$s","timestamp":"2024-01-01T00:00:03Z","severity":"ERROR",
          "body":"Payment DECLINED by bank","trace_id":"5b8efff798038103d269b633813fc60c","span_id":"00f067aa0ba902b7",
          "attributes":{"zone":"a","user":"x=y"}},
         {"service":"%1$s","timestamp":"2024-01-01T00:00:04Z",
          "body":"café closed, 100%% sure","attributes":{"empty":""}}]"""
            .formatted(service));
    gateway.awaitStored(service, 4);
  }

  private HttpResponse<String> query(String query) {
    return gateway.get(gateway.http("/api/v1/logs?" + query));
  }

  private List<JsonNode> logs(String filters) {
    var response = query("service=" + service + (filters.isEmpty() ? "" : "&" + filters));
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return list(Gateway.json(response));
  }

  private static List<JsonNode> list(JsonNode page) {
    return StreamSupport.stream(page.get("logs").spliterator(), false).toList();
  }

  private String found(String filters) {
    return String.join(
        "",
        logs(filters).stream()
            .map(log -> log.get("timestamp").asString().substring(18, 19))
            .toList());
  }

  private static String encoded(String text) {
    return URLEncoder.encode(text, UTF_8);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "''                                   | 4321",
        "severity=error                       | 3",
        "severity=INFO                        | 2",
        "severity=INFO2                       | ''",
        "severity=INFO3                       | 2",
        "severity=DEBUG,ERROR                 | 31",
        "severity=DEBUG&severity=ERROR        | 31",
        "from=2024-01-01T00:00:02Z            | 432",
        "to=2024-01-01T00:00:02Z              | 1",
        "from=1704067202&to=1704067204000     | 32",
        "from=1704067202000000000&to=1704067202000000001 | 2",
        "trace_id=5B8EFFF798038103D269B633813FC60C | 3",
        "text=declined                        | 3",
        "text=bank+payment                    | 3",
        "text=BANK                            | 3",
        "text=ban                             | ''",
        "text=caf%C3%A9                       | 4",
        "text=CAF%C3%89+closed                | 4",
        "text=100%25                          | 4",
        "attributes=zone%3Da                  | 31",
        "attributes=zone%3Da&attributes=user%3Dx%3Dy | 3",
        "attributes=user%3DO'Brien            | 2",
        "attributes=empty%3D                  | 4",
        "attributes=absent%3D                 | ''",
        "severity=ERROR&text=bank&attributes=zone%3Da&from=2024-01-01&to=2024-01-02 | 3",
        "severity=ERROR&text=cache            | ''",
        "text=                                | 4321",
        "text=bank+OR+cache                   | 31",
        "text=payment+AND+NOT+cache           | 3",
        "text=NOT+(bank+OR+cache)             | 42",
        "text=%22logged+in%22                 | 2",
        "text=%22in+logged%22                 | ''",
        "attributes=zone                      | 321",
        "attributes=zone!%3Da                 | 42",
        "attributes=user%5E%3DO'              | 2",
        "attributes=user%5E%3Dx%3D            | 3",
        "attributes=user%20in%20%5B%22x%3Dy%22,%22O'Brien%22%5D | 32",
        "attributes=user!%3Dx%3Dy&attributes=user | 2",
        "resource=service.name                | 4321",
        "resource=service.name!%3Dx&text=bank | 3",
        "resource=absent                      | ''",
        "min_severity=INFO                    | 32",
        "min_severity=INFO4                   | 3",
        "span_id=00F067AA0BA902B7             | 3",
      })
  void get_filters_returnMatchingLogsNewestFirst(String filters, String expected) {
    assertThat(found(filters)).isEqualTo(expected);
  }

  @Test
  void get_log_hasEveryField() {
    var everything = Gateway.service("query-fields");
    var _ =
        gateway.post(
            gateway.http("/v1/logs"),
            "application/x-protobuf",
            Otlp.everything(everything).toByteArray());
    gateway.awaitStored(everything, 1);

    var log = list(Gateway.json(query("service=" + everything))).getFirst();

    assertThat(log.get("id").asString()).matches("[0-9a-f]{32}");
    assertThat(log.get("timestamp").asString()).isEqualTo("2023-11-14T22:13:20.123456789Z");
    assertThat(log.get("observed_timestamp").asString())
        .isEqualTo("2023-11-14T22:13:21.000000001Z");
    assertThat(log.get("received_timestamp").asString()).startsWith("20");
    assertThat(log.get("severity_number").asInt()).isEqualTo(18);
    assertThat(log.get("severity_text").asString()).isEqualTo("severe");
    assertThat(log.get("service").asString()).isEqualTo(everything);
    assertThat(log.get("body").asString()).contains("out of café");
    assertThat(log.get("trace_id").asString()).isEqualTo(Otlp.TRACE_ID);
    assertThat(log.get("span_id").asString()).isEqualTo(Otlp.SPAN_ID);
    assertThat(log.get("flags").asInt()).isEqualTo(769);
    assertThat(log.get("event_name").asString()).isEqualTo("order.failed");
    assertThat(log.get("attributes").size()).isEqualTo(8);
    assertThat(log.get("dropped_attributes_count").asInt()).isEqualTo(3);
    assertThat(log.get("resource").get("pid").asString()).isEqualTo("42");
    assertThat(log.get("resource_schema_url").asString()).endsWith("/resource");
    assertThat(log.get("scope").get("name").asString()).isEqualTo("org.example.Orders");
    assertThat(log.get("scope").get("version").asString()).isEqualTo("1.2");
    assertThat(log.get("scope").get("attributes").get("scoped").asString()).isEqualTo("s");
    assertThat(log.get("scope").get("schema_url").asString()).endsWith("/scope");
  }

  @Test
  void get_tenThousandEqualTimestampsDuringIngest_eachOnceAndNoneMissing() {
    var paged = Gateway.service("query-pages");
    post(paged, 0, 10_000);
    gateway.awaitStored(paged, 10_000);
    var seen = new ArrayList<Integer>();
    var cursor = "";
    int pages = 0;

    do {
      var response = query("service=" + paged + "&limit=1000" + cursor);
      assertThat(response.statusCode()).isEqualTo(200);
      var page = Gateway.json(response);
      list(page).forEach(log -> seen.add(Integer.valueOf(log.get("body").asString())));
      cursor = page.has("next_cursor") ? "&cursor=" + page.get("next_cursor").asString() : "";
      pages++;
      post(paged, 10_000 + 10 * pages, 10); // same time, but accepted later
    } while (!cursor.isEmpty() && pages < 50);

    assertThat(new HashSet<>(seen)).hasSameSizeAs(seen);
    assertThat(seen).hasSize(10_000).allMatch(n -> n < 10_000);
    assertThat(pages).isBetween(10, 11);
    assertThat(seen).isSortedAccordingTo((a, b) -> Integer.compare(b, a));
  }

  private void post(String to, int from, int count) {
    var lines = new StringBuilder();
    for (int i = from; i < from + count; i++) {
      lines.append(
          "{\"service\":\"%s\",\"timestamp\":1700000000,\"body\":\"%d\"}\n".formatted(to, i));
    }
    var response =
        gateway.post(
            gateway.http("/api/v1/logs"), "application/x-ndjson", lines.toString().getBytes(UTF_8));
    assertThat(response.statusCode()).isEqualTo(202);
  }

  @Test
  void get_limit_isRespectedAndCursorContinues() {
    var first = Gateway.json(query("service=" + service + "&limit=3"));
    var second =
        Gateway.json(
            query("service=" + service + "&limit=3&cursor=" + first.get("next_cursor").asString()));

    assertThat(list(first)).hasSize(3);
    assertThat(list(second)).hasSize(1);
    assertThat(second.has("next_cursor")).isFalse();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "limit=0",
        "limit=10001",
        "limit=many",
        "limit=1&limit=2",
        "from=yesterday",
        "from=1969-12-31",
        "to=2263-01-01",
        "severity=LOUD",
        "severity=",
        "trace_id=abc",
        "trace_id=zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz",
        "attributes=",
        "attributes",
        "resource",
        "severity",
        "attributes=%3Dnokey",
        "attributes=k%20in%20%5B%5D",
        "attributes=k%20in%20%5B1%5D",
        "attributes=k%20in%20%5B%22a%22",
        "resource=!%3Dnokey",
        "min_severity=LOUD",
        "min_severity=0",
        "span_id=abc",
        "text=(a",
        "text=a+OR",
        "text=%22a",
        "cursor=nonsense",
        "cursor=AAAA",
        "cursor=%C3%A9",
        "servise=typo",
        "service=a&service=b",
      })
  void get_badParameter_is400NamingIt(String query) {
    var response = query(query);

    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(response.headers().firstValue("Content-Type")).hasValue("application/problem+json");
    var detail = Gateway.json(response).get("detail").asString();
    assertThat(detail)
        .contains(query.startsWith("servise") ? "unknown parameter" : query.split("=", 2)[0]);
  }

  @Test
  void get_response_hasVaryHeader() {
    assertThat(query("limit=1").headers().firstValue("Vary")).hasValue("Accept, Accept-Encoding");
  }

  @Test
  void get_invalidAcceptHeader_is400() {
    var request =
        HttpRequest.newBuilder(gateway.http("/api/v1/logs")).header("Accept", "garbage").build();

    assertThat(Gateway.send(request, BodyHandlers.ofString()).statusCode()).isEqualTo(400);
  }

  /** Queries at the maximum size are accepted by the store. */
  @Test
  void get_longestQueries_areAccepted() {
    assertThat(logs("text=" + encoded('"' + "é.".repeat(512) + '"'))).isEmpty();
    assertThat(logs("text=" + encoded("word ".repeat(2000)))).isEmpty();
    var values = new StringBuilder("k in [");
    for (int i = 0; i < 100; i++) {
      values.append(i == 0 ? "" : ",").append('"').append("'\\\\".repeat(20)).append(i).append('"');
    }
    assertThat(logs("attributes=" + encoded(values + "]"))).isEmpty();
    var conditions = new StringBuilder();
    for (int i = 0; i < 64; i++) {
      conditions.append("&attributes=k").append(i).append("%21%3Dv");
    }
    assertThat(logs(conditions.substring(1))).hasSize(4);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "' OR 1=1 --",
        "') OR (1=1",
        "\\' OR 1=1 --",
        "x' UNION ALL SELECT * FROM system.users --",
        "{service:String}",
        "%",
        "\u0000",
        "'; DROP TABLE otel_logs; --",
      })
  void get_injection_findsNothingAndBreaksNothing(String attempt) {
    assertThat(list(Gateway.json(query("service=" + encoded(attempt))))).isEmpty();
    assertThat(logs("attributes=" + encoded("zone=" + attempt))).isEmpty();
    assertThat(logs("attributes=" + encoded(attempt + "=a"))).isEmpty();
    assertThat(query("trace_id=" + encoded(attempt)).statusCode()).isEqualTo(400);
    assertThat(query("severity=" + encoded(attempt)).statusCode()).isEqualTo(400);
    assertThat(query("text=" + encoded('"' + attempt.replace("\\", "\\\\") + '"')).statusCode())
        .isEqualTo(200);
    assertThat(logs("")).hasSize(4);
  }
}
