package dev.sluice.tools;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;

/** A client of the HTTP API of a gateway. */
final class GatewayClient {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);
  private static final Duration RETRY_TIMEOUT = Duration.ofMinutes(2);
  private static final Duration DEFAULT_RETRY_DELAY = Duration.ofSeconds(1);

  /**
   * The statuses after which the same request may succeed: request in progress, and unavailable.
   */
  private static final Set<Integer> RETRYABLE_STATUSES = Set.of(409, 503);

  private static final String NOTHING_ACCEPTED = "/api/problems/nothing-accepted";

  private final HttpClient http = HttpClient.newHttpClient();
  private final ObjectMapper json = new ObjectMapper();
  private final URI address;

  GatewayClient(URI address) {
    this.address = address;
  }

  URI address() {
    return address;
  }

  /** Whether the gateway responds, with whatever status. */
  boolean isReachable() throws InterruptedException {
    try {
      var request = HttpRequest.newBuilder(address.resolve("/api/v1/logs?limit=1"));
      var _ = send(request.timeout(TIMEOUT).build(), BodyHandlers.discarding());
      return true;
    } catch (IOException _) {
      return false;
    }
  }

  /**
   * Sends logs and retries until the gateway accepts them. The key makes retries idempotent: the
   * gateway stores the logs once.
   *
   * @param lines the logs, one JSON object per line
   * @param key an idempotency key for these logs alone, visible ASCII
   * @return the response, which lists the rejected logs
   * @throws IOException when the gateway returns another error, or is unavailable for longer than
   *     the retry timeout
   */
  JsonNode post(byte[] lines, String key) throws IOException, InterruptedException {
    var request =
        HttpRequest.newBuilder(address.resolve("/api/v1/logs"))
            .timeout(TIMEOUT)
            .header("Content-Type", "application/x-ndjson")
            .header("Idempotency-Key", key)
            .POST(HttpRequest.BodyPublishers.ofByteArray(lines))
            .build();
    long deadline = System.nanoTime() + RETRY_TIMEOUT.toNanos();
    while (true) {
      var response = send(request, BodyHandlers.ofString());
      if (response.statusCode() == 202) {
        return json.readTree(response.body());
      }
      if (response.statusCode() == 400 && response.body().contains(NOTHING_ACCEPTED)) {
        return json.readTree(response.body());
      }
      if (!RETRYABLE_STATUSES.contains(response.statusCode()) || System.nanoTime() > deadline) {
        throw new IOException(response.statusCode() + ": " + response.body());
      }
      Thread.sleep(retryDelay(response));
    }
  }

  private static Duration retryDelay(HttpResponse<?> response) {
    return response
        .headers()
        .firstValue("Retry-After")
        .map(seconds -> Duration.ofSeconds(Long.parseLong(seconds)))
        .orElse(DEFAULT_RETRY_DELAY);
  }

  /** Returns the number of logs that have all of these attributes. */
  long count(Map<String, String> attributes) throws IOException, InterruptedException {
    return json.readTree(get("/api/v1/logs/histogram?" + filter(attributes))).get("total").asLong();
  }

  /**
   * Reads all logs that have these attributes and passes them to {@code each}, one by one.
   *
   * @throws IOException when the response ends before the last log
   */
  void export(Map<String, String> attributes, Consumer<JsonNode> each)
      throws IOException, InterruptedException {
    var request =
        HttpRequest.newBuilder(address.resolve("/api/v1/logs?" + filter(attributes)))
            .timeout(TIMEOUT)
            .header("Accept", "application/x-ndjson")
            .build();
    var response = send(request, BodyHandlers.ofLines());
    try (var lines = response.body()) {
      if (response.statusCode() != 200) {
        throw new IOException(
            response.statusCode() + ": " + lines.collect(Collectors.joining("\n")));
      }
      lines.map(json::readTree).forEach(each);
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
  }

  /** Searches logs by meaning with a query in natural language and returns the response. */
  JsonNode search(String query, @Nullable String service, int limit)
      throws IOException, InterruptedException {
    var body = json.createObjectNode().put("query", query).put("limit", limit);
    if (service != null) {
      body.put("service", service);
    }
    var request =
        HttpRequest.newBuilder(address.resolve("/api/v1/logs/search"))
            .timeout(TIMEOUT)
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body.toString()))
            .build();
    var response = send(request, BodyHandlers.ofString());
    if (response.statusCode() != 200) {
      throw new IOException(response.statusCode() + ": " + response.body());
    }
    return json.readTree(response.body());
  }

  private static String filter(Map<String, String> attributes) {
    return attributes.entrySet().stream()
        .map(one -> "attributes=" + URLEncoder.encode(one.getKey() + "=" + one.getValue(), UTF_8))
        .collect(Collectors.joining("&"));
  }

  /**
   * Returns the log counts of a run by service and severity, joined by a tab. The logs are read
   * page by page.
   */
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

  /**
   * Returns the metrics of the pipeline stages since the start of the gateway, or one line with the
   * error.
   */
  List<String> metrics() throws InterruptedException {
    try {
      return get("/actuator/prometheus")
          .lines()
          .filter(
              line ->
                  line.matches(
                      "sluice_(ingest_append_duration|delivery_insert_duration|delivery_age)_seconds_(sum|count|max).*"))
          .toList();
    } catch (IOException e) {
      return List.of("no metrics at " + address + ": " + e.getMessage());
    }
  }

  private <T> HttpResponse<T> send(HttpRequest request, HttpResponse.BodyHandler<T> handler)
      throws IOException, InterruptedException {
    try {
      return http.send(request, handler);
    } catch (ConnectException e) { // has no message
      throw new IOException("no gateway responds at " + address + "; start one: make run", e);
    }
  }

  private String get(String path) throws IOException, InterruptedException {
    var request = HttpRequest.newBuilder(address.resolve(path)).timeout(TIMEOUT).build();
    var response = send(request, BodyHandlers.ofString());
    if (response.statusCode() != 200) {
      throw new IOException(response.statusCode() + ": " + response.body());
    }
    return response.body();
  }
}
