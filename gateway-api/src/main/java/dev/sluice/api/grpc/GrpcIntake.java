package dev.sluice.api.grpc;

import dev.sluice.api.decode.DecodeException;
import dev.sluice.core.ingest.AckLevel;
import dev.sluice.core.ingest.AdmissionController;
import dev.sluice.core.ingest.IngestHandle;
import dev.sluice.core.ingest.IngestOptions;
import dev.sluice.core.ingest.IngestResult;
import dev.sluice.core.ingest.IngestService;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.core.ingest.OtlpResponses;
import dev.sluice.core.port.TimeoutScheduler;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ForkJoinPool;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What every gRPC entrance does with a message: decode, hand in, and give the memory back. Safe for
 * use by many threads; nothing blocks.
 */
public final class GrpcIntake {
  private static final Logger LOG = LoggerFactory.getLogger(GrpcIntake.class);

  /** Above this, judging a message would keep its event loop's other connections waiting. */
  private static final int LONG_WORK = 1 << 20;

  static final String UNAVAILABLE = "logs cannot be made safe at the moment";

  private static final Metadata.Key<byte[]> STATUS_DETAILS =
      Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);

  private final IngestService ingest;
  private final MemoryBudget budget;
  private final AdmissionController admission;
  private final TimeoutScheduler deadlines;
  private final Duration answerWithin;

  /**
   * @param admission who may be taken at all, and when the others should come again
   * @param answerWithin how long a client waits for its logs to be safe before it is told to retry
   */
  public GrpcIntake(
      IngestService ingest,
      MemoryBudget budget,
      AdmissionController admission,
      TimeoutScheduler deadlines,
      Duration answerWithin) {
    this.ingest = ingest;
    this.budget = budget;
    this.admission = admission;
    this.deadlines = deadlines;
    this.answerWithin = answerWithin;
  }

  /** Why a call cannot be taken now; null when it may be tried. */
  IngestResult.@Nullable Unavailable refusal(String entrance, AckLevel level) {
    var busy = admission.check(level);
    if (busy != null) {
      ingest.recordShed(entrance);
    }
    return busy;
  }

  /**
   * Takes one complete message of the current call; never fails. What goes wrong and is not the
   * client's mistake is {@link IngestResult.Unavailable}.
   *
   * @param decoder makes OTLP of the message; {@link DecodeException} when it cannot
   */
  CompletableFuture<IngestResult> take(
      String entrance, RawMessage message, Function<byte[], OtlpPayload> decoder) {
    var call = Asking.current();
    var asked = call == null ? IngestOptions.DEFAULT : call.asked();
    var answer = taken(entrance, asked, message, decoder);
    return call == null
        ? answer
        : answer.thenApply(
            ingestResult -> {
              call.answered(ingestResult);
              return ingestResult;
            });
  }

  private CompletableFuture<IngestResult> taken(
      String entrance,
      IngestOptions asked,
      RawMessage message,
      Function<byte[], OtlpPayload> decoder) {
    long held = InboundMemory.takeOver();
    var unusable = message.unusable();
    if (unusable != null) {
      budget.release(held);
      if (unusable instanceof IngestResult.Unavailable) { // one that may come again is not to blame
        return overBudget();
      }
      ingest.recordMalformed(entrance);
      return CompletableFuture.completedFuture(unusable);
    }
    var busy = refusal(entrance, asked.level()); // of a stream only its messages are asked for
    if (busy != null) {
      budget.release(held);
      return CompletableFuture.completedFuture(busy);
    }
    var bytes = message.bytes();
    long needed = bytes.length;
    if (asked.level() == AckLevel.ACCEPTED) {
      needed += IngestService.REQUEST_OVERHEAD_BYTES;
    }
    if (!holds(needed, held)) {
      return overBudget();
    }
    long holding = needed;
    if (bytes.length <= LONG_WORK) {
      return judged(entrance, asked, bytes, decoder, holding);
    }
    return CompletableFuture.completedFuture(bytes)
        .thenComposeAsync(
            all -> judged(entrance, asked, all, decoder, holding), ForkJoinPool.commonPool());
  }

  private CompletableFuture<IngestResult> overBudget() {
    return CompletableFuture.completedFuture(
        new IngestResult.Unavailable(admission.retryAfterMemoryPressure()));
  }

  private CompletableFuture<IngestResult> judged(
      String entrance,
      IngestOptions asked,
      byte[] bytes,
      Function<byte[], OtlpPayload> decoder,
      long holding) {
    long held = holding;
    IngestHandle inHand;
    try {
      var request = asked.toRequest(entrance, bytes);
      var payload = decoder.apply(bytes);
      if (payload.bytes() != bytes) {
        if (!holds(held + payload.bytes().length, held)) {
          return overBudget();
        }
        held += payload.bytes().length;
      }
      inHand = ingest.accept(request, payload);
    } catch (DecodeException e) {
      budget.release(held);
      ingest.recordMalformed(entrance);
      return CompletableFuture.completedFuture(
          e.tooLarge()
              ? new IngestResult.TooLarge(e.detail())
              : new IngestResult.Malformed(e.detail()));
    } catch (RuntimeException e) {
      budget.release(held);
      return CompletableFuture.completedFuture(unexpected(e));
    }
    long all = held;
    var _ = inHand.released().thenRun(() -> budget.release(all));
    return inHand.result(deadlines, answerWithin, admission::retryAfterSpoolFailure);
  }

  /** Makes {@code now} bytes of the budget out of {@code before}; gives those back if it cannot. */
  private boolean holds(long now, long before) {
    if (now > before && !budget.reserve(now - before)) {
      budget.release(before);
      return false;
    }
    if (now < before) {
      budget.release(before - now);
    }
    return true;
  }

  private IngestResult unexpected(Throwable failure) {
    LOG.warn("logs not taken", failure);
    return new IngestResult.Unavailable(admission.retryAfterSpoolFailure());
  }

  /** UNAVAILABLE with a {@code RetryInfo}, on which clients come again. */
  static StatusException unavailable(Duration retryAfter) {
    return unavailable(UNAVAILABLE, retryAfter);
  }

  static StatusException unavailable(String message, Duration retryAfter) {
    return retryable(Status.UNAVAILABLE, message, retryAfter);
  }

  /** ABORTED with a {@code RetryInfo}: the same request is under way. */
  static StatusException underWay(Duration retryAfter) {
    return retryable(Status.ABORTED, IngestResult.InProgress.REASON, retryAfter);
  }

  /** FAILED_PRECONDITION: the client has to choose another key. */
  static StatusException keyReused() {
    return Status.FAILED_PRECONDITION
        .withDescription(IngestResult.IdempotencyKeyReused.REASON)
        .asException();
  }

  private static StatusException retryable(Status status, String message, Duration retryAfter) {
    var trailers = new Metadata();
    trailers.put(
        STATUS_DETAILS, OtlpResponses.status(status.getCode().value(), message, retryAfter));
    return status.withDescription(message).asException(trailers);
  }
}
