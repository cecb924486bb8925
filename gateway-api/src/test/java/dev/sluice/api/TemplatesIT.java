package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.sluice.core.dictionary.TextId;
import dev.sluice.proto.v1.Filter;
import dev.sluice.proto.v1.LogServiceGrpc;
import dev.sluice.proto.v1.QueryRequest;
import dev.sluice.proto.v1.StoredLog;
import io.grpc.ManagedChannelBuilder;
import java.net.URLEncoder;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/**
 * Templates on the way back: of the logs that have them, and by themselves.
 *
 * <p>A day of 2019 that no other test has: {@code user ann} and {@code user bob} came until nine
 * o'clock, when they became {@code user <*>}; {@code stopped} came before nine, {@code started}
 * from then on.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class TemplatesIT {
  private final Gateway gateway = Gateway.shared();
  private final String service = Gateway.service("templates");
  private final String other = Gateway.service("templates");
  private final UUID ann = id("user ann");
  private final UUID bob = id("user bob");
  private final UUID users = id("user <*>");
  private final UUID stopped = id("stopped");
  private final UUID started = id("started");

  /** Of a text that no other test has. */
  private UUID id(String text) {
    return TextId.of(text(text));
  }

  private String text(String text) {
    return service + ": " + text;
  }

  @BeforeAll
  void store() {
    var none = new UUID(0, 0);
    template("user ann", users);
    template("user bob", users);
    template("user <*>", none);
    template("stopped", none);
    template("started", none);
    log("2019-05-06 08:10:00", service, 9, "user ann", ann);
    log("2019-05-06 08:20:30", service, 17, "user bob", bob);
    log("2019-05-06 08:30:00", other, 9, "stopped", stopped);
    log("2019-05-06 09:00:00", service, 9, "user ann", users);
    log("2019-05-06 09:10:00", other, 9, "user carl", users);
    log("2019-05-06 09:20:00", service, 9, "started", started);
    log("2019-05-06 09:30:00", service, 9, "nothing told", none);
  }

  private void template(String text, UUID into) {
    var _ =
        gateway.rows(
            """
            INSERT INTO log_templates (Tenant, TemplateId, Text, MergedInto)
            VALUES ('default', '%s', '%s', '%s')"""
                .formatted(id(text), text(text), into));
  }

  private void log(String at, String of, int severity, String body, UUID template) {
    var _ =
        gateway.rows(
            """
            INSERT INTO otel_logs (Timestamp, Id, ServiceName, SeverityNumber, Body, TemplateId)
            VALUES ('%s', unhex('%s'), '%s', %d, '%s', '%s')"""
                .formatted(
                    at,
                    HexFormat.of().toHexDigits(at.hashCode()).repeat(4),
                    of,
                    severity,
                    body,
                    template));
  }

  private JsonNode ask(String pathAndQuery) {
    var response = gateway.get(gateway.http(pathAndQuery));
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return Gateway.json(response);
  }

  private static List<JsonNode> list(JsonNode array) {
    return StreamSupport.stream(array.spliterator(), false).toList();
  }

  private static List<String> bodies(JsonNode page) {
    return list(page.get("logs")).stream().map(log -> log.get("body").asString()).toList();
  }

  private HttpResponse<String> export(String query) {
    var request =
        HttpRequest.newBuilder(gateway.http("/api/v1/logs?" + query))
            .header("Accept", "application/x-ndjson")
            .build();
    return Gateway.send(request, BodyHandlers.ofString());
  }

  // ---- of logs

  @Test
  void logs_ofTemplates_sayWhatBecameOfThem() {
    var logs = list(ask("/api/v1/logs?service=" + service).get("logs"));

    assertThat(logs).hasSize(5);
    assertThat(logs.getFirst().has("template_id")).isFalse();
    assertThat(logs.stream().skip(1).map(log -> log.get("template_id").asString()))
        .containsExactly(started.toString(), users.toString(), users.toString(), users.toString());
    assertThat(export("service=" + service + "&to=2019-05-06T09:00:00Z").body())
        .contains("\"template_id\":\"" + users + "\"")
        .doesNotContain(ann.toString());
  }

  @Test
  void logs_byAnyTemplateOfTheGroup_areThoseOfTheGroup() {
    for (var id : List.of(ann, bob, users)) {
      var query = "template_id=" + id.toString().toUpperCase(Locale.ROOT);

      assertThat(bodies(ask("/api/v1/logs?" + query)))
          .containsExactly("user carl", "user ann", "user bob", "user ann");
      assertThat(bodies(ask("/api/v1/logs?" + query + "&severity=ERROR")))
          .containsExactly("user bob");
      assertThat(ask("/api/v1/logs/histogram?" + query).get("total").asInt()).isEqualTo(4);
      assertThat(export(query).body().lines()).hasSize(4);
    }
    assertThat(bodies(ask("/api/v1/logs?template_id=" + stopped))).containsExactly("stopped");
    assertThat(bodies(ask("/api/v1/logs?template_id=" + stopped + "&template_id=" + started)))
        .containsExactly("started", "stopped");
    assertThat(bodies(ask("/api/v1/logs?template_id=" + id("never written")))).isEmpty();
  }

  @Test
  void logs_overGrpc_areTheSame() {
    var channel =
        ManagedChannelBuilder.forAddress("127.0.0.1", gateway.grpcPort()).usePlaintext().build();
    try {
      var page =
          LogServiceGrpc.newBlockingStub(channel)
              .query(
                  QueryRequest.newBuilder()
                      .setFilter(Filter.newBuilder().addTemplateIds(bytes(ann)))
                      .build());

      assertThat(page.getLogsList())
          .extracting(StoredLog::getBody)
          .containsExactly("user carl", "user ann", "user bob", "user ann");
      assertThat(page.getLogsList())
          .extracting(StoredLog::getTemplateId)
          .containsOnly(bytes(users));
    } finally {
      channel.shutdownNow();
    }
  }

  private static ByteString bytes(UUID id) {
    return ByteString.copyFrom(HexFormat.of().parseHex(id.toString().replace("-", "")));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "1-1-1-1-1",
        "",
        "d41d8cd98f00b204e9800998ecf8427e",
        "d41d8cd9-8f00-b204-e980-0998ecf8427g",
        "00000000-0000-0000-0000-000000000000",
        "' OR 1=1",
      })
  void logs_byWhatIsNoTemplate_is400NamingTheParameter(String id) {
    var response =
        gateway.get(gateway.http("/api/v1/logs?template_id=" + URLEncoder.encode(id, UTF_8)));

    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(Gateway.json(response).get("detail").asString())
        .startsWith("template_id is not the id of a template");
  }
}
