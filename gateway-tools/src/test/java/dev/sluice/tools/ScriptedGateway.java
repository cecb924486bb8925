package dev.sluice.tools;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A server that responds to log requests with the scripted responses, and then accepts the logs.
 * Each count request makes it store half of the accepted logs that are not stored yet. Reads return
 * the stored logs, the last one first, with the first word of the body as the template. Each search
 * returns all templates, the template that the query names first; the first search reports one
 * template without vectors.
 */
final class ScriptedGateway implements AutoCloseable {
  private static final JsonMapper JSON = new JsonMapper();

  final List<String> posts = new ArrayList<>();
  final List<String> keys = new ArrayList<>();
  final Deque<ScriptedResponse> script = new ArrayDeque<>();

  final List<JsonNode> queries = new ArrayList<>();

  private final Deque<JsonNode> accepted = new ArrayDeque<>();
  private final List<JsonNode> stored = new ArrayList<>();

  private final HttpServer server;

  /** A scripted response to one request, which accepts none of its logs. */
  record ScriptedResponse(int status, String body) {}

  ScriptedGateway() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/api/v1/logs", this::logs);
    server.createContext("/api/v1/logs/histogram", this::histogram);
    server.createContext("/api/v1/logs/search", this::search);
    server.start();
  }

  String address() {
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  private void logs(HttpExchange exchange) throws IOException {
    if (exchange.getRequestMethod().equals("POST")) {
      post(exchange);
      return;
    }
    var text = new StringBuilder();
    for (var log : matchingLogs(exchange).reversed()) {
      text.append(log).append('\n');
    }
    respond(exchange, new ScriptedResponse(200, text.toString()));
  }

  private void post(HttpExchange exchange) throws IOException {
    var body = new String(exchange.getRequestBody().readAllBytes(), UTF_8);
    posts.add(body);
    keys.add(exchange.getRequestHeaders().getFirst("Idempotency-Key"));
    var scripted = script.poll();
    if (scripted != null) {
      exchange.getResponseHeaders().set("Retry-After", "0");
      respond(exchange, scripted);
      return;
    }
    var logs = body.lines().map(JSON::readTree).toList();
    for (var log : logs) {
      var row = JSON.createObjectNode();
      row.set("attributes", log.get("attributes"));
      row.put("template_id", log.get("body").asString().split(" ", 2)[0]);
      accepted.add(row);
    }
    respond(
        exchange,
        new ScriptedResponse(202, "{\"accepted\":%d,\"rejected\":[]}".formatted(logs.size())));
  }

  private void histogram(HttpExchange exchange) throws IOException {
    for (int i = (accepted.size() + 1) / 2; i > 0; i--) {
      stored.add(accepted.remove());
    }
    respond(
        exchange, new ScriptedResponse(200, "{\"total\":" + matchingLogs(exchange).size() + "}"));
  }

  private void search(HttpExchange exchange) throws IOException {
    var request = JSON.readTree(exchange.getRequestBody().readAllBytes());
    queries.add(request);
    var found = new LinkedHashSet<String>();
    var all = stored.stream().map(row -> row.get("template_id").asString()).toList();
    all.stream().filter(request.get("query").asString()::contains).forEach(found::add);
    found.addAll(all);
    var response =
        JSON.createObjectNode().put("templates_without_vectors", queries.size() == 1 ? 1 : 0);
    var templates = response.putArray("templates");
    found.forEach(id -> templates.addObject().put("template_id", id));
    respond(exchange, new ScriptedResponse(200, response.toString()));
  }

  private List<JsonNode> matchingLogs(HttpExchange exchange) {
    var conditions =
        Arrays.stream(exchange.getRequestURI().getRawQuery().split("&", -1))
            .map(one -> URLDecoder.decode(one, UTF_8).split("=", 3))
            .toList();
    return stored.stream()
        .filter(
            log ->
                conditions.stream()
                    .allMatch(
                        one -> log.get("attributes").path(one[1]).asString("").equals(one[2])))
        .toList();
  }

  private static void respond(HttpExchange exchange, ScriptedResponse response) throws IOException {
    var body = response.body().getBytes(UTF_8);
    exchange.sendResponseHeaders(response.status(), body.length == 0 ? -1 : body.length);
    exchange.getResponseBody().write(body);
    exchange.close();
  }

  @Override
  public void close() {
    server.stop(0);
  }
}
