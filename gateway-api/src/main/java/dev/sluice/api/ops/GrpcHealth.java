package dev.sluice.api.ops;

import java.util.Set;
import org.springframework.boot.grpc.server.health.HealthCheckedGrpcComponent;
import org.springframework.boot.grpc.server.health.HealthCheckedGrpcComponents;
import org.springframework.boot.grpc.server.health.StatusAggregator;
import org.springframework.boot.grpc.server.health.StatusMapper;

/**
 * The components of {@code grpc.health.v1.Health}: the server and each service report readiness.
 * Spring's default for the server is NOT_SERVING when any component is down, including ClickHouse,
 * without which ingest continues.
 */
public final class GrpcHealth implements HealthCheckedGrpcComponents {
  private static final Set<String> READINESS = Set.of("readinessState", "spool", "delivery");

  private final Set<String> services;
  private final HealthCheckedGrpcComponent readiness;

  /**
   * @param services the full names of the gRPC services
   */
  public GrpcHealth(Set<String> services, StatusAggregator aggregator, StatusMapper mapper) {
    this.services = Set.copyOf(services);
    this.readiness = new Readiness(aggregator, mapper);
  }

  @Override
  public HealthCheckedGrpcComponent getServer() {
    return readiness;
  }

  @Override
  public Set<String> getServiceNames() {
    return services;
  }

  @Override
  public HealthCheckedGrpcComponent getService(String serviceName) {
    return readiness;
  }

  private record Readiness(StatusAggregator aggregator, StatusMapper mapper)
      implements HealthCheckedGrpcComponent {
    @Override
    public boolean isMember(String healthContributorName) {
      return READINESS.contains(healthContributorName);
    }

    @Override
    public StatusAggregator getStatusAggregator() {
      return aggregator;
    }

    @Override
    public StatusMapper getStatusMapper() {
      return mapper;
    }
  }
}
