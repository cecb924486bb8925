package dev.sluice.bench.stages;

import dev.sluice.engines.EmbeddedClickHouse;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import reactor.core.publisher.Mono;
import reactor.netty.http.server.HttpServer;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;
import tools.jackson.core.JacksonException;

/**
 * A server for one of the stages before the gateway, with the gateway's HTTP library. Its arguments
 * are {@code --port}, {@code --stage}, from 1 to 5, and the settings by which a gateway finds its
 * engines.
 *
 * <p>It responds 202 when the stage completes the request, 400 to a body that is no log, and 503 to
 * all other failures.
 */
public final class StageServer {
  private static final String TABLE = "otel_logs";
  private static final String BUFFER_TABLE = "bench_gathered";
  private static final int CONSUMERS = 4;

  private final RowWriter writer = new RowWriter();
  private final StagePipeline pipeline;

  private StageServer(StagePipeline pipeline) {
    this.pipeline = pipeline;
  }

  public static void main(String[] arguments) {
    var settings = settings(arguments);
    var server = new StageServer(createPipeline(settings));
    HttpServer.create()
        .host("127.0.0.1")
        .port(Integer.parseInt(setting(settings, "port")))
        .route(
            routes ->
                routes
                    .get("/ready", (_, response) -> response.sendString(Mono.just("ready")))
                    .post("/api/v1/logs", server::handle))
        .bindNow()
        .onDispose()
        .block();
  }

  /** Parses arguments of the form {@code --name=value}. */
  static Map<String, String> settings(String... arguments) {
    return Arrays.stream(arguments)
        .map(each -> each.substring("--".length()).split("=", 2))
        .collect(Collectors.toMap(each -> each[0], each -> each[1]));
  }

  private static String setting(Map<String, String> settings, String name) {
    return Objects.requireNonNull(settings.get(name), name);
  }

  private static StagePipeline createPipeline(Map<String, String> settings) {
    return switch (setting(settings, "stage")) {
      case "1" -> inserts(settings)::insert;
      case "2" -> new FireAndForget(bufferedInserts(settings));
      case "3" -> new CoalescedInserts(inserts(settings));
      case "4" -> redisStream(settings).startConsumers(1, Thread.ofPlatform().factory());
      case "5" -> redisStream(settings).startConsumers(CONSUMERS, Thread.ofVirtual().factory());
      default ->
          throw new IllegalArgumentException(
              "no baseline server for stage " + settings.get("stage"));
    };
  }

  /**
   * Returns a client for asynchronous inserts. The embedded ClickHouse has no queue for them: it
   * accepts the settings and makes each insert immediately. So a {@code Buffer} table replaces the
   * queue, with the default size of that queue in bytes and a delay of one second, the shortest
   * possible.
   */
  private static InsertClient bufferedInserts(Map<String, String> settings) {
    var insertClient =
        inserts(settings, BUFFER_TABLE, "async_insert = 1", "wait_for_async_insert = 0");
    insertClient.command(
        """
        CREATE TABLE IF NOT EXISTS %s AS %s
        ENGINE = Buffer(currentDatabase(), '%s', 1, 1, 1, 1, 1000000, 1, 10485760)"""
            .formatted(BUFFER_TABLE, TABLE, TABLE));
    return insertClient;
  }

  private static InsertClient inserts(Map<String, String> settings) {
    return inserts(settings, TABLE);
  }

  private static InsertClient inserts(
      Map<String, String> settings, String table, String... clickHouseSettings) {
    return new InsertClient(
        setting(settings, "sluice.clickhouse.url"),
        EmbeddedClickHouse.ADMINISTRATOR, // the table engine Buffer is not one of the gateway
        setting(settings, "sluice.clickhouse.password"),
        table,
        clickHouseSettings);
  }

  private static RedisStreamPipeline redisStream(Map<String, String> settings) {
    return new RedisStreamPipeline(setting(settings, "sluice.redis.url"), inserts(settings));
  }

  private Mono<Void> handle(HttpServerRequest request, HttpServerResponse response) {
    return request
        .receive()
        .aggregate()
        .asByteArray()
        .flatMap(
            body -> {
              var rows = writer.rows(body);
              return Mono.fromCompletionStage(pipeline.submit(rows))
                  .thenReturn("{\"accepted\":%d}".formatted(rows.logs()));
            })
        .flatMap(json -> respond(response, 202, json))
        .onErrorResume(JacksonException.class, _ -> respond(response, 400, "not a log"))
        .onErrorResume(failed -> respond(response, 503, failed.toString()));
  }

  private static Mono<Void> respond(HttpServerResponse response, int status, String text) {
    return response.status(status).sendString(Mono.just(text)).then();
  }
}
