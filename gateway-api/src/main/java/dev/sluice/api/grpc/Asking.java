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
final class Asking<Q, A> extends SimpleForwardingServerCall<Q, A> {
  private static final Context.Key<Asking<?, ?>> CURRENT = Context.key("sluice-asking");
  private static final Metadata.Key<String> ACK = ascii(IngestOptions.ACK_HEADER);
  private static final Metadata.Key<String> KEY = ascii(IngestOptions.IDEMPOTENCY_KEY_HEADER);
  private static final Metadata.Key<String> REPLAYED =
      ascii(IngestOptions.IDEMPOTENCY_REPLAYED_HEADER);

  private final IngestOptions asked;
  private AckLevel reached;
  private boolean replayed;
  private boolean over;

  private Asking(ServerCall<Q, A> call, IngestOptions asked) {
    super(call);
    this.asked = asked;
    this.reached = asked.level();
  }

  private static Metadata.Key<String> ascii(String name) {
    return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
  }

  /**
   * What asks for something that can be given is handled, and read; the rest is refused before any
   * message is.
   *
   * @param entrance for the meters
   */
  static <Q, A> ServerCallHandler<Q, A> granted(
      String entrance, GrpcIntake intake, ServerCallHandler<Q, A> handler) {
    return (call, headers) -> {
      IngestOptions asked;
      try {
        asked = IngestOptions.parse(headers.get(ACK), headers.get(KEY));
      } catch (IllegalArgumentException e) {
        return refused(call, Status.INVALID_ARGUMENT.withDescription(e.getMessage()));
      }
      boolean stream = !call.getMethodDescriptor().getType().clientSendsOneMessage();
      if (stream && asked.key() != null) {
        return refused(
            call,
            Status.INVALID_ARGUMENT.withDescription(
                IngestOptions.IDEMPOTENCY_KEY_HEADER + " is for one request, a stream has many"));
      }
      var busy = stream ? null : intake.refusal(entrance, asked.level());
      if (busy != null) {
        var failure = GrpcIntake.unavailable(busy.retryAfter());
        var trailers = failure.getTrailers();
        call.close(failure.getStatus(), trailers == null ? new Metadata() : trailers);
        return new ServerCall.Listener<>() {};
      }
      var asking = new Asking<>(call, asked);
      InboundMemory.watch(asking::stalled);
      return Contexts.interceptCall(
          Context.current().withValue(CURRENT, asking), asking, headers, handler);
    };
  }

  private static <Q, A> ServerCall.Listener<Q> refused(ServerCall<Q, A> call, Status status) {
    call.close(status, new Metadata());
    return new ServerCall.Listener<>() {};
  }

  /** Of the current call; null when it is none that brings logs. */
  static @Nullable Asking<?, ?> current() {
    return CURRENT.get();
  }

  IngestOptions asked() {
    return asked;
  }

  /** Before the answer is sent, whose headers tell of it. */
  synchronized void answered(IngestResult ingestResult) {
    if (ingestResult instanceof IngestResult.Accepted accepted
        && getMethodDescriptor().getType().clientSendsOneMessage()) {
      reached = accepted.level();
      replayed = accepted.replayed();
    }
  }

  private void stalled() {
    close(
        Status.DEADLINE_EXCEEDED.withDescription("the rest of the message did not come in time"),
        new Metadata());
  }

  @Override
  public synchronized void sendHeaders(Metadata headers) {
    if (over) {
      return;
    }
    headers.put(ACK, reached.text());
    if (replayed) {
      headers.put(REPLAYED, "true");
    }
    super.sendHeaders(headers);
  }

  @Override
  public synchronized void sendMessage(A message) {
    if (!over) {
      super.sendMessage(message);
    }
  }

  @Override
  public synchronized void close(Status status, Metadata trailers) {
    if (!over) {
      over = true;
      super.close(status, trailers);
    }
  }
}
