package dev.sluice.demo;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import tools.jackson.databind.ObjectMapper;

/** The gateway as its HTTP API shows it. */
final class GatewayClient {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);
  private static final int CHUNK = 1000;

  private final HttpClient http = HttpClient.newHttpClient();
  private final ObjectMapper json = new ObjectMapper();
  private final URI address;

  GatewayClient(URI address) {
    this.address = address;
  }

  URI address() {
    return address;
  }

  boolean answers() throws InterruptedException {
    try {
      get("/api/v1/logs?limit=1");
      return true;
    } catch (IOException _) {
      return false;
    }
  }

  void sendNdjson(String run, List<Line> lines) throws IOException, InterruptedException {
    for (int from = 0; from < lines.size(); from += CHUNK) {
      var body = new StringBuilder();
      for (var line : lines.subList(from, Math.min(lines.size(), from + CHUNK))) {
        var log =
            Map.of(
                "timestamp", Instant.now().toString(),
                "service", line.service(),
                "severity", line.severity(),
                "body", line.body(),
                "attributes", Map.of(OtlpSender.RUN.getKey(), run));
        body.append(json.writeValueAsString(log)).append('\n');
      }
      var request =
          HttpRequest.newBuilder(address.resolve("/api/v1/logs"))
              .timeout(TIMEOUT)
              .header("Content-Type", "application/x-ndjson")
              .POST(HttpRequest.BodyPublishers.ofString(body.toString()))
              .build();
      var response = http.send(request, BodyHandlers.ofString());
      if (response.statusCode() != 202) {
        throw new IOException(response.statusCode() + ": " + response.body());
      }
    }
  }

  /** Counts of the run's logs by service and severity, joined by a tab; read page by page. */
  Map<String, Integer> count(String run) throws IOException, InterruptedException {
    var counts = new HashMap<String, Integer>();
    var filter =
        "/api/v1/logs?limit=1000&attributes="
            + URLEncoder.encode(OtlpSender.RUN.getKey() + "=" + run, UTF_8);
    var cursor = "";
    do {
      var page = json.readTree(get(filter + cursor));
      for (var log : page.get("logs")) {
        counts.merge(
            log.get("service").asString() + "\t" + log.get("severity_text").asString(),
            1,
            Integer::sum);
      }
      cursor = page.has("next_cursor") ? "&cursor=" + page.get("next_cursor").asString() : "";
    } while (!cursor.isEmpty());
    return counts;
  }

  /** What the gateway measured of its own stages since it started. */
  List<String> metrics() throws InterruptedException {
    try {
      return get("/actuator/prometheus")
          .lines()
          .filter(
              line ->
                  line.matches(
                      "sluice_(ingest_safe|delivery_store|delivery_age)_seconds_(sum|count|max).*"))
          .toList();
    } catch (IOException e) {
      return List.of("no metrics at " + address + ": " + e.getMessage());
    }
  }

  private String get(String path) throws IOException, InterruptedException {
    var request = HttpRequest.newBuilder(address.resolve(path)).timeout(TIMEOUT).build();
    var response = http.send(request, BodyHandlers.ofString());
    if (response.statusCode() != 200) {
      throw new IOException(response.statusCode() + ": " + response.body());
    }
    return response.body();
  }
}
