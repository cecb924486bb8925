package dev.sluice.api.grpc;

import dev.sluice.core.ingest.IngestLogs;
import dev.sluice.core.ingest.Ingested;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.ingest.OtlpAnswer;
import dev.sluice.core.ingest.OtlpPayload;
import io.grpc.BindableService;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * OTLP over gRPC: {@code opentelemetry.proto.collector.logs.v1.LogsService/Export}.
 *
 * <p>Messages stay bytes. Generated classes would build a tree of every log only for it to be
 * walked once and thrown away; the walker reads the bytes as they are.
 *
 * <p>What passes is UNAVAILABLE with RetryInfo, which clients honour and retry; a mistake of the
 * client is INVALID_ARGUMENT or RESOURCE_EXHAUSTED without it; never INTERNAL, on which they drop.
 */
public final class OtlpLogsService implements BindableService {
  private static final Logger LOG = LoggerFactory.getLogger(OtlpLogsService.class);
  private static final String ENTRANCE = "otlp-grpc";
  private static final String SERVICE = "opentelemetry.proto.collector.logs.v1.LogsService";
  private static final Duration UNKNOWN_TROUBLE = Duration.ofSeconds(5);
  private static final Duration OVER_BUDGET = Duration.ofSeconds(1);

  private static final Metadata.Key<byte[]> STATUS_DETAILS =
      Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);

  private static final MethodDescriptor<Request, byte[]> EXPORT =
      MethodDescriptor.<Request, byte[]>newBuilder()
          .setType(MethodDescriptor.MethodType.UNARY)
          .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, "Export"))
          .setRequestMarshaller(new Requests())
          .setResponseMarshaller(new Answers())
          .build();

  private final IngestLogs ingest;
  private final MemoryBudget budget;
  private final Duration answerWithin;

  /**
   * @param answerWithin how long a client waits for its logs to be safe before it is told to retry
   */
  public OtlpLogsService(IngestLogs ingest, MemoryBudget budget, Duration answerWithin) {
    this.ingest = ingest;
    this.budget = budget;
    this.answerWithin = answerWithin;
  }

  @Override
  public ServerServiceDefinition bindService() {
    return ServerServiceDefinition.builder(SERVICE)
        .addMethod(EXPORT, ServerCalls.asyncUnaryCall(this::export))
        .build();
  }

  private void export(Request request, StreamObserver<byte[]> answer) {
    if (answer instanceof ServerCallStreamObserver<byte[]> call) {
      call.setOnCancelHandler(() -> {}); // else an answer to a client that hung up would throw
    }
    var unreadable = request.unreadable();
    if (unreadable != null) {
      answer.onError(unreadable.asException());
      return;
    }
    byte[] bytes = request.bytes();
    if (!budget.reserve(bytes.length)) {
      answer.onError(unavailable(OVER_BUDGET));
      return;
    }
    CompletableFuture<Ingested> ingested;
    try {
      ingested = ingest.accept(ENTRANCE, OtlpPayload.of(bytes)).toCompletableFuture();
    } catch (RuntimeException e) {
      budget.release(bytes.length);
      answer.onError(unexpected(e));
      return;
    }
    var _ = ingested.whenComplete((_, _) -> budget.release(bytes.length));
    // a copy times out, not the original: what is on its way is counted when it arrives
    var _ =
        ingested
            .copy()
            .orTimeout(answerWithin.toMillis(), TimeUnit.MILLISECONDS)
            .whenComplete(
                (result, failure) -> {
                  if (failure != null) {
                    answer.onError(unexpected(failure));
                  } else {
                    answer(result, answer);
                  }
                });
  }

  private static void answer(Ingested ingested, StreamObserver<byte[]> answer) {
    switch (ingested) {
      case Ingested.Accepted accepted -> {
        answer.onNext(OtlpAnswer.response(accepted));
        answer.onCompleted();
      }
      case Ingested.Malformed(var reason) ->
          answer.onError(
              Status.INVALID_ARGUMENT.withDescription("malformed OTLP: " + reason).asException());
      case Ingested.TooLarge(var reason) ->
          answer.onError(Status.RESOURCE_EXHAUSTED.withDescription(reason).asException());
      case Ingested.Busy(var retryAfter) -> answer.onError(unavailable(retryAfter));
    }
  }

  private static Exception unexpected(Throwable failure) {
    var cause =
        failure instanceof CompletionException e && e.getCause() != null ? e.getCause() : failure;
    if (!(cause instanceof TimeoutException)) {
      LOG.warn("logs not taken", cause);
    }
    return unavailable(UNKNOWN_TROUBLE);
  }

  /** {@code google.rpc.Status} with a {@code RetryInfo}, as OTLP asks for. */
  private static Exception unavailable(Duration retryAfter) {
    var description = "logs cannot be made safe at the moment";
    var trailers = new Metadata();
    trailers.put(
        STATUS_DETAILS,
        OtlpAnswer.status(Status.Code.UNAVAILABLE.value(), description, retryAfter));
    return Status.UNAVAILABLE.withDescription(description).asException(trailers);
  }

  /** A message as it was on the wire, or what to answer because it could not be read. */
  private record Request(byte[] bytes, @Nullable Status unreadable) {}

  /**
   * Never throws: what a marshaller throws reaches the client as UNKNOWN, whoever's fault it was.
   */
  private static final class Requests implements MethodDescriptor.Marshaller<Request> {
    private static final byte[] NOTHING = {};

    @Override
    public InputStream stream(Request value) {
      return new ByteArrayInputStream(value.bytes());
    }

    @Override
    public Request parse(InputStream stream) {
      try {
        return new Request(stream.readAllBytes(), null);
      } catch (StatusRuntimeException e) { // larger than allowed once it is decompressed
        return new Request(NOTHING, e.getStatus());
      } catch (IOException _) {
        return new Request(
            NOTHING, Status.INVALID_ARGUMENT.withDescription("message cannot be decompressed"));
      }
    }
  }

  private static final class Answers implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] value) {
      return new ByteArrayInputStream(value);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try {
        return stream.readAllBytes();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
