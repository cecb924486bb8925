package dev.sluice.api.protocol.legacy;

import dev.sluice.api.grpc.BlockingUnaryCall;
import dev.sluice.api.grpc.GrpcIngest;
import dev.sluice.api.grpc.GrpcStatuses;
import dev.sluice.api.grpc.InvalidArgument;
import dev.sluice.api.grpc.QueryRequestParser;
import dev.sluice.api.grpc.RawMessage;
import dev.sluice.api.grpc.RequestContextInterceptor;
import dev.sluice.core.ingest.IngestResult;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.proto.logs.GetLogsByAppIdRequest;
import dev.sluice.proto.logs.GetLogsByAppIdResponse;
import dev.sluice.proto.logs.HealthCheckResponse;
import dev.sluice.proto.logs.IngestError;
import dev.sluice.proto.logs.IngestLogsResponse;
import dev.sluice.proto.logs.LogEntry;
import dev.sluice.proto.logs.LogLevel;
import dev.sluice.proto.logs.LogServiceGrpc;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader;
import dev.sluice.query.port.LogReader.LogPage;
import dev.sluice.query.port.LogReader.Query;
import io.grpc.BindableService;
import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServiceDescriptor;
import io.grpc.StatusException;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import org.jspecify.annotations.Nullable;

/**
 * The legacy gRPC service {@code logs.LogService}.
 *
 * <p>Requests are read as bytes: a request that a generated marshaller cannot parse would be
 * INTERNAL, like a bug of the gateway, and would lose the valid logs of the request.
 *
 * <p>Errors of logs are in the response, never a status. A temporary error is UNAVAILABLE with
 * RetryInfo; a malformed or too large request is INVALID_ARGUMENT or RESOURCE_EXHAUSTED.
 */
final class LegacyLogsService implements BindableService {
  /** The budget of short responses, which are sent even when logs use the whole memory budget. */
  private static final MemoryBudget UNLIMITED = new MemoryBudget(Long.MAX_VALUE);

  static final MethodDescriptor<RawMessage, IngestLogsResponse> INGEST =
      withRawRequest(LogServiceGrpc.getIngestLogsMethod());
  static final MethodDescriptor<RawMessage, GetLogsByAppIdResponse> GET =
      withRawRequest(LogServiceGrpc.getGetLogsByAppIdMethod());
  static final MethodDescriptor<RawMessage, HealthCheckResponse> HEALTH =
      withRawRequest(LogServiceGrpc.getHealthCheckMethod());

  private final @Nullable GrpcIngest ingest;
  private final LogReader reader;
  private final MemoryBudget budget;
  private final LegacyHealthCheck health;

  /**
   * @param ingest the ingest path; null in a process without the role ingest, in which IngestLogs
   *     is UNIMPLEMENTED
   * @param reader the reader of stored logs
   * @param budget the memory budget of responses with logs
   * @param health the health check
   */
  LegacyLogsService(
      @Nullable GrpcIngest ingest,
      LogReader reader,
      MemoryBudget budget,
      LegacyHealthCheck health) {
    this.ingest = ingest;
    this.reader = reader;
    this.budget = budget;
    this.health = health;
  }

  private static <T> MethodDescriptor<RawMessage, T> withRawRequest(MethodDescriptor<?, T> method) {
    return method.toBuilder(RawMessage.MARSHALLER, method.getResponseMarshaller()).build();
  }

  @Override
  public ServerServiceDefinition bindService() {
    var generated = LogServiceGrpc.getServiceDescriptor();
    var service =
        ServiceDescriptor.newBuilder(generated.getName())
            .setSchemaDescriptor(generated.getSchemaDescriptor()) // for reflection
            .addMethod(GET)
            .addMethod(HEALTH);
    var grpcIngest = ingest;
    if (grpcIngest != null) {
      service.addMethod(INGEST);
    }
    var methods =
        ServerServiceDefinition.builder(service.build())
            .addMethod(GET, ServerCalls.asyncUnaryCall(this::get))
            .addMethod(HEALTH, ServerCalls.asyncUnaryCall(this::health));
    if (grpcIngest != null) {
      methods.addMethod(
          INGEST,
          ServerCalls.asyncUnaryCall(
              (request, responseObserver) -> ingest(grpcIngest, request, responseObserver)));
    }
    return methods.build();
  }

  private static void ingest(
      GrpcIngest grpcIngest,
      RawMessage request,
      StreamObserver<IngestLogsResponse> responseObserver) {
    if (responseObserver instanceof ServerCallStreamObserver<IngestLogsResponse> call) {
      call.setOnCancelHandler(() -> {}); // without it a response after a cancellation throws
    }
    long started = System.nanoTime();
    var _ =
        grpcIngest
            .ingest(
                request, (body, limits, _) -> LegacyLogDecoder.ofIngestLogsRequest(body, limits))
            .thenAccept(result -> respond(result, System.nanoTime() - started, responseObserver));
  }

  private static void respond(
      IngestResult result, long tookNanos, StreamObserver<IngestLogsResponse> responseObserver) {
    if (result instanceof IngestResult.Accepted accepted) {
      responseObserver.onNext(response(accepted, Math.max(1, tookNanos)));
      responseObserver.onCompleted();
    } else {
      responseObserver.onError(GrpcStatuses.of(result));
    }
  }

  private static IngestLogsResponse response(IngestResult.Accepted result, long tookNanos) {
    boolean success = !result.acceptedNone();
    var response =
        IngestLogsResponse.newBuilder()
            .setSuccess(success)
            .setMessage(LegacyLog.message(result))
            .setAccepted(result.accepted())
            .setRejected(result.rejectedCount())
            .setProcessingTimeMs(tookNanos / 1e6)
            .setThroughput(result.accepted() * 1e9 / tookNanos);
    result.rejections().stream()
        .limit(LegacyLog.MAX_REPORTED_ERRORS)
        .map(LegacyLog::toLegacyRejection)
        .forEach(
            rejection ->
                response.addErrors(
                    IngestError.newBuilder()
                        .setIndex(rejection.index())
                        .setError(LegacyLog.describe(rejection))));
    return response.build();
  }

  private void get(RawMessage request, StreamObserver<GetLogsByAppIdResponse> responseObserver) {
    Query query;
    try {
      query = query(request);
    } catch (StatusException e) {
      responseObserver.onError(e);
      return;
    }
    BlockingUnaryCall.start(
        "sluice-legacy-query",
        budget,
        responseObserver,
        () -> {
          long started = System.nanoTime();
          return response(reader.read(query), started);
        });
  }

  private static Query query(RawMessage request) throws StatusException {
    var appRequest =
        QueryRequestParser.parse(
            request, GetLogsByAppIdRequest.parser(), "logs.GetLogsByAppIdRequest");
    if (appRequest.getAppId().isEmpty()) {
      throw InvalidArgument.malformed("app_id is missing");
    }
    int limit = appRequest.getLimit();
    if (limit < 0 || limit > LegacyLog.MAX_LIMIT) {
      throw InvalidArgument.malformed("limit is not a number from 1 to " + LegacyLog.MAX_LIMIT);
    }
    try {
      return new Query(
          LogFilter.of(RequestContextInterceptor.contextOfCall().tenant())
              .service(appRequest.getAppId())
              .build(),
          limit == 0 ? LegacyLog.DEFAULT_LIMIT : limit,
          null);
    } catch (IllegalArgumentException e) { // the filter has no other condition
      throw InvalidArgument.malformed("app_id has " + e.getMessage());
    }
  }

  private static GetLogsByAppIdResponse response(LogPage page, long started) {
    var response =
        GetLogsByAppIdResponse.newBuilder().setSuccess(true).setMessage("Logs retrieved");
    boolean more = page.next() != null;
    int bytes = 0;
    for (var log : page.logs()) {
      var entry = entry(LegacyLog.of(log));
      bytes += entry.getSerializedSize();
      if (bytes > BlockingUnaryCall.MAX_PAGE_BYTES && response.getLogsCount() > 0) {
        more = true;
        break;
      }
      response.addLogs(entry);
    }
    return response
        .setCount(response.getLogsCount())
        .setHasMore(more)
        .setQueryTimeMs((System.nanoTime() - started) / 1e6)
        .build();
  }

  private static LogEntry entry(LegacyLog log) {
    var entry =
        LogEntry.newBuilder()
            .setId(log.id())
            .setAppId(log.appId())
            .setTimestamp(log.timeNanos() / 1_000_000)
            .setLevel(LogLevel.valueOf(log.level().name()))
            .setMessage(log.message())
            .setSource(log.source())
            .setEnvironment(log.environment())
            .putAllMetadata(log.metadata());
    var traceId = log.traceId();
    if (traceId != null) {
      entry.setTraceId(traceId);
    }
    var userId = log.userId();
    if (userId != null) {
      entry.setUserId(userId);
    }
    return entry.build();
  }

  /** Responds to a health check; the content of the request is ignored. */
  private void health(RawMessage request, StreamObserver<HealthCheckResponse> responseObserver) {
    BlockingUnaryCall.start(
        "sluice-legacy-health-response", UNLIMITED, responseObserver, health::check);
  }
}
