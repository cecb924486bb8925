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
 * finds nobody in {@link #advance} does for all; no lock is held while gRPC is called.
 */
final class IngestStream implements StreamObserver<RawMessage> {

  /** Enough to have the next one here while one is made safe; each may be as large as allowed. */
  static final int WINDOW = 4;

  /** Told in detail in one answer: answers may lie here until the client takes them. */
  private static final int VERDICTS = 100;

  private final GrpcIntake intake;
  private final Limits limits;
  private final ServerCallStreamObserver<IngestStreamResponse> client;
  private final Queue<CompletableFuture<IngestStreamResponse>> inHand =
      new ConcurrentLinkedQueue<>();

  /** Messages that may be asked for. */
  private final AtomicInteger free = new AtomicInteger(WINDOW);

  private final AtomicInteger turns = new AtomicInteger();
  private volatile boolean lastCame;
  private volatile boolean over;

  private IngestStream(
      GrpcIntake intake, Limits limits, ServerCallStreamObserver<IngestStreamResponse> client) {
    this.intake = intake;
    this.limits = limits;
    this.client = client;
  }

  /** Call while gRPC opens the stream: later it takes no handlers. */
  static IngestStream open(
      GrpcIntake intake, Limits limits, ServerCallStreamObserver<IngestStreamResponse> client) {
    var stream = new IngestStream(intake, limits, client);
    client.disableAutoRequest();
    client.setOnCancelHandler(stream::gone);
    client.setOnReadyHandler(stream::advance);
    client.request(stream.free.getAndSet(0));
    return stream;
  }

  @Override
  public void onNext(RawMessage message) {
    long sequence = NativeProtobufDecoder.sequence(message.bytes());
    var answer =
        intake
            .take(
                NativeLogsService.ENTRANCE,
                message,
                bytes -> NativeProtobufDecoder.ofStreamRequest(bytes, limits))
            .thenApply(result -> answer(sequence, result));
    inHand.add(answer);
    var _ = answer.whenComplete((_, _) -> advance());
  }

  @Override
  public void onCompleted() {
    lastCame = true;
    advance();
  }

  @Override
  public void onError(Throwable t) {
    gone();
  }

  /** Answers that become ready from now on have nobody to go to. */
  private void gone() {
    over = true;
  }

  private void advance() {
    if (turns.getAndIncrement() > 0) {
      return;
    }
    int seen = 1;
    do {
      if (!over) {
        write();
      }
      seen = turns.addAndGet(-seen);
    } while (seen > 0);
  }

  private void write() {
    for (var first = inHand.peek(); first != null && first.isDone(); first = inHand.peek()) {
      inHand.remove();
      client.onNext(first.join());
      free.incrementAndGet();
    }
    if (lastCame && inHand.isEmpty()) {
      over = true;
      client.onCompleted();
    } else if (!lastCame && client.isReady()) {
      int more = free.getAndSet(0);
      if (more > 0) {
        client.request(more);
      }
    }
  }

  private static IngestStreamResponse answer(long sequence, IngestResult ingested) {
    var answer = IngestStreamResponse.newBuilder().setSequence(sequence);
    switch (ingested) {
      case IngestResult.Accepted accepted -> {
        if (accepted.acceptedNone()) {
          answer.setRefused(NativeAnswers.nothingGood(accepted, VERDICTS));
        } else {
          answer.setAccepted(NativeAnswers.accepted(accepted, VERDICTS));
        }
      }
      case IngestResult.Malformed(var reason) -> answer.setRefused(NativeAnswers.malformed(reason));
      case IngestResult.TooLarge(var reason) -> answer.setRefused(NativeAnswers.tooLarge(reason));
      case IngestResult.Unavailable(var retryAfter) ->
          answer.setRefused(NativeAnswers.busy(retryAfter));
      case IngestResult.InProgress _, IngestResult.IdempotencyKeyReused _ ->
          throw new IllegalStateException("a stream has no idempotency key");
    }
    return answer.build();
  }
}
