package dev.sluice.api.http;

import static org.springframework.web.reactive.function.server.RequestPredicates.path;

import dev.sluice.api.security.AccessControl;
import dev.sluice.api.security.AccessRule;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.IngestPipeline;
import dev.sluice.core.port.TimeoutScheduler;
import dev.sluice.query.port.LogReader;
import dev.sluice.query.read.TemplateReport;
import dev.sluice.query.search.SemanticSearch;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
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
   * @param pipeline the ingest path of all protocols
   * @param limits the limits of requests
   * @param timeoutScheduler the scheduler of {@code requestBodyTimeout}
   * @param requestBodyTimeout maximum time from the start to the end of a request body
   */
  public record IngestDependencies(
      IngestPipeline pipeline,
      Limits limits,
      TimeoutScheduler timeoutScheduler,
      Duration requestBodyTimeout) {}

  /**
   * The dependencies of queries.
   *
   * @param reader the reader of stored logs
   * @param templates the template report
   * @param search the semantic search
   * @param blockingQueries the executor of all queries
   * @param clock the clock of default time ranges, such as the last hour
   */
  public record QueryDependencies(
      LogReader reader,
      TemplateReport templates,
      SemanticSearch search,
      BlockingQueries blockingQueries,
      InstantSource clock) {}

  /**
   * Returns all routes.
   *
   * @param access decides about each request
   * @param ingestDependencies the dependencies of ingest; null in a process without the role ingest
   * @param ingestRoutes the ingest routes of all protocols
   * @param protocolQueries the query routes that belong to a protocol
   */
  public static RouterFunction<ServerResponse> of(
      AccessControl access,
      @Nullable IngestDependencies ingestDependencies,
      List<IngestRoute> ingestRoutes,
      List<RouterFunction<ServerResponse>> protocolQueries,
      QueryDependencies queryDependencies,
      Limits limits) {
    var blockingQueries = queryDependencies.blockingQueries();
    var queries = new QueryHandler(queryDependencies.reader(), blockingQueries);
    var histograms = new HistogramHandler(queryDependencies.reader(), blockingQueries);
    var templates = new TemplatesHandler(queryDependencies, blockingQueries);
    var queryRoutes =
        RouterFunctions.route()
            .GET("/api/v1/logs", RestrictedHandler.query(queries::get))
            .route(path("/api/v1/logs"), allowOnly(HttpMethod.GET, HttpMethod.POST))
            .POST(
                "/api/v1/logs/search",
                RestrictedHandler.query(
                    new SearchHandler(queryDependencies.search(), blockingQueries)::post))
            .route(path("/api/v1/logs/search"), allowOnly(HttpMethod.POST))
            .GET("/api/v1/logs/histogram", RestrictedHandler.query(histograms::get))
            .route(path("/api/v1/logs/histogram"), allowOnly(HttpMethod.GET))
            .GET("/api/v1/templates", RestrictedHandler.query(templates::list))
            .route(path("/api/v1/templates"), allowOnly(HttpMethod.GET))
            .GET("/api/v1/templates/{id}", RestrictedHandler.query(templates::get))
            .route(path("/api/v1/templates/{id}"), allowOnly(HttpMethod.GET))
            .GET("/api/v1/templates/{id}/logs", RestrictedHandler.query(templates::logs))
            .route(path("/api/v1/templates/{id}/logs"), allowOnly(HttpMethod.GET));
    protocolQueries.forEach(queryRoutes::add);
    var routes = RouterFunctions.route();
    if (ingestDependencies != null) {
      addIngest(routes, ingestDependencies, ingestRoutes);
    }
    routes.add(queryRoutes.build());
    if (ingestDependencies != null) {
      addOtherMethods(routes, ingestRoutes);
    }
    return routes
        .add(Problem.pages())
        .add(new OpenApiRoutes(limits).routes())
        .route(path("/**"), RestrictedHandler.page(ApiRoutes::notFound))
        .filter(LingeringClose::filter)
        .filter(new RequestContextFilter(access)::filter)
        .build();
  }

  /**
   * Returns the routes of a port that receives logs only.
   *
   * @param access decides about each request
   */
  public static RouterFunction<ServerResponse> ingestOnly(
      AccessControl access, IngestDependencies ingestDependencies, List<IngestRoute> ingestRoutes) {
    var routes = RouterFunctions.route();
    addIngest(routes, ingestDependencies, ingestRoutes);
    addOtherMethods(routes, ingestRoutes);
    return routes
        .route(path("/**"), RestrictedHandler.page(ApiRoutes::notFound))
        .filter(LingeringClose::filter)
        .filter(new RequestContextFilter(access)::filter)
        .build();
  }

  private static void addIngest(
      RouterFunctions.Builder routes,
      IngestDependencies dependencies,
      List<IngestRoute> ingestRoutes) {
    var bodyReader =
        new RequestBodyReader(
            dependencies.limits(),
            dependencies.timeoutScheduler(),
            dependencies.requestBodyTimeout());
    ingestRoutes.stream()
        .collect(Collectors.groupingBy(IngestRoute::path, LinkedHashMap::new, Collectors.toList()))
        .forEach(
            (path, routesOfPath) -> {
              var handler = new IngestHandler(routesOfPath, dependencies.pipeline(), bodyReader);
              routes.POST(
                  path, new RestrictedHandler(AccessRule.INGEST, handler::post, handler::deny));
            });
  }

  /** Adds the responses to other methods than POST, unless a query has the same path. */
  private static void addOtherMethods(
      RouterFunctions.Builder routes, List<IngestRoute> ingestRoutes) {
    ingestRoutes.stream()
        .map(IngestRoute::path)
        .distinct()
        .forEach(path -> routes.route(path(path), allowOnly(HttpMethod.POST)));
  }

  /** Returns the response 405 to other methods than these. */
  public static HandlerFunction<ServerResponse> allowOnly(HttpMethod... methods) {
    var allow = Arrays.stream(methods).map(HttpMethod::name).collect(Collectors.joining(", "));
    return RestrictedHandler.page(_ -> Problem.methodNotAllowed(allow));
  }

  private static Mono<ServerResponse> notFound(ServerRequest unused) {
    return Problem.of(ProblemType.NOT_FOUND, "no resource has this path");
  }
}
