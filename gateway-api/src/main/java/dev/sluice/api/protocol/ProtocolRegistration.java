package dev.sluice.api.protocol;

import dev.sluice.api.grpc.GrpcIngest;
import dev.sluice.api.http.IngestRoute;
import dev.sluice.api.security.AccessRule;
import io.grpc.BindableService;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.ServerResponse;

/** All that a protocol adds to the gateway. The wiring collects one instance of each protocol. */
public interface ProtocolRegistration {

  /** Returns the HTTP routes that receive logs. */
  default List<IngestRoute> ingestRoutes() {
    return List.of();
  }

  /** Returns the HTTP routes of queries in the format of this protocol. */
  default List<RouterFunction<ServerResponse>> queryRoutes() {
    return List.of();
  }

  /**
   * Returns the gRPC services.
   *
   * @param ingest the ingest path; null in a process without the role ingest, in which methods that
   *     receive logs are not implemented
   */
  default List<BindableService> grpcServices(@Nullable GrpcIngest ingest) {
    return List.of();
  }

  /**
   * Returns the gRPC methods that receive logs, by full name, each with the value of the metric tag
   * {@code protocol}.
   */
  default Map<String, String> grpcIngestMethods() {
    return Map.of();
  }

  /**
   * Returns the access rules of the other gRPC methods, by full name. The {@link
   * #grpcIngestMethods} need the scope ingest; a method in neither is denied.
   */
  default Map<String, AccessRule> grpcAccessRules() {
    return Map.of();
  }

  /**
   * Returns the port of the {@link #ingestRoutes} besides the main port; null when there is none.
   */
  default @Nullable ProtocolPort port() {
    return null;
  }

  /** Returns all values of the metric tag {@code protocol}. */
  default List<String> names() {
    var names = new TreeSet<>(grpcIngestMethods().values());
    ingestRoutes().forEach(route -> names.add(route.protocol()));
    return List.copyOf(names);
  }

  /**
   * A port of a protocol.
   *
   * @param setting the name of its setting, for error messages
   * @param number the port; 0 for any free port, -1 for none
   */
  record ProtocolPort(String setting, int number) {
    /** Returns the name of the server in metrics, such as {@code otlp-http}. */
    public String serverName() {
      return setting.substring(setting.lastIndexOf('.') + 1).replaceFirst("-port$", "");
    }
  }
}
