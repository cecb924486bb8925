package dev.sluice.api.http;

import static org.springframework.web.reactive.function.server.RequestPredicates.path;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.AdmissionController;
import dev.sluice.core.ingest.IngestService;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.port.LogReader;
import dev.sluice.core.port.TimeoutScheduler;
import dev.sluice.core.read.TemplateReport;
import dev.sluice.core.search.SemanticSearch;
import java.time.Duration;
import java.time.InstantSource;
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
   * What takes logs.
   *
   * @param budget what all requests together may hold
   * @param admission who may be taken at all, and when the others should come again
   * @param deadlines where the next two are set
   * @param bodyWithin how long a whole body may take to come
   * @param answerWithin how long a client waits for its logs to be safe before it is told to retry
   */
  public record WayIn(
      IngestService ingest,
      MemoryBudget budget,
      AdmissionController admission,
      TimeoutScheduler deadlines,
      Duration bodyWithin,
      Duration answerWithin) {

    private Intake intake(Limits limits) {
      return new Intake(
          ingest,
          new RequestBody(limits, deadlines, bodyWithin),
          budget,
          admission,
          deadlines,
          answerWithin);
    }
  }

  /**
   * What gives them back.
   *
   * @param clock tells which hour is the last one
   */
  public record WayBack(
      LogReader reader, TemplateReport templates, SemanticSearch search, InstantSource clock) {}

  /**
   * @param wayIn null when this process does not take logs
   */
  public static RouterFunction<ServerResponse> of(
      @Nullable WayIn wayIn, WayBack wayBack, Limits limits) {
    var routes = RouterFunctions.route();
    var reader = wayBack.reader();
    var reads = new Reads();
    var queries = new QueryHandler(reader, reads);
    var histograms = new HistogramHandler(reader, reads);
    var templates = new TemplatesHandler(wayBack, reads);
    if (wayIn != null) {
      var intake = wayIn.intake(limits);
      var natively = new NativeLogsHandler(intake, limits);
      var otlp = new OtlpLogsHandler(intake, limits);
      routes.POST("/v1/logs", otlp::post).route(path("/v1/logs"), only(HttpMethod.POST));
      routes.POST("/api/v1/logs", natively::post);
      routes
          .POST("/v1/ingest/wal-frames", new WalFramesHandler(intake, limits)::post)
          .route(path("/v1/ingest/wal-frames"), only(HttpMethod.POST));
      routes
          .POST("/api/logs", new AppLogsHandler(intake, limits)::post)
          .route(path("/api/logs"), only(HttpMethod.POST));
    }
    return routes
        .GET("/api/v1/logs", queries::get)
        .route(path("/api/v1/logs"), only(HttpMethod.GET, HttpMethod.POST))
        .POST("/api/v1/logs/search", new SearchHandler(wayBack.search(), reads)::post)
        .route(path("/api/v1/logs/search"), only(HttpMethod.POST))
        .GET("/api/v1/logs/histogram", histograms::get)
        .route(path("/api/v1/logs/histogram"), only(HttpMethod.GET))
        .GET("/api/v1/templates", templates::list)
        .route(path("/api/v1/templates"), only(HttpMethod.GET))
        .GET("/api/v1/templates/{id}", templates::get)
        .route(path("/api/v1/templates/{id}"), only(HttpMethod.GET))
        .GET("/api/v1/templates/{id}/logs", templates::logs)
        .route(path("/api/v1/templates/{id}/logs"), only(HttpMethod.GET))
        .add(Problem.pages())
        .POST("/api/logs/search", new AppSearchHandler(wayBack.search(), reader, reads)::post)
        .GET("/api/logs/{app_id}", new AppQueryHandler(reader, reads)::get)
        .route(path("/api/logs/search"), only(HttpMethod.GET, HttpMethod.POST))
        .route(path("/api/logs/{app_id}"), only(HttpMethod.GET))
        .add(new ApiDescription(limits).routes())
        .route(path("/**"), LogsRoutes::notFound)
        .filter(EarlyAnswer::filter)
        .build();
  }

  /** OTLP alone, for its own port. */
  public static RouterFunction<ServerResponse> otlp(WayIn wayIn, Limits limits) {
    var intake = wayIn.intake(limits);
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
