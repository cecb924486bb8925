package dev.sluice.api.grpc;

import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.Status;

/**
 * The metadata {@code sluice-ack}: which level of acknowledgement is asked for, and in the answer's
 * headers which one is reached. It is always {@code durable}: {@code accepted} is granted by more
 * than it asks for, {@code stored} cannot be promised yet.
 */
final class AckLevel {
  static final Metadata.Key<String> ACK =
      Metadata.Key.of("sluice-ack", Metadata.ASCII_STRING_MARSHALLER);
  private static final String DURABLE = "durable";

  private AckLevel() {}

  /** What asks for a level that can be reached is handled, the rest is refused. */
  static <Q, A> ServerCallHandler<Q, A> granted(ServerCallHandler<Q, A> handler) {
    return (call, headers) -> {
      var asked = headers.get(ACK);
      if (asked == null || asked.equals(DURABLE) || asked.equals("accepted")) {
        return handler.startCall(new Echoing<>(call), headers);
      }
      call.close(
          Status.INVALID_ARGUMENT.withDescription("sluice-ack is not one of accepted, durable"),
          new Metadata());
      return new ServerCall.Listener<>() {};
    };
  }

  private static final class Echoing<Q, A> extends SimpleForwardingServerCall<Q, A> {
    private Echoing(ServerCall<Q, A> call) {
      super(call);
    }

    @Override
    public void sendHeaders(Metadata headers) {
      headers.put(ACK, DURABLE);
      super.sendHeaders(headers);
    }
  }
}
