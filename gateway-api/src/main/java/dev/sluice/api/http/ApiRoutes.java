package dev.sluice.api.http;

import static org.springframework.web.reactive.function.server.RequestPredicates.path;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.AdmissionController;
import dev.sluice.core.ingest.IngestService;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.port.TimeoutScheduler;
import dev.sluice.query.port.LogReader;
import dev.sluice.query.read.TemplateReport;
import dev.sluice.query.search.SemanticSearch;
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

/** The routes of the HTTP API: all paths with their handlers. */
public final class ApiRoutes {
  private ApiRoutes() {}

  /**
   * The dependencies of ingest.
   *
   * @param ingest the ingest service
   * @param budget the memory budget of all requests together
   * @param admission the admission control, which also sets the Retry-After of rejected requests
   * @param timeoutScheduler the scheduler of the two timeouts
   * @param requestBodyTimeout maximum time from the start to the end of a request body
   * @param ackTimeout maximum time until the append completes; then the response is 503 with
   *     Retry-After
   */
  public record IngestDependencies(
      IngestService ingest,
      MemoryBudget budget,
      AdmissionController admission,
      TimeoutScheduler timeoutScheduler,
      Duration requestBodyTimeout,
      Duration ackTimeout) {

    private HttpIngestPipeline pipeline(Limits limits) {
      return new HttpIngestPipeline(
          ingest,
          new RequestBodyReader(limits, timeoutScheduler, requestBodyTimeout),
          budget,
          admission,
          timeoutScheduler,
          ackTimeout);
    }
  }

  /**
   * The dependencies of queries.
   *
   * @param reader the reader of stored logs
   * @param templates the template report
   * @param search the semantic search
   * @param clock the clock of default time ranges, such as the last hour
   */
  public record QueryDependencies(
      LogReader reader, TemplateReport templates, SemanticSearch search, InstantSource clock) {}

  /**
   * Returns all routes.
   *
   * @param ingestDependencies the dependencies of ingest; null in a process without the role ingest
   */
  public static RouterFunction<ServerResponse> of(
      @Nullable IngestDependencies ingestDependencies,
      QueryDependencies queryDependencies,
      Limits limits) {
    var routes = RouterFunctions.route();
    var reader = queryDependencies.reader();
    var blockingQueries = new BlockingQueries();
    var queries = new QueryHandler(reader, blockingQueries);
    var histograms = new HistogramHandler(reader, blockingQueries);
    var templates = new TemplatesHandler(queryDependencies, blockingQueries);
    if (ingestDependencies != null) {
      var pipeline = ingestDependencies.pipeline(limits);
      var nativeLogs = new NativeLogsHandler(pipeline, limits);
      var otlp = new OtlpLogsHandler(pipeline, limits);
      routes.POST("/v1/logs", otlp::post).route(path("/v1/logs"), allowOnly(HttpMethod.POST));
      routes.POST("/api/v1/logs", nativeLogs::post);
      routes
          .POST("/v1/ingest/wal-frames", new WalFramesHandler(pipeline, limits)::post)
          .route(path("/v1/ingest/wal-frames"), allowOnly(HttpMethod.POST));
      routes
          .POST("/api/logs", new LegacyLogsHandler(pipeline, limits)::post)
          .route(path("/api/logs"), allowOnly(HttpMethod.POST));
    }
    return routes
        .GET("/api/v1/logs", queries::get)
        .route(path("/api/v1/logs"), allowOnly(HttpMethod.GET, HttpMethod.POST))
        .POST(
            "/api/v1/logs/search",
            new SearchHandler(queryDependencies.search(), blockingQueries)::post)
        .route(path("/api/v1/logs/search"), allowOnly(HttpMethod.POST))
        .GET("/api/v1/logs/histogram", histograms::get)
        .route(path("/api/v1/logs/histogram"), allowOnly(HttpMethod.GET))
        .GET("/api/v1/templates", templates::list)
        .route(path("/api/v1/templates"), allowOnly(HttpMethod.GET))
        .GET("/api/v1/templates/{id}", templates::get)
        .route(path("/api/v1/templates/{id}"), allowOnly(HttpMethod.GET))
        .GET("/api/v1/templates/{id}/logs", templates::logs)
        .route(path("/api/v1/templates/{id}/logs"), allowOnly(HttpMethod.GET))
        .add(Problem.pages())
        .POST(
            "/api/logs/search",
            new LegacySearchHandler(queryDependencies.search(), reader, blockingQueries)::post)
        .GET("/api/logs/{app_id}", new LegacyQueryHandler(reader, blockingQueries)::get)
        .route(path("/api/logs/search"), allowOnly(HttpMethod.GET, HttpMethod.POST))
        .route(path("/api/logs/{app_id}"), allowOnly(HttpMethod.GET))
        .add(new OpenApiRoutes(limits).routes())
        .route(path("/**"), ApiRoutes::notFound)
        .filter(LingeringClose::filter)
        .build();
  }

  /** Returns the routes of the OTLP/HTTP port, which are those of OTLP alone. */
  public static RouterFunction<ServerResponse> otlp(
      IngestDependencies ingestDependencies, Limits limits) {
    var pipeline = ingestDependencies.pipeline(limits);
    return RouterFunctions.route()
        .POST("/v1/logs", new OtlpLogsHandler(pipeline, limits)::post)
        .route(path("/v1/logs"), allowOnly(HttpMethod.POST))
        .route(path("/**"), ApiRoutes::notFound)
        .filter(LingeringClose::filter)
        .build();
  }

  private static HandlerFunction<ServerResponse> allowOnly(HttpMethod... methods) {
    var allow = Arrays.stream(methods).map(HttpMethod::name).collect(Collectors.joining(", "));
    return _ -> Problem.methodNotAllowed(allow);
  }

  private static Mono<ServerResponse> notFound(ServerRequest unused) {
    return Problem.of(ProblemType.NOT_FOUND, "no resource has this path");
  }
}
