package dev.sluice.api.protocol.protobuf;

import dev.sluice.api.grpc.GrpcIngest;
import dev.sluice.api.grpc.RawMessage;
import dev.sluice.core.ingest.IngestResult;
import dev.sluice.proto.v1.IngestStreamResponse;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A call of {@code IngestStream}. Each message gets one response, in the order of the messages.
 *
 * <p>A limited number of messages is in flight. The next message is requested after a response, and
 * only while the client reads its responses. Without a request gRPC stops reading, and the flow
 * control of the stream blocks the client.
 *
 * <p>Messages arrive on the event loop of the connection; responses complete on any thread. The
 * first thread in {@link #drain} also writes the responses of the others; no lock is held during
 * calls of gRPC.
 */
final class IngestStream implements StreamObserver<RawMessage> {

  /**
   * The maximum number of messages in flight. It is above one, so that the next message arrives
   * during an append, and small, because each message may have the maximum size.
   */
  static final int WINDOW = 4;

  /** Rejections in one response; responses stay in memory until the client reads them. */
  private static final int MAX_REJECTIONS = 100;

  private final GrpcIngest ingest;
  private final ServerCallStreamObserver<IngestStreamResponse> client;
  private final Queue<CompletableFuture<IngestStreamResponse>> pendingResponses =
      new ConcurrentLinkedQueue<>();

  /** The number of messages that may be requested from gRPC. */
  private final AtomicInteger requestable = new AtomicInteger(WINDOW);

  private final AtomicInteger workInProgress = new AtomicInteger();
  private volatile boolean halfClosed;
  private volatile boolean closed;

  private IngestStream(GrpcIngest ingest, ServerCallStreamObserver<IngestStreamResponse> client) {
    this.ingest = ingest;
    this.client = client;
  }

  /** Opens the stream. Call it while gRPC opens the call, which accepts handlers only then. */
  static IngestStream open(
      GrpcIngest ingest, ServerCallStreamObserver<IngestStreamResponse> client) {
    var stream = new IngestStream(ingest, client);
    client.disableAutoRequest();
    client.setOnCancelHandler(stream::cancel);
    client.setOnReadyHandler(stream::drain);
    client.request(stream.requestable.getAndSet(0));
    return stream;
  }

  @Override
  public void onNext(RawMessage message) {
    long sequence = NativeProtobufDecoder.sequence(message.bytes());
    var response =
        ingest
            .ingest(
                message, (body, limits, _) -> NativeProtobufDecoder.ofStreamRequest(body, limits))
            .thenApply(result -> toResponse(sequence, result));
    pendingResponses.add(response);
    var _ = response.whenComplete((_, _) -> drain());
  }

  @Override
  public void onCompleted() {
    halfClosed = true;
    drain();
  }

  @Override
  public void onError(Throwable t) {
    cancel();
  }

  /** Stops the stream: the client is gone, and later responses are discarded. */
  private void cancel() {
    closed = true;
  }

  private void drain() {
    if (workInProgress.getAndIncrement() > 0) {
      return;
    }
    int missed = 1;
    do {
      if (!closed) {
        write();
      }
      missed = workInProgress.addAndGet(-missed);
    } while (missed > 0);
  }

  private void write() {
    for (var first = pendingResponses.peek();
        first != null && first.isDone();
        first = pendingResponses.peek()) {
      pendingResponses.remove();
      client.onNext(first.join());
      requestable.incrementAndGet();
    }
    if (halfClosed && pendingResponses.isEmpty()) {
      closed = true;
      client.onCompleted();
    } else if (!halfClosed && client.isReady()) {
      int more = requestable.getAndSet(0);
      if (more > 0) {
        client.request(more);
      }
    }
  }

  private static IngestStreamResponse toResponse(long sequence, IngestResult result) {
    var response = IngestStreamResponse.newBuilder().setSequence(sequence);
    switch (result) {
      case IngestResult.Accepted accepted -> {
        if (accepted.acceptedNone()) {
          response.setRefused(NativeResponses.acceptedNone(accepted, MAX_REJECTIONS));
        } else {
          response.setAccepted(NativeResponses.accepted(accepted, MAX_REJECTIONS));
        }
      }
      case IngestResult.Malformed(var reason) ->
          response.setRefused(NativeResponses.malformed(reason));
      case IngestResult.DecodeFailure(var reason, _) ->
          response.setRefused(NativeResponses.malformed(reason));
      case IngestResult.TooLarge(var reason) ->
          response.setRefused(NativeResponses.tooLarge(reason));
      case IngestResult.Unavailable(var retryAfter) ->
          response.setRefused(NativeResponses.unavailable(retryAfter));
      case IngestResult.InProgress _, IngestResult.IdempotencyKeyReused _ ->
          throw new IllegalStateException("a stream has no idempotency key");
    }
    return response.build();
  }
}
