package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.core.port.DailyCounts;
import dev.sluice.core.port.Spool;
import dev.sluice.proto.logs.GetLogsByAppIdRequest;
import dev.sluice.proto.logs.HealthCheckRequest;
import dev.sluice.proto.logs.HealthCheckResponse;
import dev.sluice.proto.logs.IngestLogsRequest;
import dev.sluice.proto.logs.LogEntry;
import dev.sluice.proto.logs.LogEntryBatch;
import dev.sluice.proto.logs.LogEntryInput;
import dev.sluice.proto.logs.LogLevel;
import dev.sluice.proto.logs.LogServiceGrpc;
import dev.sluice.proto.logs.LogServiceGrpc.LogServiceBlockingStub;
import io.grpc.ManagedChannelBuilder;
import io.lettuce.core.RedisClient;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/**
 * Checks that the known defects of the predecessor of Sluice do not occur, in the order of their
 * discovery, through the same endpoints.
 */
class KnownDefectsIT {
  private static final String JSON = "application/json";
  private static final String BATCH = "application/x-protobuf-batch";
  private static final Duration SOON = Duration.ofSeconds(60);

  private static String log(String app, String message) {
    return "{\"app_id\":\"%s\",\"level\":\"INFO\",\"message\":\"%s\",\"source\":\"s\"}"
        .formatted(app, message);
  }

  private static HttpResponse<String> post(Gateway gateway, String json, String... headers) {
    return gateway.post(gateway.http("/api/logs"), JSON, json.getBytes(UTF_8), headers);
  }

  private static HttpResponse<String> postBatch(Gateway gateway, LogEntry... entries) {
    var batch = LogEntryBatch.newBuilder().addAllEntries(List.of(entries)).build();
    return gateway.post(gateway.http("/api/logs"), BATCH, batch.toByteArray());
  }

  private static JsonNode read(Gateway gateway, String app) {
    var encoded = URLEncoder.encode(app, UTF_8).replace("+", "%20");
    var response = gateway.get(gateway.http("/api/logs/" + encoded));
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return Gateway.json(response).get("data").get("logs");
  }

  private static <T> T grpc(Gateway gateway, Function<LogServiceBlockingStub, T> call) {
    var channel =
        ManagedChannelBuilder.forAddress("127.0.0.1", gateway.grpcPort()).usePlaintext().build();
    try {
      return call.apply(LogServiceGrpc.newBlockingStub(channel));
    } finally {
      channel.shutdownNow();
    }
  }

  private static List<LogEntry> readByGrpc(Gateway gateway, String app) {
    var request = GetLogsByAppIdRequest.newBuilder().setAppId(app).build();
    return grpc(gateway, logs -> logs.getLogsByAppId(request)).getLogsList();
  }

  /** Defect 1: one invalid log failed every request of its batch, although the batch was stored. */
  @Test
  void batching_oneInvalidRequestAmongFiveValidOnes_failsAloneAndFiveAreStored() {
    var gateway = Gateway.shared();
    var app = Gateway.service("defect-1");
    int rounds = 20;

    try (var client = HttpClient.newHttpClient()) {
      for (int round = 0; round < rounds; round++) {
        var answers = new ArrayList<CompletableFuture<HttpResponse<String>>>();
        for (int i = 0; i < 6; i++) {
          var body = i == 3 ? "{\"app_id\":\"" + app + "\"}" : log(app, round + "-" + i);
          answers.add(
              client.sendAsync(
                  Gateway.postRequest(gateway.http("/api/logs"), JSON, body.getBytes(UTF_8)),
                  BodyHandlers.ofString()));
        }
        assertThat(answers)
            .extracting(response -> response.join().statusCode())
            .containsExactly(202, 202, 202, 400, 202, 202);
        assertThat(answers.get(3).join().body()).contains("\"index\":0,\"field\":\"message\"");
      }
    }

    gateway.awaitStored(app, 5 * rounds);
  }

  /** Defect 2: a rejected log left an unreadable entry in the stream that stayed pending. */
  @Test
  void rejectedLog_amongValidOnes_leavesNothingPending() {
    var gateway = Gateway.shared();
    var app = Gateway.service("defect-2");

    var response = post(gateway, "[%s,{},%s]".formatted(log(app, "a"), log(app, "b")));

    assertThat(response.statusCode()).isEqualTo(202);
    gateway.awaitStored(app, 2);
    await()
        .atMost(SOON)
        .until(() -> gateway.bean(DailyCounts.class).recordCounts().inFlight() == 0);
  }

  /** Defect 3: with Redis full, the response was 202 and the log was lost. */
  @Test
  void redisFull_post_is503AndNothingIsCountedAsAccepted() {
    var gateway = Gateway.isolated();
    var app = Gateway.service("defect-3");
    var spool = gateway.bean(Spool.class);
    var counts = gateway.bean(DailyCounts.class);
    var client = RedisClient.create(gateway.redis().url());
    try (var connection = client.connect()) {
      var redis = connection.sync();
      var limit = redis.configGet("maxmemory").get("maxmemory");
      long before = counts.recordCounts().accepted();
      redis.configSet("maxmemory", "1");
      try {
        var response = post(gateway, log(app, "lost"));

        assertThat(response.statusCode()).isEqualTo(503);
        assertThat(response.headers().firstValueAsLong("Retry-After").orElse(0)).isPositive();
        assertThat(Gateway.json(response).get("success").asBoolean()).isFalse();
        assertThat(counts.recordCounts().accepted()).isEqualTo(before);
      } finally {
        redis.configSet("maxmemory", limit);
      }
    } finally {
      client.shutdown();
    }
    await().atMost(SOON).until(() -> post(gateway, log(app, "kept")).statusCode() == 202);
    assertThat(gateway.awaitStored(app, 1).getFirst().get("Body").asString()).isEqualTo("kept");
  }

  /**
   * Defect 4: one message above the limit of the table lost fifteen thousand valid logs of the
   * batch.
   */
  @Test
  void longMessages_among20000_allStoredThatTheOneLimitAllows() {
    var gateway = Gateway.shared();
    var app = Gateway.service("defect-4");
    var rows = new ArrayList<String>();
    for (int i = 0; i < 20_000; i++) {
      rows.add(log(app, "m" + i));
    }
    rows.add(7, log(app, "x".repeat(2_049)));
    rows.add(9_999, log(app, "y".repeat(1 << 20)));
    rows.add(15_000, log(app, "z".repeat((1 << 20) + 1)));

    var response = Gateway.json(post(gateway, rows.toString()));

    assertThat(response.get("stats").get("accepted").asInt()).isEqualTo(20_002);
    assertThat(response.get("errors")).hasSize(1);
    assertThat(response.get("errors").get(0).get("index").asInt()).isEqualTo(15_000);
    await().atMost(SOON).until(() -> gateway.count(app) >= 20_002);
    assertThat(
            gateway
                .rows(
                    """
                    SELECT count() AS n, uniqExact(Body) AS different, max(length(Body)) AS longest
                    FROM otel_logs WHERE ServiceName = '%s'"""
                        .formatted(app))
                .getFirst())
        .isEqualTo(Gateway.json("{\"n\":20002,\"different\":20002,\"longest\":1048576}"));
  }

  /** Defect 5: a query returned an empty object over HTTP and empty entries over gRPC. */
  @Test
  void query_overHttpAndGrpc_returnsFullLogs() {
    var gateway = Gateway.shared();
    var app = Gateway.service("defect-5");
    post(gateway, log(app, "m").replace("}", ",\"metadata\":{\"k\":\"v\"},\"user_id\":\"u\"}"));
    gateway.awaitStored(app, 1);

    var byHttp = read(gateway, app);
    var byGrpc = readByGrpc(gateway, app);

    assertThat(byHttp).hasSize(1);
    assertThat(byHttp.get(0).get("message").asString()).isEqualTo("m");
    assertThat(byHttp.get(0).get("metadata").get("k").asString()).isEqualTo("v");
    assertThat(byGrpc).hasSize(1);
    var log = byGrpc.getFirst();
    assertThat(log.getId()).isEqualTo(byHttp.get(0).get("id").asString()).isNotEmpty();
    assertThat(log.getTimestamp()).isPositive();
    assertThat(log.getLevel()).isEqualTo(LogLevel.INFO);
    assertThat(log.getMessage()).isEqualTo("m");
    assertThat(log.getSource()).isEqualTo("s");
    assertThat(log.getMetadataMap()).containsExactly(Map.entry("k", "v"));
    assertThat(log.getUserId()).isEqualTo("u");
  }

  /** Defect 6: the health check over gRPC always reported unhealthy. */
  @Test
  void healthCheck_storeUpAndDown_reportsWhich() {
    var gateway = Gateway.isolated();

    await().atMost(SOON).until(() -> health(gateway).getHealthy());
    gateway.clickHouse().stop();
    try {
      await().atMost(SOON).until(() -> !health(gateway).getHealthy());
      assertThat(health(gateway).getError()).startsWith("logs cannot be read: ");
    } finally {
      gateway.clickHouse().restart();
    }
    await().atMost(SOON).until(() -> health(gateway).getHealthy());
  }

  private static HealthCheckResponse health(Gateway gateway) {
    return grpc(gateway, logs -> logs.healthCheck(HealthCheckRequest.getDefaultInstance()));
  }

  /** Defect 7: DEBUG is the value zero, which is not sent on the wire, and was stored as INFO. */
  @Test
  void protobufDebug_leftOutOnTheWire_isDebug() {
    var gateway = Gateway.shared();
    var app = Gateway.service("defect-7");
    var debug =
        LogEntry.newBuilder()
            .setAppId(app)
            .setMessage("m")
            .setSource("s")
            .setLevel(LogLevel.DEBUG)
            .build();
    assertThat(debug.toByteArray()).doesNotContain(LogEntry.LEVEL_FIELD_NUMBER << 3);

    postBatch(gateway, debug);

    var row = gateway.awaitStored(app, 1).getFirst();
    assertThat(row.get("SeverityNumber").asInt()).isEqualTo(5);
    assertThat(read(gateway, app).get(0).get("level").asString()).isEqualTo("DEBUG");
    assertThat(readByGrpc(gateway, app).getFirst().getLevel()).isEqualTo(LogLevel.DEBUG);
  }

  /** Defect 8: an app_id with a backslash read the logs of other apps. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "\\' OR 1=1 -- ",
        "' OR '1'='1",
        "') OR (1=1",
        "\\",
        "{tenant:String}",
        "x' UNION ALL SELECT * FROM otel_logs -- ",
      })
  void injection_throughAppId_matchesOnlyThatLiteralName(String attempt) {
    var gateway = Gateway.shared();
    var victim = Gateway.service("defect-8");
    var app = Gateway.service(attempt);
    post(gateway, log(victim, "secret"));
    gateway.awaitStored(victim, 1);

    assertThat(read(gateway, attempt)).isEmpty();
    assertThat(readByGrpc(gateway, attempt)).isEmpty();

    post(gateway, log(app.replace("\\", "\\\\"), "own"));
    await().atMost(SOON).until(() -> !read(gateway, app).isEmpty());
    assertThat(read(gateway, app)).hasSize(1);
    assertThat(readByGrpc(gateway, app)).extracting(LogEntry::getMessage).containsExactly("own");
  }

  /** Defect 9: a search by meaning accepted levels and times but ignored them. */
  @Test
  void search_levelsAndTimes_areHonoured() {
    var gateway = Gateway.shared();
    var app = Gateway.service("defect-9");
    var at = ",\"timestamp\":\"2020-09-13T12:26:%s\"}";
    post(gateway, log(app, "disk is almost full").replace("}", at.formatted("40Z")));
    post(
        gateway,
        log(app, "disk was taken out").replace("INFO", "ERROR").replace("}", at.formatted("50Z")));
    await().atMost(SOON).until(() -> search(gateway, app, "").size() == 2);

    assertThat(search(gateway, app, ",\"level\":[\"INFO\"]"))
        .containsExactly("disk is almost full");
    assertThat(search(gateway, app, ",\"level\":\"ERROR\"")).containsExactly("disk was taken out");
    assertThat(search(gateway, app, ",\"time_range\":{\"start\":\"2020-09-13T12:26:45Z\"}"))
        .containsExactly("disk was taken out");
    assertThat(search(gateway, app, ",\"time_range\":{\"end\":\"2020-09-13T12:26:45Z\"}"))
        .containsExactly("disk is almost full");
  }

  private static List<String> search(Gateway gateway, String app, String filters) {
    var question = "{\"query\":\"disk\",\"app_id\":\"%s\"%s}".formatted(app, filters);
    var response = gateway.post(gateway.http("/api/logs/search"), JSON, question.getBytes(UTF_8));
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return StreamSupport.stream(
            Gateway.json(response).path("data").path("logs").spliterator(), false)
        .map(log -> log.path("message").asString())
        .toList();
  }

  /**
   * Defect 10: the JSON reader found none of the fields, kept escapes, and misread a final
   * backslash.
   */
  @Test
  void jsonAndProtobuf_sameLog_allEightFieldsAreReadAlike() {
    var gateway = Gateway.shared();
    var app = Gateway.service("defect-10");
    var entry =
        LogEntry.newBuilder()
            .setAppId(app)
            .setLevel(LogLevel.ERROR)
            .setMessage("said \"no\" in C:\\")
            .setSource("a\\\"b\\")
            .setEnvironment("\\")
            .putMetadata("path\\", "C:\\dir\\")
            .putMetadata("quote\"", "\"\n\t\u0001é漢😀")
            .setTraceId("\\\"")
            .setUserId("\"u\\\\\"")
            .build();

    postBatch(gateway, entry);
    post(
        gateway,
        """
        { "app_id" : "%s" , "level" : "ERROR" , "message" : "said \\"no\\" in C:\\\\" ,
          "source" : "a\\\\\\"b\\\\" , "environment" : "\\\\" ,
          "metadata" : { "path\\\\" : "C:\\\\dir\\\\" ,
            "quote\\"" : "\\"\\n\\t\\u0001\\u00e9漢\\ud83d\\ude00" } ,
          "trace_id" : "\\\\\\"" , "user_id" : "\\"u\\\\\\\\\\"" }"""
            .formatted(app));

    gateway.awaitStored(app, 2);
    assertThat(readByGrpc(gateway, app))
        .hasSize(2)
        .allSatisfy(
            log -> assertThat(log.toBuilder().clearId().clearTimestamp().build()).isEqualTo(entry));
  }

  /** Defect 11: logs moved from Redis to ClickHouse only after a manual start. */
  @Test
  void application_alone_movesLogsToClickHouse() {
    var gateway = Gateway.shared();
    var app = Gateway.service("defect-11");

    assertThat(post(gateway, log(app, "m")).statusCode()).isEqualTo(202);

    gateway.awaitStored(app, 1);
    await()
        .atMost(SOON)
        .until(() -> gateway.bean(DailyCounts.class).recordCounts().inFlight() == 0);
  }

  /**
   * Defect 12: above a million pending logs the oldest were discarded; 10,000 invalid logs ended
   * the delivery.
   */
  @Test
  void storeDown_overAMillionQueuedWithManyInvalid_noneIsLost() {
    var gateway = Gateway.isolated();
    var app = Gateway.service("defect-12");
    var logs = new StringBuilder("[").append(log(app, "m"));
    for (int i = 1; i < 175_000; i++) {
      logs.append(',').append(log(app, "m"));
    }
    var request = logs.append(']').toString();
    gateway.clickHouse().stop();
    try {
      assertThat(post(gateway, "[" + "{},".repeat(10_000) + "{}]").statusCode()).isEqualTo(400);
      for (int i = 0; i < 6; i++) {
        assertThat(post(gateway, request).statusCode()).isEqualTo(202);
      }
      assertThat(gateway.bean(DailyCounts.class).recordCounts().inFlight()).isEqualTo(6 * 175_000);
    } finally {
      gateway.clickHouse().restart();
    }

    await().atMost(SOON).ignoreExceptions().until(() -> gateway.count(app) >= 6 * 175_000);
    assertThat(gateway.count(app)).isEqualTo(6 * 175_000);
  }

  /** Defect 13: over gRPC, a log without an environment was counted as accepted and as rejected. */
  @Test
  void grpcIngest_withoutEnvironment_isCountedOnceAndProd() {
    var gateway = Gateway.shared();
    var app = Gateway.service("defect-13");
    var input = LogEntryInput.newBuilder().setAppId(app).setLevel("INFO").setMessage("m");

    var response =
        grpc(
            gateway,
            logs ->
                logs.ingestLogs(
                    IngestLogsRequest.newBuilder().addLogs(input.setSource("s")).build()));

    assertThat(response.getSuccess()).isTrue();
    assertThat(response.getAccepted()).isEqualTo(1);
    assertThat(response.getRejected()).isZero();
    gateway.awaitStored(app, 1);
    assertThat(readByGrpc(gateway, app).getFirst().getEnvironment()).isEqualTo("prod");
  }

  /**
   * Defect 14: the response of a rejected request was stored under its key and returned for the
   * corrected request.
   */
  @Test
  void idempotencyKey_rejectedThenCorrected_isAccepted() {
    var gateway = Gateway.shared();
    var app = Gateway.service("defect-14");

    var refused = post(gateway, "{\"app_id\":\"" + app + "\"}", "Idempotency-Key", app);
    var corrected = post(gateway, log(app, "m"), "Idempotency-Key", app);

    assertThat(refused.statusCode()).isEqualTo(400);
    assertThat(corrected.statusCode()).isEqualTo(202);
    gateway.awaitStored(app, 1);
  }

  /** Defect 15: the event time was replaced by the receive time. */
  @Test
  void timestamp_ofTheClient_isTheEventTime() {
    var gateway = Gateway.shared();
    var app = Gateway.service("defect-15");
    long millis = 1_600_000_000_123L;

    post(gateway, log(app, "iso").replace("}", ",\"timestamp\":\"2020-09-13T12:26:40.123Z\"}"));
    post(gateway, log(app, "ms").replace("}", ",\"timestamp\":" + millis + "}"));
    postBatch(
        gateway,
        LogEntry.newBuilder()
            .setAppId(app)
            .setMessage("proto")
            .setSource("s")
            .setTimestamp(millis)
            .build());

    assertThat(gateway.awaitStored(app, 3))
        .allSatisfy(
            row -> {
              assertThat(row.get("Timestamp").asLong()).isEqualTo(millis * 1_000_000);
              assertThat(row.get("ReceivedTimestamp").asLong()).isGreaterThan(millis * 1_000_000);
            });
    assertThat(readByGrpc(gateway, app))
        .extracting(LogEntry::getTimestamp)
        .containsExactly(millis, millis, millis);
  }
}
