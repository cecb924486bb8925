package dev.sluice.api.grpc;

import dev.sluice.core.ingest.AckLevel;
import dev.sluice.core.ingest.IngestResult;
import dev.sluice.core.ingest.RequestContext;
import io.grpc.Context;
import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;

/**
 * An ingest call with the headers of its response. The header {@code sluice-ack} has the reached
 * level. The headers of a stream are sent before its responses are known, so they have the
 * requested level, and each response has its own.
 *
 * <p>A message that is not complete in time closes the call. Later actions of the handler have no
 * effect then.
 */
final class IngestServerCall<Q, A> extends SimpleForwardingServerCall<Q, A> {
  private static final Context.Key<IngestServerCall<?, ?>> CURRENT =
      Context.key("sluice-ingest-call");
  private static final Metadata.Key<String> ACK = ascii(RequestContext.ACK_HEADER);
  private static final Metadata.Key<String> REPLAYED =
      ascii(RequestContext.IDEMPOTENCY_REPLAYED_HEADER);

  private AckLevel reachedLevel;
  private boolean replayed;
  private boolean closed;

  private IngestServerCall(ServerCall<Q, A> call, AckLevel requestedLevel) {
    super(call);
    this.reachedLevel = requestedLevel;
  }

  static Metadata.Key<String> ascii(String name) {
    return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
  }

  /** Starts a call, whose messages must be complete in time from here on. */
  static <Q, A> IngestServerCall<Q, A> start(ServerCall<Q, A> call, AckLevel requestedLevel) {
    var ingestCall = new IngestServerCall<>(call, requestedLevel);
    InboundMemoryTracer.onMessageTimeout(ingestCall::closeOnMessageTimeout);
    return ingestCall;
  }

  static Context withCall(Context context, IngestServerCall<?, ?> call) {
    return context.withValue(CURRENT, call);
  }

  /** Returns the current call. */
  static IngestServerCall<?, ?> current() {
    return CURRENT.get();
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
