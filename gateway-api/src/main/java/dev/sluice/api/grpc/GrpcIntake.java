package dev.sluice.api.grpc;

import dev.sluice.api.decode.Undecodable;
import dev.sluice.core.ingest.AckLevel;
import dev.sluice.core.ingest.Admission;
import dev.sluice.core.ingest.Asked;
import dev.sluice.core.ingest.InHand;
import dev.sluice.core.ingest.IngestLogs;
import dev.sluice.core.ingest.Ingested;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.ingest.OtlpAnswer;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.core.port.Deadlines;
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

  private final IngestLogs ingest;
  private final MemoryBudget budget;
  private final Admission admission;
  private final Deadlines deadlines;
  private final Duration answerWithin;

  /**
   * @param admission who may be taken at all, and when the others should come again
   * @param answerWithin how long a client waits for its logs to be safe before it is told to retry
   */
  public GrpcIntake(
      IngestLogs ingest,
      MemoryBudget budget,
      Admission admission,
      Deadlines deadlines,
      Duration answerWithin) {
    this.ingest = ingest;
    this.budget = budget;
    this.admission = admission;
    this.deadlines = deadlines;
    this.answerWithin = answerWithin;
  }

  /** Why a call cannot be taken now; null when it may be tried. */
  Ingested.@Nullable Busy refusal(String entrance, AckLevel level) {
    var busy = admission.refusal(level);
    if (busy != null) {
      ingest.shed(entrance);
    }
    return busy;
  }

  /**
   * Takes one complete message of the current call; never fails. What goes wrong and is not the
   * client's mistake is {@link Ingested.Busy}.
   *
   * @param decoder makes OTLP of the message; {@link Undecodable} when it cannot
   */
  CompletableFuture<Ingested> take(
      String entrance, RawMessage message, Function<byte[], OtlpPayload> decoder) {
    var call = Asking.current();
    var asked = call == null ? Asked.NOTHING : call.asked();
    var answer = taken(entrance, asked, message, decoder);
    return call == null
        ? answer
        : answer.thenApply(
            ingested -> {
              call.answered(ingested);
              return ingested;
            });
  }

  private CompletableFuture<Ingested> taken(
      String entrance, Asked asked, RawMessage message, Function<byte[], OtlpPayload> decoder) {
    long held = InboundMemory.takeOver();
    var unusable = message.unusable();
    if (unusable != null) {
      budget.release(held);
      if (unusable instanceof Ingested.Busy) { // one that may come again is not to blame
        return overBudget();
      }
      ingest.unusable(entrance);
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
      needed += IngestLogs.OVERHEAD;
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

  private CompletableFuture<Ingested> overBudget() {
    return CompletableFuture.completedFuture(new Ingested.Busy(admission.afterMemory()));
  }

  private CompletableFuture<Ingested> judged(
      String entrance,
      Asked asked,
      byte[] bytes,
      Function<byte[], OtlpPayload> decoder,
      long holding) {
    long held = holding;
    InHand inHand;
    try {
      var request = asked.at(entrance, bytes);
      var payload = decoder.apply(bytes);
      if (payload.bytes() != bytes) {
        if (!holds(held + payload.bytes().length, held)) {
          return overBudget();
        }
        held += payload.bytes().length;
      }
      inHand = ingest.accept(request, payload);
    } catch (Undecodable e) {
      budget.release(held);
      ingest.unusable(entrance);
      return CompletableFuture.completedFuture(
          e.tooLarge() ? new Ingested.TooLarge(e.detail()) : new Ingested.Malformed(e.detail()));
    } catch (RuntimeException e) {
      budget.release(held);
      return CompletableFuture.completedFuture(unexpected(e));
    }
    long all = held;
    var _ = inHand.free().thenRun(() -> budget.release(all));
    return inHand.answer(deadlines, answerWithin, admission::afterTrouble);
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

  private Ingested unexpected(Throwable failure) {
    LOG.warn("logs not taken", failure);
    return new Ingested.Busy(admission.afterTrouble());
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
    return retryable(Status.ABORTED, Ingested.UnderWay.REASON, retryAfter);
  }

  /** FAILED_PRECONDITION: the client has to choose another key. */
  static StatusException keyReused() {
    return Status.FAILED_PRECONDITION.withDescription(Ingested.KeyReused.REASON).asException();
  }

  private static StatusException retryable(Status status, String message, Duration retryAfter) {
    var trailers = new Metadata();
    trailers.put(STATUS_DETAILS, OtlpAnswer.status(status.getCode().value(), message, retryAfter));
    return status.withDescription(message).asException(trailers);
  }
}
