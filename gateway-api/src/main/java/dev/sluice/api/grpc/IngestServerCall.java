package dev.sluice.api.grpc;

import dev.sluice.core.ingest.AckLevel;
import dev.sluice.core.ingest.IngestOptions;
import dev.sluice.core.ingest.IngestResult;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.Status;
import org.jspecify.annotations.Nullable;

/**
 * An ingest call with the options of its metadata and the headers of its response. The header
 * {@code sluice-ack} has the reached level. The headers of a stream are sent before its responses
 * are known, so they have the requested level, and each response has its own.
 *
 * <p>A message that is not complete in time closes the call. Later actions of the handler have no
 * effect then.
 */
final class IngestServerCall<Q, A> extends SimpleForwardingServerCall<Q, A> {
  private static final Context.Key<IngestServerCall<?, ?>> CURRENT =
      Context.key("sluice-ingest-call");
  private static final Metadata.Key<String> ACK = ascii(IngestOptions.ACK_HEADER);
  private static final Metadata.Key<String> KEY = ascii(IngestOptions.IDEMPOTENCY_KEY_HEADER);
  private static final Metadata.Key<String> REPLAYED =
      ascii(IngestOptions.IDEMPOTENCY_REPLAYED_HEADER);

  private final IngestOptions options;
  private AckLevel reachedLevel;
  private boolean replayed;
  private boolean closed;

  private IngestServerCall(ServerCall<Q, A> call, IngestOptions options) {
    super(call);
    this.options = options;
    this.reachedLevel = options.level();
  }

  private static Metadata.Key<String> ascii(String name) {
    return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
  }

  /**
   * Returns a handler that checks the metadata and the admission of a call, and rejects it before
   * its first message is read.
   *
   * @param protocol the protocol name for metrics
   */
  static <Q, A> ServerCallHandler<Q, A> intercept(
      String protocol, GrpcIngestPipeline pipeline, ServerCallHandler<Q, A> handler) {
    return (call, headers) -> {
      IngestOptions options;
      try {
        options = IngestOptions.parse(headers.get(ACK), headers.get(KEY));
      } catch (IllegalArgumentException e) {
        return reject(call, Status.INVALID_ARGUMENT.withDescription(e.getMessage()));
      }
      boolean stream = !call.getMethodDescriptor().getType().clientSendsOneMessage();
      if (stream && options.key() != null) {
        return reject(
            call,
            Status.INVALID_ARGUMENT.withDescription(
                IngestOptions.IDEMPOTENCY_KEY_HEADER + " is only supported by unary calls"));
      }
      var unavailable = stream ? null : pipeline.checkAdmission(protocol, options.level());
      if (unavailable != null) {
        var failure = GrpcIngestPipeline.unavailable(unavailable.retryAfter());
        var trailers = failure.getTrailers();
        call.close(failure.getStatus(), trailers == null ? new Metadata() : trailers);
        return new ServerCall.Listener<>() {};
      }
      var ingestCall = new IngestServerCall<>(call, options);
      InboundMemoryTracer.onMessageTimeout(ingestCall::closeOnMessageTimeout);
      return Contexts.interceptCall(
          Context.current().withValue(CURRENT, ingestCall), ingestCall, headers, handler);
    };
  }

  private static <Q, A> ServerCall.Listener<Q> reject(ServerCall<Q, A> call, Status status) {
    call.close(status, new Metadata());
    return new ServerCall.Listener<>() {};
  }

  /** Returns the current call; null when it is not an ingest call. */
  static @Nullable IngestServerCall<?, ?> current() {
    return CURRENT.get();
  }

  IngestOptions options() {
    return options;
  }

  /** Records the result for the response headers. Call it before the response is sent. */
  synchronized void recordResult(IngestResult ingestResult) {
    if (ingestResult instanceof IngestResult.Accepted accepted
        && getMethodDescriptor().getType().clientSendsOneMessage()) {
      reachedLevel = accepted.level();
      replayed = accepted.replayed();
    }
  }

  private void closeOnMessageTimeout() {
    close(
        Status.DEADLINE_EXCEEDED.withDescription("the message was not complete in time"),
        new Metadata());
  }

  @Override
  public synchronized void sendHeaders(Metadata headers) {
    if (closed) {
      return;
    }
    headers.put(ACK, reachedLevel.text());
    if (replayed) {
      headers.put(REPLAYED, "true");
    }
    super.sendHeaders(headers);
  }

  @Override
  public synchronized void sendMessage(A message) {
    if (!closed) {
      super.sendMessage(message);
    }
  }

  @Override
  public synchronized void close(Status status, Metadata trailers) {
    if (!closed) {
      closed = true;
      super.close(status, trailers);
    }
  }
}
