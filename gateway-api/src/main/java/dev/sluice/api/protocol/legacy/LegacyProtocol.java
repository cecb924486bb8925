package dev.sluice.api.protocol.legacy;

import static org.springframework.web.reactive.function.server.RequestPredicates.path;

import dev.sluice.api.grpc.GrpcIngest;
import dev.sluice.api.http.ApiRoutes;
import dev.sluice.api.http.ApiRoutes.QueryDependencies;
import dev.sluice.api.http.IngestRoute;
import dev.sluice.api.http.RestrictedHandler;
import dev.sluice.api.protocol.ProtocolRegistration;
import dev.sluice.api.security.AccessRule;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.port.Spool;
import io.grpc.BindableService;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpMethod;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerResponse;

/** The predecessor's API: {@code /api/logs} over HTTP, and the gRPC service {@code logs}. */
public final class LegacyProtocol implements ProtocolRegistration {
  private static final String PATH = "/api/logs";

  private final QueryDependencies queries;
  private final MemoryBudget budget;
  private final LegacyHealthCheck health;

  /**
   * @param queries the dependencies of queries
   * @param budget the memory budget of responses with logs
   * @param spool the spool whose state the health check reports
   * @param storeUnavailable the reason why the store is unavailable, empty while it is available;
   *     may block
   * @param version the version of the gateway
   */
  public LegacyProtocol(
      QueryDependencies queries,
      MemoryBudget budget,
      Spool spool,
      Supplier<Optional<String>> storeUnavailable,
      String version,
      InstantSource clock) {
    this.queries = queries;
    this.budget = budget;
    this.health = new LegacyHealthCheck(spool, storeUnavailable, version, clock);
  }

  @Override
  public List<IngestRoute> ingestRoutes() {
    var responses = new LegacyResponseWriter();
    return List.of(
        new IngestRoute(
            PATH,
            List.of("application/json"),
            "legacy-http-json",
            (body, limits, _) -> LegacyLogDecoder.ofJson(body, limits),
            responses),
        new IngestRoute(
            PATH,
            List.of("application/x-protobuf"),
            "legacy-http-protobuf",
            (body, limits, _) -> LegacyLogDecoder.ofProtobuf(body, limits),
            responses),
        new IngestRoute(
            PATH,
            List.of("application/x-protobuf-batch"),
            "legacy-http-protobuf",
            (body, limits, _) -> LegacyLogDecoder.ofProtobufBatch(body, limits),
            responses));
  }

  @Override
  public List<RouterFunction<ServerResponse>> queryRoutes() {
    var search =
        new LegacySearchHandler(queries.search(), queries.reader(), queries.blockingQueries());
    var query = new LegacyQueryHandler(queries.reader(), queries.blockingQueries());
    return List.of(
        RouterFunctions.route()
            .POST(
                "/api/logs/search",
                RestrictedHandler.query(search::post, LegacyResponseWriter::errorResponse))
            .GET(
                "/api/logs/{app_id}",
                RestrictedHandler.query(query::get, LegacyResponseWriter::errorResponse))
            .route(path("/api/logs/search"), ApiRoutes.allowOnly(HttpMethod.GET, HttpMethod.POST))
            .route(path("/api/logs/{app_id}"), ApiRoutes.allowOnly(HttpMethod.GET))
            .build());
  }

  @Override
  public List<BindableService> grpcServices(@Nullable GrpcIngest ingest) {
    return List.of(new LegacyLogsService(ingest, queries.reader(), budget, health));
  }

  @Override
  public Map<String, String> grpcIngestMethods() {
    return Map.of(LegacyLogsService.INGEST.getFullMethodName(), "legacy-grpc");
  }

  @Override
  public Map<String, AccessRule> grpcAccessRules() {
    return Map.of(
        LegacyLogsService.GET.getFullMethodName(), AccessRule.READ,
        LegacyLogsService.HEALTH.getFullMethodName(), AccessRule.PUBLIC);
  }
}
