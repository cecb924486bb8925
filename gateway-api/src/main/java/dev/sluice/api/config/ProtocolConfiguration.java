package dev.sluice.api.config;

import dev.sluice.api.config.ProtocolServers.ProtocolServer;
import dev.sluice.api.config.RoleCondition.IngestRole;
import dev.sluice.api.grpc.GrpcIngest;
import dev.sluice.api.grpc.RequestContextInterceptor;
import dev.sluice.api.http.ApiRoutes;
import dev.sluice.api.http.ApiRoutes.IngestDependencies;
import dev.sluice.api.http.ApiRoutes.QueryDependencies;
import dev.sluice.api.http.BlockingQueries;
import dev.sluice.api.http.RequestGuard;
import dev.sluice.api.ops.GrpcHealth;
import dev.sluice.api.ops.MicrometerMetrics;
import dev.sluice.api.protocol.ProtocolRegistration;
import dev.sluice.api.protocol.ProtocolRegistration.ProtocolPort;
import dev.sluice.api.protocol.frames.FramesProtocol;
import dev.sluice.api.protocol.json.JsonProtocol;
import dev.sluice.api.protocol.legacy.LegacyProtocol;
import dev.sluice.api.protocol.otlp.OtlpProtocol;
import dev.sluice.api.protocol.protobuf.ProtobufProtocol;
import dev.sluice.api.security.AccessControl;
import dev.sluice.api.security.AccessRule;
import dev.sluice.clickhouse.ClickHouseDatabase;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.AdmissionController;
import dev.sluice.core.ingest.IngestPipeline;
import dev.sluice.core.ingest.IngestService;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.TimeoutScheduler;
import dev.sluice.query.read.ConcurrencyLimitedReader;
import dev.sluice.query.read.TemplateReport;
import dev.sluice.query.search.SemanticSearch;
import io.grpc.BindableService;
import io.grpc.ServerInterceptor;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.protobuf.services.ProtoReflectionServiceV1;
import io.grpc.reflection.v1.ServerReflectionGrpc;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.grpc.server.health.StatusAggregator;
import org.springframework.boot.grpc.server.health.StatusMapper;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.grpc.server.GlobalServerInterceptor;
import org.springframework.grpc.server.service.GrpcServiceDiscoverer;
import org.springframework.grpc.server.service.GrpcServiceSpec;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.ServerResponse;

/** The wiring of the protocols: their registrations, the HTTP router and the gRPC services. */
@Configuration(proxyBeanMethods = false)
class ProtocolConfiguration {
  /** All protocols. Where several share an HTTP path, error messages list them in this order. */
  @Bean
  List<ProtocolRegistration> protocols(
      QueryDependencies queries,
      MemoryBudget budget,
      Spool spool,
      ClickHouseDatabase database,
      InstantSource clock,
      IngestProperties ingest) {
    var version = GatewayApplication.class.getPackage().getImplementationVersion();
    return List.of(
        new OtlpProtocol(new ProtocolPort("sluice.ingest.otlp-http-port", ingest.otlpHttpPort())),
        new JsonProtocol(),
        new ProtobufProtocol(queries.reader(), queries.search(), budget),
        new FramesProtocol(),
        new LegacyProtocol(
            queries,
            budget,
            spool,
            database::unavailableReason,
            version == null ? "unknown" : version,
            clock));
  }

  @Bean
  QueryDependencies queryDependencies(
      ConcurrencyLimitedReader reader,
      TemplateReport report,
      SemanticSearch search,
      InstantSource clock) {
    return new QueryDependencies(reader, report, search, new BlockingQueries(), clock);
  }

  @Bean
  @Conditional(IngestRole.class)
  IngestPipeline ingestPipeline(
      IngestService ingest,
      MemoryBudget budget,
      AdmissionController admission,
      Limits limits,
      MicrometerMetrics metrics,
      @Qualifier("decodeExecutor") ExecutorService decodeExecutor,
      TimeoutScheduler timeoutScheduler,
      IngestProperties properties) {
    return new IngestPipeline(
        ingest,
        budget,
        admission,
        limits,
        metrics,
        decodeExecutor,
        timeoutScheduler,
        properties.ackTimeout());
  }

  @Bean
  @Conditional(IngestRole.class)
  IngestDependencies ingestDependencies(
      IngestPipeline pipeline,
      Limits limits,
      TimeoutScheduler timeoutScheduler,
      IngestProperties properties) {
    return new IngestDependencies(
        pipeline, limits, timeoutScheduler, properties.requestBodyTimeout());
  }

  @Bean
  RouterFunction<ServerResponse> routes(
      ObjectProvider<IngestDependencies> ingestDependencies,
      @Qualifier("protocols") List<ProtocolRegistration> protocols,
      QueryDependencies queryDependencies,
      RequestGuard guard,
      AccessControl access,
      Limits limits) {
    return ApiRoutes.of(
            access,
            ingestDependencies.getIfAvailable(),
            protocols.stream().flatMap(protocol -> protocol.ingestRoutes().stream()).toList(),
            protocols.stream().flatMap(protocol -> protocol.queryRoutes().stream()).toList(),
            queryDependencies,
            limits)
        .filter(guard::filter);
  }

  @Bean
  @Conditional(IngestRole.class)
  ProtocolServers protocolServers(
      IngestDependencies ingestDependencies,
      @Qualifier("protocols") List<ProtocolRegistration> protocols,
      RequestGuard guard,
      AccessControl access,
      BeanFactory beans) {
    return new ProtocolServers(
        beans,
        protocols.stream()
            .flatMap(
                protocol ->
                    Stream.ofNullable(protocol.port())
                        .map(
                            port ->
                                new ProtocolServer(
                                    port,
                                    ApiRoutes.ingestOnly(
                                            access, ingestDependencies, protocol.ingestRoutes())
                                        .filter(guard::filter))))
            .toList());
  }

  /** The reflection service; Boot starts a gRPC server only when a service is a bean. */
  @Bean
  BindableService grpcReflection() {
    return ProtoReflectionServiceV1.newInstance();
  }

  /** The services that are beans, and those of the protocols. */
  @Bean
  GrpcServiceDiscoverer grpcServices(
      List<BindableService> services,
      ObjectProvider<IngestPipeline> pipeline,
      @Qualifier("protocols") List<ProtocolRegistration> protocols) {
    var ingestPipeline = pipeline.getIfAvailable();
    var ingest = ingestPipeline == null ? null : new GrpcIngest(ingestPipeline);
    var specs =
        Stream.concat(
                services.stream(),
                protocols.stream().flatMap(protocol -> protocol.grpcServices(ingest).stream()))
            .map(service -> new GrpcServiceSpec(service, null))
            .toList();
    return new ProtocolServices(specs);
  }

  private record ProtocolServices(List<GrpcServiceSpec> findServices)
      implements GrpcServiceDiscoverer {
    @Override
    public List<String> listServiceNames() {
      return findServices.stream()
          .map(spec -> spec.service().bindService().getServiceDescriptor().getName())
          .toList();
    }
  }

  @Bean
  @GlobalServerInterceptor
  ServerInterceptor requestContextInterceptor(
      AccessControl access,
      ObjectProvider<IngestPipeline> pipeline,
      @Qualifier("protocols") List<ProtocolRegistration> protocols) {
    var ingestMethods = new HashMap<String, String>();
    protocols.forEach(protocol -> ingestMethods.putAll(protocol.grpcIngestMethods()));
    var rules = new HashMap<String, AccessRule>();
    rules.put(HealthGrpc.getCheckMethod().getFullMethodName(), AccessRule.PUBLIC);
    rules.put(HealthGrpc.getWatchMethod().getFullMethodName(), AccessRule.PUBLIC);
    rules.put(
        ServerReflectionGrpc.getServerReflectionInfoMethod().getFullMethodName(),
        AccessRule.AUTHENTICATED);
    protocols.forEach(protocol -> rules.putAll(protocol.grpcAccessRules()));
    return new RequestContextInterceptor(access, rules, ingestMethods, pipeline.getIfAvailable());
  }

  @Bean
  GrpcHealth grpcHealth(
      GrpcServiceDiscoverer services, StatusAggregator aggregator, StatusMapper mapper) {
    var names =
        services.listServiceNames().stream()
            .filter(name -> !name.startsWith("grpc."))
            .collect(Collectors.toSet());
    return new GrpcHealth(names, aggregator, mapper);
  }
}
