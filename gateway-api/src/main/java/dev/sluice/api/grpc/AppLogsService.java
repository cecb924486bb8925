package dev.sluice.api.grpc;

import dev.sluice.api.decode.LegacyLog;
import dev.sluice.api.decode.LegacyLogDecoder;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.IngestResult;
import dev.sluice.core.ingest.IngestService;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.port.LogReader;
import dev.sluice.core.port.LogReader.LogPage;
import dev.sluice.core.port.LogReader.Query;
import dev.sluice.core.query.LogFilter;
import dev.sluice.proto.logs.GetLogsByAppIdRequest;
import dev.sluice.proto.logs.GetLogsByAppIdResponse;
import dev.sluice.proto.logs.HealthCheckResponse;
import dev.sluice.proto.logs.IngestError;
import dev.sluice.proto.logs.IngestLogsResponse;
import dev.sluice.proto.logs.LogEntry;
import dev.sluice.proto.logs.LogLevel;
import dev.sluice.proto.logs.LogServiceGrpc;
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
 * {@code logs.LogService}, as the system Sluice grew out of had it.
 *
 * <p>Requests stay bytes until they are here: what a generated marshaller cannot parse reaches the
 * client as INTERNAL, as if it were our mistake, and takes the good logs of a request along.
 *
 * <p>What is wrong with a log is told in an answer, never by a status; what passes is UNAVAILABLE
 * with RetryInfo; what is no request at all is INVALID_ARGUMENT or RESOURCE_EXHAUSTED.
 */
public final class AppLogsService implements BindableService {
  private static final String ENTRANCE = "app-grpc";

  /** For answers of some bytes, which must also be given when logs have taken all of the other. */
  private static final MemoryBudget UNCOUNTED = new MemoryBudget(Long.MAX_VALUE);

  private static final MethodDescriptor<RawMessage, IngestLogsResponse> INGEST =
      ofBytes(LogServiceGrpc.getIngestLogsMethod());
  private static final MethodDescriptor<RawMessage, GetLogsByAppIdResponse> GET =
      ofBytes(LogServiceGrpc.getGetLogsByAppIdMethod());
  private static final MethodDescriptor<RawMessage, HealthCheckResponse> HEALTH =
      ofBytes(LogServiceGrpc.getHealthCheckMethod());

  private final @Nullable GrpcIntake intake;
  private final Limits limits;
  private final LogReader reader;
  private final MemoryBudget budget;
  private final AppHealth health;

  /**
   * @param intake the way in; null when this process does not take logs: IngestLogs is
   *     UNIMPLEMENTED then
   * @param reader the way back
   * @param budget what logs that were read count against until the client has taken them
   */
  public AppLogsService(
      @Nullable GrpcIntake intake,
      Limits limits,
      LogReader reader,
      MemoryBudget budget,
      AppHealth health) {
    this.intake = intake;
    this.limits = limits;
    this.reader = reader;
    this.budget = budget;
    this.health = health;
  }

  private static <T> MethodDescriptor<RawMessage, T> ofBytes(MethodDescriptor<?, T> method) {
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
    var way = intake;
    if (way != null) {
      service.addMethod(INGEST);
    }
    var methods =
        ServerServiceDefinition.builder(service.build())
            .addMethod(GET, ServerCalls.asyncUnaryCall(this::get))
            .addMethod(HEALTH, ServerCalls.asyncUnaryCall(this::health));
    if (way != null) {
      methods.addMethod(
          INGEST,
          Asking.granted(
              ENTRANCE,
              way,
              ServerCalls.asyncUnaryCall((request, answer) -> ingest(way, request, answer))));
    }
    return methods.build();
  }

  private void ingest(
      GrpcIntake way, RawMessage request, StreamObserver<IngestLogsResponse> answer) {
    if (answer instanceof ServerCallStreamObserver<IngestLogsResponse> call) {
      call.setOnCancelHandler(() -> {}); // else an answer to a client that hung up would throw
    }
    long started = System.nanoTime();
    var _ =
        way.take(ENTRANCE, request, bytes -> LegacyLogDecoder.ofIngestLogsRequest(bytes, limits))
            .thenAccept(result -> answer(result, System.nanoTime() - started, answer));
  }

  private static void answer(
      IngestResult ingested, long tookNanos, StreamObserver<IngestLogsResponse> answer) {
    if (ingested instanceof IngestResult.Accepted accepted) {
      answer.onNext(response(accepted, Math.max(1, tookNanos)));
      answer.onCompleted();
    } else {
      answer.onError(NativeLogsService.failure(ingested));
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
            verdict ->
                response.addErrors(
                    IngestError.newBuilder()
                        .setIndex(verdict.index())
                        .setError(LegacyLog.describe(verdict))));
    return response.build();
  }

  private void get(RawMessage request, StreamObserver<GetLogsByAppIdResponse> answer) {
    Query query;
    try {
      query = query(request);
    } catch (StatusException e) {
      answer.onError(e);
      return;
    }
    BlockingAnswer.of(
        "sluice-app-query",
        budget,
        answer,
        () -> {
          long started = System.nanoTime();
          return response(reader.read(query), started);
        });
  }

  private static Query query(RawMessage request) throws StatusException {
    var wanted =
        Question.parse(request, GetLogsByAppIdRequest.parser(), "logs.GetLogsByAppIdRequest");
    if (wanted.getAppId().isEmpty()) {
      throw Refused.malformed("app_id is missing");
    }
    int limit = wanted.getLimit();
    if (limit < 0 || limit > LegacyLog.MAX_LIMIT) {
      throw Refused.malformed("limit is not a number from 1 to " + LegacyLog.MAX_LIMIT);
    }
    try {
      return new Query(
          LogFilter.of(IngestService.DEFAULT_TENANT).service(wanted.getAppId()).build(),
          limit == 0 ? LegacyLog.DEFAULT_LIMIT : limit,
          null);
    } catch (IllegalArgumentException e) { // the name is all that is in the filter
      throw Refused.malformed("app_id has " + e.getMessage());
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
      if (bytes > NativeQueries.PAGE_BYTES && response.getLogsCount() > 0) {
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

  /** What is in the request does not matter, not even that it is one. */
  private void health(RawMessage request, StreamObserver<HealthCheckResponse> answer) {
    BlockingAnswer.of("sluice-app-health-answer", UNCOUNTED, answer, health::check);
  }
}
