package dev.sluice.api;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.proto.v1.Filter;
import dev.sluice.proto.v1.LogServiceGrpc;
import dev.sluice.proto.v1.QueryRequest;
import dev.sluice.templates.dictionary.ContentId;
import io.grpc.ManagedChannelBuilder;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import tools.jackson.databind.JsonNode;

/** Checks that a stack trace in a thousand logs is stored once and is in all read logs. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class DictionaryEncodingIT {
  private static final int LOGS = 1000;

  private final Gateway gateway = Gateway.shared();
  private final String service = Gateway.service("texts");
  private final String trace =
      IntStream.range(0, 80)
          .mapToObj(i -> "\tat com.example.%s.Pool.take%d(Pool.java:%d)\n".formatted(service, i, i))
          .collect(Collectors.joining("", "java.io.IOException: " + service + "\n", ""));

  @BeforeAll
  void store() {
    var log =
        """
        {"service":"%s","body":"failed","attributes":{"exception.stacktrace":"%s"},"resource":{"host.name":"%s"}}"""
            .formatted(service, trace.replace("\n", "\\n").replace("\t", "\\t"), service);
    var logs =
        IntStream.range(0, LOGS).mapToObj(_ -> log).collect(Collectors.joining(",", "[", "]"));
    assertThat(gateway.postLogs(logs).statusCode()).isEqualTo(202);
    assertThat(gateway.awaitStored(service, LOGS)).hasSize(LOGS);
  }

  private String singleValue(String sql) {
    return gateway.rows(sql).getFirst().get("it").asString();
  }

  @Test
  void table_hasTextOnceAndReferencesInRows() {
    assertThat(
            singleValue(
                "SELECT toString(count()) AS it FROM log_texts WHERE TextId = '%s'"
                    .formatted(ContentId.of(trace))))
        .isEqualTo("1");
    // the first row has the text itself; one worker stores the batch
    assertThat(
            singleValue(
                """
                SELECT toString(countIf(endsWith(LogAttributes['exception.stacktrace'], '… [sluice:text:%s]')))
                  AS it
                FROM otel_logs WHERE ServiceName = '%s'"""
                    .formatted(ContentId.of(trace), service)))
        .isEqualTo(String.valueOf(LOGS - 1));
  }

  @Test
  void page_hasFullText() {
    var logs = logs(gateway.http("/api/v1/logs?limit=%d&service=%s".formatted(LOGS, service)));

    assertThat(logs).hasSize(LOGS);
    assertThat(logs).allSatisfy(log -> assertThat(trace(log)).isEqualTo(trace));
    var resource = logs.getFirst().get("resource_id").asString();
    assertThat(logs(gateway.http("/api/v1/logs?limit=%d&resource_id=%s".formatted(LOGS, resource))))
        .hasSize(LOGS);
    assertThat(
            singleValue(
                "SELECT any(Text) AS it FROM log_texts WHERE Kind = 'RESOURCE' AND TextId = '%s'"
                    .formatted(resource)))
        .isEqualTo("{\"host.name\":\"%1$s\",\"service.name\":\"%1$s\"}".formatted(service));
  }

  @Test
  void export_hasFullText() {
    var request =
        HttpRequest.newBuilder(gateway.http("/api/v1/logs?service=" + service))
            .header("Accept", "application/x-ndjson")
            .build();

    var lines = Gateway.send(request, BodyHandlers.ofString()).body().lines().toList();

    assertThat(lines).hasSize(LOGS);
    assertThat(lines).allSatisfy(line -> assertThat(trace(Gateway.json(line))).isEqualTo(trace));
  }

  @Test
  void grpcQuery_hasFullText() {
    var channel =
        ManagedChannelBuilder.forAddress("127.0.0.1", gateway.grpcPort()).usePlaintext().build();
    try {
      var page =
          LogServiceGrpc.newBlockingStub(channel)
              .query(
                  QueryRequest.newBuilder()
                      .setFilter(Filter.newBuilder().setService(service))
                      .setLimit(100)
                      .build());

      assertThat(page.getLogsList())
          .hasSize(100)
          .allSatisfy(
              log ->
                  assertThat(log.getAttributesMap()).containsEntry("exception.stacktrace", trace));
    } finally {
      channel.shutdownNow();
    }
  }

  private static String trace(JsonNode log) {
    return log.get("attributes").get("exception.stacktrace").asString();
  }

  private static List<JsonNode> logs(URI uri) {
    var response = Gateway.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString());
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return StreamSupport.stream(Gateway.json(response).get("logs").spliterator(), false).toList();
  }
}
