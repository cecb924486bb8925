package dev.sluice.api.protocol.protobuf;

import dev.sluice.api.grpc.GrpcIngest;
import dev.sluice.api.http.IngestRoute;
import dev.sluice.api.http.NativeResponseWriter;
import dev.sluice.api.protocol.ProtocolRegistration;
import dev.sluice.api.security.AccessRule;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.query.port.LogReader;
import dev.sluice.query.search.SemanticSearch;
import io.grpc.BindableService;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The messages of {@code sluice.v1}: logs over HTTP, and logs, queries and searches over gRPC. */
public final class ProtobufProtocol implements ProtocolRegistration {
  private static final String GRPC = "grpc";

  private final LogReader reader;
  private final SemanticSearch search;
  private final MemoryBudget budget;

  /**
   * @param reader the reader of stored logs
   * @param search the semantic search
   * @param budget the memory budget of responses with logs
   */
  public ProtobufProtocol(LogReader reader, SemanticSearch search, MemoryBudget budget) {
    this.reader = reader;
    this.search = search;
    this.budget = budget;
  }

  @Override
  public List<IngestRoute> ingestRoutes() {
    return List.of(
        new IngestRoute(
            "/api/v1/logs",
            List.of("application/x-protobuf", "application/protobuf"),
            "http-protobuf",
            (body, limits, _) -> NativeProtobufDecoder.ofRequest(body, limits),
            new NativeResponseWriter()));
  }

  @Override
  public List<BindableService> grpcServices(@Nullable GrpcIngest ingest) {
    return List.of(new NativeLogsService(ingest, reader, search, budget));
  }

  @Override
  public Map<String, String> grpcIngestMethods() {
    return Map.of(
        NativeLogsService.INGEST.getFullMethodName(), GRPC,
        NativeLogsService.INGEST_STREAM.getFullMethodName(), GRPC);
  }

  @Override
  public Map<String, AccessRule> grpcAccessRules() {
    return Map.of(
        NativeLogsService.QUERY.getFullMethodName(), AccessRule.READ,
        NativeLogsService.SEARCH.getFullMethodName(), AccessRule.READ);
  }
}
