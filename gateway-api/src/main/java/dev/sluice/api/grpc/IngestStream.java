package dev.sluice.api.grpc;

import dev.sluice.api.decode.NativeProtobufDecoder;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.IngestResult;
import dev.sluice.proto.v1.IngestStreamResponse;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One call of {@code IngestStream}: each message is answered once, in their order.
 *
 * <p>A few messages are in hand at a time. Another is asked for only when one was answered and the
 * client takes its answers; gRPC then stops reading, and the client that goes on sending is held by
 * the flow control of its own stream.
 *
 * <p>Messages come on the connection's event loop, answers become ready on any thread. Whoever
 * finds nobody in {@link #drain} does for all; no lock is held while gRPC is called.
 */
final class IngestStream implements StreamObserver<RawMessage> {

  /** Enough to have the next one here while one is made safe; each may be as large as allowed. */
  static final int WINDOW = 4;

  /** Told in detail in one answer: answers may lie here until the client takes them. */
  private static final int MAX_REJECTIONS = 100;

  private final GrpcIngestPipeline pipeline;
  private final Limits limits;
  private final ServerCallStreamObserver<IngestStreamResponse> client;
  private final Queue<CompletableFuture<IngestStreamResponse>> pendingResponses =
      new ConcurrentLinkedQueue<>();

  /** Messages that may be asked for. */
  private final AtomicInteger requestable = new AtomicInteger(WINDOW);

  private final AtomicInteger workInProgress = new AtomicInteger();
  private volatile boolean halfClosed;
  private volatile boolean closed;

  private IngestStream(
      GrpcIngestPipeline pipeline,
      Limits limits,
      ServerCallStreamObserver<IngestStreamResponse> client) {
    this.pipeline = pipeline;
    this.limits = limits;
    this.client = client;
  }

  /** Call while gRPC opens the stream: later it takes no handlers. */
  static IngestStream open(
      GrpcIngestPipeline pipeline,
      Limits limits,
      ServerCallStreamObserver<IngestStreamResponse> client) {
    var stream = new IngestStream(pipeline, limits, client);
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
        pipeline
            .ingest(
                NativeLogsService.PROTOCOL,
                message,
                bytes -> NativeProtobufDecoder.ofStreamRequest(bytes, limits))
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

  /** Answers that become ready from now on have nobody to go to. */
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
