package dev.sluice.api.http;

import static org.springframework.web.reactive.function.server.RequestPredicates.path;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.IngestLogs;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.port.LogReader;
import java.time.Duration;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpMethod;
import org.springframework.web.reactive.function.server.HandlerFunction;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;

/** All paths of the HTTP surface, and which handler answers them. */
public final class LogsRoutes {
  private LogsRoutes() {}

  /**
   * @param ingest the way in; null when this process does not take logs
   * @param reader the way back
   * @param answerWithin how long a client waits for its logs to be safe before it is told to retry
   */
  public static RouterFunction<ServerResponse> of(
      @Nullable IngestLogs ingest,
      LogReader reader,
      Limits limits,
      MemoryBudget budget,
      Duration answerWithin) {
    var routes = RouterFunctions.route();
    var reads = new Reads();
    var queries = new QueryHandler(reader, reads);
    var histograms = new HistogramHandler(reader, reads);
    if (ingest != null) {
      var intake = new Intake(ingest, new RequestBody(limits), budget, answerWithin);
      var natively = new NativeLogsHandler(intake, limits);
      var otlp = new OtlpLogsHandler(intake, limits);
      routes.POST("/v1/logs", otlp::post).route(path("/v1/logs"), only(HttpMethod.POST));
      routes.POST("/api/v1/logs", natively::post);
      routes
          .POST("/api/logs", new AppLogsHandler(intake, limits)::post)
          .route(path("/api/logs"), only(HttpMethod.POST));
    }
    return routes
        .GET("/api/v1/logs", queries::get)
        .route(path("/api/v1/logs"), only(HttpMethod.GET, HttpMethod.POST))
        .GET("/api/v1/logs/histogram", histograms::get)
        .route(path("/api/v1/logs/histogram"), only(HttpMethod.GET))
        .add(Problem.pages())
        .GET("/api/logs/{app_id}", new AppQueryHandler(reader, reads)::get)
        .route(path("/api/logs/{app_id}"), only(HttpMethod.GET))
        .add(new ApiDescription(limits).routes())
        .route(path("/**"), LogsRoutes::notFound)
        .filter(EarlyAnswer::filter)
        .build();
  }

  /** OTLP alone, for its own port. */
  public static RouterFunction<ServerResponse> otlp(
      IngestLogs ingest, Limits limits, MemoryBudget budget, Duration answerWithin) {
    var intake = new Intake(ingest, new RequestBody(limits), budget, answerWithin);
    return RouterFunctions.route()
        .POST("/v1/logs", new OtlpLogsHandler(intake, limits)::post)
        .route(path("/v1/logs"), only(HttpMethod.POST))
        .route(path("/**"), LogsRoutes::notFound)
        .filter(EarlyAnswer::filter)
        .build();
  }

  private static HandlerFunction<ServerResponse> only(HttpMethod... methods) {
    var allow = Arrays.stream(methods).map(HttpMethod::name).collect(Collectors.joining(", "));
    return _ -> Problem.methodNotAllowed(allow);
  }

  private static Mono<ServerResponse> notFound(ServerRequest unused) {
    return Problem.of(ProblemType.NOT_FOUND, "nothing is here");
  }
}
