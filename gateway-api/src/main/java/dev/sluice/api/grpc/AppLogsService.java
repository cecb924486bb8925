package dev.sluice.api.grpc;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import dev.sluice.api.decode.AppLog;
import dev.sluice.api.decode.AppLogs;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.IngestLogs;
import dev.sluice.core.ingest.Ingested;
import dev.sluice.core.port.LogReader;
import dev.sluice.core.port.LogReader.Page;
import dev.sluice.core.port.LogReader.Query;
import dev.sluice.core.port.LogReader.TooCostly;
import dev.sluice.core.query.LogFilter;
import dev.sluice.core.read.BoundedReader;
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
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

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
  private static final Logger LOG = LoggerFactory.getLogger(AppLogsService.class);
  private static final String ENTRANCE = "app-grpc";
  private static final String UNREADABLE = "logs cannot be read at the moment";
  private static final Duration BUSY = Duration.ofSeconds(1);
  private static final Duration AFTER_FAILURE = Duration.ofSeconds(5);
  private static final int ERRORS_TOLD = 100;
  private static final int DEFAULT_LIMIT = 1000;
  private static final int MAX_LIMIT = 10_000;

  private static final MethodDescriptor<RawMessage, IngestLogsResponse> INGEST =
      ofBytes(LogServiceGrpc.getIngestLogsMethod());
  private static final MethodDescriptor<RawMessage, GetLogsByAppIdResponse> GET =
      ofBytes(LogServiceGrpc.getGetLogsByAppIdMethod());
  private static final MethodDescriptor<RawMessage, HealthCheckResponse> HEALTH =
      ofBytes(LogServiceGrpc.getHealthCheckMethod());

  private final GrpcIntake intake;
  private final Limits limits;
  private final LogReader reader;
  private final AppHealth health;

  public AppLogsService(GrpcIntake intake, Limits limits, LogReader reader, AppHealth health) {
    this.intake = intake;
    this.limits = limits;
    this.reader = reader;
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
            .addMethod(INGEST)
            .addMethod(GET)
            .addMethod(HEALTH)
            .build();
    return ServerServiceDefinition.builder(service)
        .addMethod(INGEST, AckLevel.granted(ServerCalls.asyncUnaryCall(this::ingest)))
        .addMethod(GET, ServerCalls.asyncUnaryCall(this::get))
        .addMethod(HEALTH, ServerCalls.asyncUnaryCall(this::health))
        .build();
  }

  private void ingest(RawMessage request, StreamObserver<IngestLogsResponse> answer) {
    onCancel(answer, () -> {}); // else an answer to a client that hung up would throw
    long started = System.nanoTime();
    var _ =
        intake
            .take(ENTRANCE, request, bytes -> AppLogs.ofIngestLogsRequest(bytes, limits))
            .thenAccept(result -> answer(result, System.nanoTime() - started, answer));
  }

  private static void answer(
      Ingested ingested, long tookNanos, StreamObserver<IngestLogsResponse> answer) {
    switch (ingested) {
      case Ingested.Accepted accepted -> {
        answer.onNext(response(accepted, Math.max(1, tookNanos)));
        answer.onCompleted();
      }
      case Ingested.Malformed(var reason) -> answer.onError(Refused.malformed(reason));
      case Ingested.TooLarge(var reason) ->
          answer.onError(Status.RESOURCE_EXHAUSTED.withDescription(reason).asException());
      case Ingested.Busy(var retryAfter) -> answer.onError(GrpcIntake.unavailable(retryAfter));
    }
  }

  private static IngestLogsResponse response(Ingested.Accepted result, long tookNanos) {
    boolean success = result.accepted() > 0;
    var response =
        IngestLogsResponse.newBuilder()
            .setSuccess(success)
            .setMessage(success ? "Log data accepted" : "Invalid log data")
            .setAccepted(result.accepted())
            .setRejected(result.rejectedCount())
            .setProcessingTimeMs(tookNanos / 1e6)
            .setThroughput(result.accepted() * 1e9 / tookNanos);
    result.rejected().stream()
        .limit(ERRORS_TOLD)
        .map(AppLog::inOwnWords)
        .forEach(
            verdict ->
                response.addErrors(
                    IngestError.newBuilder()
                        .setIndex(verdict.index())
                        .setError(AppLog.sentence(verdict))));
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
    answerBlocking(
        answer,
        () -> {
          long started = System.nanoTime();
          return response(reader.read(query), started);
        });
  }

  private static Query query(RawMessage request) throws StatusException {
    var unusable = request.unusable();
    if (unusable != null) {
      throw NativeLogsService.failure(unusable);
    }
    GetLogsByAppIdRequest wanted;
    try {
      wanted = GetLogsByAppIdRequest.parseFrom(request.bytes());
    } catch (InvalidProtocolBufferException _) {
      throw Refused.malformed("malformed protobuf: no logs.GetLogsByAppIdRequest can be read");
    }
    if (wanted.getAppId().isEmpty()) {
      throw Refused.malformed("app_id is missing");
    }
    int limit = wanted.getLimit();
    if (limit < 0 || limit > MAX_LIMIT) {
      throw Refused.malformed("limit is not a number from 1 to " + MAX_LIMIT);
    }
    return new Query(
        LogFilter.of(IngestLogs.DEFAULT_TENANT).service(wanted.getAppId()).build(),
        limit == 0 ? DEFAULT_LIMIT : limit,
        null);
  }

  private static GetLogsByAppIdResponse response(Page page, long started) {
    var response =
        GetLogsByAppIdResponse.newBuilder()
            .setSuccess(true)
            .setMessage("Logs retrieved")
            .setCount(page.logs().size())
            .setHasMore(page.next() != null);
    page.logs().forEach(log -> response.addLogs(entry(AppLog.of(log))));
    return response.setQueryTimeMs((System.nanoTime() - started) / 1e6).build();
  }

  private static LogEntry entry(AppLog log) {
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
    answerBlocking(answer, health::check);
  }

  /** On a thread of its own, which is interrupted when the client is gone. */
  private static <T extends Message> void answerBlocking(
      StreamObserver<T> answer, Callable<T> question) {
    var asking =
        Thread.ofVirtual()
            .name("sluice-app-query")
            .unstarted(
                () -> {
                  try {
                    answer.onNext(question.call());
                    answer.onCompleted();
                  } catch (InterruptedException _) {
                    // the client is gone, or its deadline: there is nobody to tell
                  } catch (BoundedReader.Busy _) {
                    answer.onError(GrpcIntake.unavailable(UNREADABLE, BUSY));
                  } catch (TooCostly e) {
                    answer.onError(
                        Status.RESOURCE_EXHAUSTED.withDescription(e.getMessage()).asException());
                  } catch (Exception e) {
                    LOG.warn("question not answered: {}", e.toString());
                    answer.onError(GrpcIntake.unavailable(UNREADABLE, AFTER_FAILURE));
                  }
                });
    onCancel(answer, asking::interrupt);
    asking.start();
  }

  private static void onCancel(StreamObserver<?> answer, Runnable handler) {
    if (answer instanceof ServerCallStreamObserver<?> call) {
      call.setOnCancelHandler(handler);
    }
  }
}
