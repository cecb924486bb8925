package dev.sluice.api;

import dev.sluice.api.grpc.GrpcIngest;
import dev.sluice.api.grpc.RequestContextInterceptor;
import dev.sluice.api.http.ApiRoutes;
import dev.sluice.api.http.ApiRoutes.IngestDependencies;
import dev.sluice.api.http.ApiRoutes.QueryDependencies;
import dev.sluice.api.http.BlockingQueries;
import dev.sluice.api.protocol.ProtocolRegistration;
import dev.sluice.api.security.AccessControl;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.ingest.AdmissionController;
import dev.sluice.core.ingest.IngestPipeline;
import dev.sluice.core.ingest.IngestService;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.port.DeliveryStatusReader.DeliveryStatus;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.IngestMetrics;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.query.port.LogReader;
import dev.sluice.query.read.ConcurrencyLimitedReader;
import dev.sluice.query.read.TemplateLinkCache;
import dev.sluice.query.read.TemplateReport;
import dev.sluice.query.read.TemplateSummaries;
import dev.sluice.query.search.SemanticSearch;
import dev.sluice.testkit.FakeEmbedder;
import dev.sluice.testkit.InMemoryDictionary;
import dev.sluice.testkit.InMemoryTemplateStats;
import dev.sluice.testkit.InMemoryTemplateVectorStore;
import io.grpc.ServerBuilder;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.springframework.http.server.reactive.ReactorHttpHandlerAdapter;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;

/**
 * The ingest path with a spool of the test, without Spring. The status of the spool is polled once
 * immediately, and again only when the test starts the admission controller. The idempotency store
 * is unavailable.
 *
 * @param ingest the ingest service
 * @param budget the memory limit of all requests together
 * @param admission the admission controller, without a limit of its own
 * @param limits the limits of requests
 * @param meter the metrics of ingest
 */
public record IngestFixture(
    IngestService ingest,
    MemoryBudget budget,
    AdmissionController admission,
    Limits limits,
    IngestMetrics meter) {

  private static final AccessControl ACCESS = AccessControl.off("default");

  public static IngestFixture of(
      Spool spool,
      Limits limits,
      MemoryBudget budget,
      IngestService.BatchLimits batchLimits,
      IngestMetrics meter) {
    var clock = InstantSource.system();
    var admission = new AdmissionController(spool, budget, 0, clock, (_, _) -> {}, () -> 0);
    var _ = admission.start();
    var ingest =
        new IngestService(
            spool,
            _ -> CompletableFuture.completedStage(new DeliveryStatus.Pending()),
            new UnavailableIdempotencyStore(),
            (_, _) -> CompletableFuture.completedStage(List.of()),
            admission,
            limits,
            IngestService.RecordPolicy.ACCEPT_ALL,
            batchLimits,
            Duration.ofSeconds(10),
            clock,
            (_, task) -> task.run(),
            meter);
    return new IngestFixture(ingest, budget, admission, limits, meter);
  }

  public IngestPipeline pipeline(Duration ackTimeout) {
    return new IngestPipeline(
        ingest,
        budget,
        admission,
        limits,
        meter,
        ForkJoinPool.commonPool(),
        IngestFixture::deadline,
        ackTimeout);
  }

  /** Returns the HTTP API of all protocols. */
  public RouterFunction<ServerResponse> routes(
      LogReader logs, Duration requestBodyTimeout, Duration ackTimeout) {
    var queries = queryDependencies(logs);
    var registrations = Registrations.all(queries, budget);
    return ApiRoutes.of(
        ACCESS,
        new IngestDependencies(
            pipeline(ackTimeout), limits, IngestFixture::deadline, requestBodyTimeout),
        registrations.stream().flatMap(each -> each.ingestRoutes().stream()).toList(),
        registrations.stream().flatMap(each -> each.queryRoutes().stream()).toList(),
        queries,
        limits);
  }

  /** Adds the gRPC services of a protocol to a server; without a pipeline only queries. */
  public static void addServices(
      ServerBuilder<?> server,
      ProtocolRegistration registration,
      @Nullable IngestPipeline pipeline) {
    registration
        .grpcServices(pipeline == null ? null : new GrpcIngest(pipeline))
        .forEach(server::addService);
    server.intercept(
        new RequestContextInterceptor(
            ACCESS, registration.grpcAccessRules(), registration.grpcIngestMethods(), pipeline));
  }

  /** Starts an HTTP server on loopback that only answers queries of these logs. */
  static DisposableServer startQueryServer(LogReader logs) {
    var routes =
        ApiRoutes.of(
            AccessControl.off("default"),
            null,
            List.of(),
            List.of(),
            queryDependencies(logs),
            Limits.DEFAULT);
    return HttpServer.create()
        .host("127.0.0.1")
        .port(0)
        .handle(new ReactorHttpHandlerAdapter(RouterFunctions.toHttpHandler(routes)))
        .bindNow();
  }

  /** Returns the query path for these logs, without templates. */
  public static QueryDependencies queryDependencies(LogReader logs) {
    var dictionary = new InMemoryDictionary();
    var templates = new InMemoryTemplateStats(dictionary);
    var links = new TemplateLinkCache(templates, Duration.ZERO, () -> 0);
    var report =
        new TemplateReport(templates, dictionary, links, new ConcurrencyLimitedReader(logs, 1));
    var search =
        new SemanticSearch(
            new InMemoryTemplateVectorStore(dictionary, 2),
            new TemplateSummaries(templates, dictionary, links),
            new ConcurrencyLimitedReader(logs, Integer.MAX_VALUE),
            new FakeEmbedder("concepts", 2, Map.of()),
            new SemanticSearch.SearchResources(ForkJoinPool.commonPool(), 1 << 20),
            () -> 0);
    return new QueryDependencies(
        logs, report, search, new BlockingQueries(), InstantSource.system());
  }

  private static Runnable deadline(Duration timeout, Runnable onTimeout) {
    var due = new CompletableFuture<Void>();
    var _ =
        due.orTimeout(timeout.toNanos(), TimeUnit.NANOSECONDS)
            .exceptionally(
                _ -> {
                  onTimeout.run();
                  return null;
                });
    return () -> due.complete(null);
  }

  private static final class UnavailableIdempotencyStore implements IdempotencyStore {
    @Override
    public CompletionStage<ClaimResult> claim(IdempotencyKey key) {
      return CompletableFuture.completedStage(
          new ClaimResult.Unavailable(Duration.ofSeconds(1), "no idempotency keys in this test"));
    }

    @Override
    public CompletionStage<AppendResult> append(
        LogBatch batch, Claim claim, AppendMode appendMode) {
      return CompletableFuture.completedStage(new AppendResult.ClaimLost());
    }

    @Override
    public CompletionStage<Void> release(Claim claim) {
      return CompletableFuture.completedStage(null);
    }
  }
}
