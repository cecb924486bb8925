package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import java.net.URLEncoder;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.yaml.snakeyaml.Yaml;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Checks that every response conforms to the OpenAPI document: its status, content type and body.
 * Valid and invalid requests are drawn from a seed; {@code make contract} is the long form.
 */
class ContractIT {
  private static final String TEMPLATE = "d41d8cd9-8f00-b204-e980-0998ecf8427e";
  private static final List<String> IDS = List.of(TEMPLATE, TEMPLATE.replace('d', 'e'), "any");
  private static final JsonMapper JSON = new JsonMapper();

  private final Gateway gateway = Gateway.shared();
  private final JsonNode document =
      JSON.valueToTree(
          (Object) new Yaml().load(gateway.get(gateway.http("/api/openapi.yaml")).body()));
  private final SchemaRegistry schemas =
      SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12);
  private final Map<String, Set<Integer>> seen = new HashMap<>();

  // ---- the document

  private JsonNode resolved(JsonNode node) {
    var reference = node.get("$ref");
    return reference == null ? node : document.at(reference.asString().substring(1));
  }

  private void assertDocumented(String method, String path, HttpResponse<String> response) {
    var operation = document.get("paths").get(path).get(method);
    var what = method + " " + path + " answered " + response.statusCode() + " " + response.body();
    var documented = operation.get("responses").get(Integer.toString(response.statusCode()));
    assertThat(documented).as(what).isNotNull();
    seen.computeIfAbsent(method + " " + path, _ -> new TreeSet<>()).add(response.statusCode());
    var described = resolved(documented);
    var headers = described.get("headers");
    if (headers != null) {
      for (var header : headers.properties()) {
        if (header.getValue().path("required").asBoolean(false)) {
          assertThat(response.headers().firstValue(header.getKey())).as(what).isPresent();
        }
      }
    }
    var content = described.get("content");
    if (content == null) {
      return;
    }
    var type = response.headers().firstValue("Content-Type").orElse("").split(";", 2)[0];
    assertThat(content.has(type)).as(type + " of " + what).isTrue();
    if (type.endsWith("json") && !type.contains("ndjson")) {
      assertValid(content.get(type).get("schema"), response.body(), what);
    }
  }

  private void assertValid(JsonNode schema, String body, String what) {
    var whole = JSON.createObjectNode();
    whole.putArray("allOf").add(schema);
    whole.set("components", document.get("components"));
    assertThat(schemas.getSchema(whole).validate(JSON.readTree(body))).as(what).isEmpty();
  }

  // ---- queries

  private static final Map<String, List<String>> VALUES =
      Map.ofEntries(
          Map.entry("service", List.of("", "contract", "x y", "%", "\0", "é")),
          Map.entry("severity", List.of("", "ERROR", "WARN,INFO2", "LOUD", ",")),
          Map.entry("min_severity", List.of("", "warn", "FATAL4", "7")),
          Map.entry("from", List.of("", "2024-01-01", "0", "1e400", "yesterday", "-1")),
          Map.entry("to", List.of("", "2030-01-01T00:00:00Z", "9223372036854775807", "later")),
          Map.entry("trace_id", List.of("", Otlp.TRACE_ID, "abc", "' OR 1=1")),
          Map.entry("span_id", List.of("", Otlp.SPAN_ID, "zz")),
          Map.entry(
              "text",
              List.of("", "a b", "\"a b\" OR c", "NOT (a OR \"b\")", "(", "\"", "AND", "(((((")),
          Map.entry(
              "attributes",
              List.of("", "k", "k=v", "k!=", "k^=v", "k in [\"a\",\"b\"]", "k in [", "=v")),
          Map.entry("resource", List.of("service.name=contract", "k", "")),
          Map.entry(
              "template_id", List.of(TEMPLATE, TEMPLATE.toUpperCase(Locale.ROOT), "", "1-1-1-1-1")),
          Map.entry("view", List.of("new", "changed", "", "vanished", "best")),
          Map.entry("resource_id", List.of(TEMPLATE, "", "1-1-1-1-1")),
          Map.entry("limit", List.of("", "1", "10000", "0", "10001", "many", "-1")),
          Map.entry("cursor", List.of("", "A".repeat(32), "nonsense", "=")),
          Map.entry("interval", List.of("", "1m", "365d", "0s", "1")),
          Map.entry("buckets", List.of("", "1", "1000", "0", "x")),
          Map.entry("unknown", List.of("x")));

  private String query(Random random, JsonNode operation) {
    var query = new StringBuilder("?");
    var names = new HashSet<String>();
    operation.get("parameters").forEach(p -> names.add(resolved(p).get("name").asString()));
    names.retainAll(VALUES.keySet());
    if (random.nextInt(20) == 0) {
      names.add("unknown");
    }
    for (var name : new TreeSet<>(names)) {
      for (int times = random.nextInt(8) == 0 ? 2 : random.nextInt(3) / 2; times > 0; times--) {
        var values = VALUES.get(name);
        // the first values are valid, and most requests shall be valid
        int value = random.nextInt(3) == 0 ? values.size() : Math.min(2, values.size());
        query
            .append(name)
            .append('=')
            .append(URLEncoder.encode(values.get(random.nextInt(value)), UTF_8))
            .append('&');
      }
    }
    return query.toString();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/api/v1/logs",
        "/api/v1/logs/histogram",
        "/api/v1/templates",
        "/api/v1/templates/{id}",
        "/api/v1/templates/{id}/logs",
        "/api/logs/{app_id}"
      })
  void get_anyQuery_hasADocumentedResponse(String path) {
    var random = new Random(20_261_121);
    var operation = document.get("paths").get(path).get("get");
    var _ =
        gateway.rows(
            "INSERT INTO log_templates (Tenant, TemplateId) VALUES ('default', '"
                + TEMPLATE
                + "')");
    for (int i = 0; i < 150; i++) {
      var id = IDS.get(random.nextInt(IDS.size()) * random.nextInt(2));
      var there = path.replace("{app_id}", "contract").replace("{id}", id);
      var uri = gateway.http(there + query(random, operation));

      assertDocumented("get", path, gateway.get(uri));
    }
    if (path.contains("{id}")) {
      assertThat(seen.get("get " + path)).contains(404);
    }
    assertThat(seen.get("get " + path)).contains(200, 400);
  }

  @Test
  void get_longQuery_hasADocumentedResponse() {
    var response = gateway.get(gateway.http("/api/v1/logs?text=" + "a".repeat(70_000)));

    assertThat(response.statusCode()).isEqualTo(414);
    assertDocumented("get", "/api/v1/logs", response);
  }

  // ---- ingest

  private static final List<String> TYPES =
      List.of(
          "application/json",
          "application/x-ndjson",
          "application/x-protobuf",
          "application/x-protobuf-batch",
          "text/plain");

  private static final List<String> BODIES =
      List.of(
          "{\"service\":\"contract\",\"body\":\"b\",\"severity\":\"INFO\"}",
          "[{\"service\":\"contract\",\"body\":1},{\"body\":\"b\",\"severity\":\"LOUD\"}]",
          "{\"app_id\":\"contract\",\"level\":\"info\",\"message\":\"m\",\"source\":\"s\"}",
          "[{\"app_id\":\"contract\",\"level\":\"loud\",\"message\":\"m\",\"source\":\"s\"}]",
          "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{\"body\":{\"stringValue\":\"b\"}}]}]}]}",
          "",
          "[]",
          "{}",
          "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{\"traceId\":\"00\"}]}]}]}",
          "null",
          "{\"body\":",
          "\u0000\u0001\u0002");

  @ParameterizedTest
  @ValueSource(strings = {"/api/v1/logs", "/v1/logs", "/api/logs"})
  void post_anyBody_hasADocumentedResponse(String path) {
    var random = new Random(20_261_121);
    for (int i = 0; i < 200; i++) {
      var request =
          HttpRequest.newBuilder(gateway.http(path))
              .POST(
                  BodyPublishers.ofByteArray(
                      BODIES.get(random.nextInt(BODIES.size())).getBytes(UTF_8)));
      if (random.nextInt(20) > 0) {
        request.header("Content-Type", TYPES.get(random.nextInt(2) * random.nextInt(TYPES.size())));
      }
      if (random.nextInt(8) == 0) {
        request.header(
            "Content-Encoding", List.of("identity", "gzip", "br").get(random.nextInt(3)));
      }
      if (random.nextInt(8) == 0) {
        request.header(
            "sluice-ack", List.of("durable", "accepted", "stored", "never").get(random.nextInt(4)));
      }

      var response = Gateway.send(request.build(), BodyHandlers.ofString());

      assertDocumented("post", path, response);
    }
    assertThat(seen.get("post " + path)).contains(400, 415).containsAnyOf(200, 202);
  }
}
