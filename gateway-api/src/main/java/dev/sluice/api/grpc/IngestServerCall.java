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
 * What the metadata of a call that brings logs asks for, and the headers of its answer: {@code
 * sluice-ack} says which level is reached. A stream's headers go out before most of its answers are
 * known: they say which level is asked for, and each answer says its own.
 *
 * <p>A call is ended from here when the rest of a message does not come; whatever its handler still
 * does then is lost on a call that is over.
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
   * What asks for something that can be given is handled, and read; the rest is refused before any
   * message is.
   *
   * @param protocol for the meters
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
                IngestOptions.IDEMPOTENCY_KEY_HEADER + " is for one request, a stream has many"));
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

  /** Of the current call; null when it is none that brings logs. */
  static @Nullable IngestServerCall<?, ?> current() {
    return CURRENT.get();
  }

  IngestOptions options() {
    return options;
  }

  /** Before the answer is sent, whose headers tell of it. */
  synchronized void recordResult(IngestResult ingestResult) {
    if (ingestResult instanceof IngestResult.Accepted accepted
        && getMethodDescriptor().getType().clientSendsOneMessage()) {
      reachedLevel = accepted.level();
      replayed = accepted.replayed();
    }
  }

  private void closeOnMessageTimeout() {
    close(
        Status.DEADLINE_EXCEEDED.withDescription("the rest of the message did not come in time"),
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
