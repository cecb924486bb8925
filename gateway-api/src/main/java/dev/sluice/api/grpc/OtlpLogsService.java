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
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
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

  static final Metadata.Key<byte[]> STATUS_DETAILS =
      Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);

  static final MethodDescriptor<byte[], byte[]> EXPORT =
      MethodDescriptor.<byte[], byte[]>newBuilder()
          .setType(MethodDescriptor.MethodType.UNARY)
          .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, "Export"))
          .setRequestMarshaller(new Bytes())
          .setResponseMarshaller(new Bytes())
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

  private void export(byte[] request, StreamObserver<byte[]> answer) {
    if (!budget.reserve(request.length)) {
      answer.onError(unavailable(OVER_BUDGET));
      return;
    }
    try {
      var _ =
          ingest
              .accept(ENTRANCE, OtlpPayload.of(request))
              .toCompletableFuture()
              .orTimeout(answerWithin.toMillis(), TimeUnit.MILLISECONDS)
              .whenComplete(
                  (ingested, failure) -> {
                    budget.release(request.length);
                    if (failure != null) {
                      answer.onError(unexpected(failure));
                    } else {
                      answer(ingested, answer);
                    }
                  });
    } catch (RuntimeException e) {
      budget.release(request.length);
      answer.onError(unexpected(e));
    }
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

  /** Messages as they are on the wire. */
  private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
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
