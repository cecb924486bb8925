package dev.sluice.api.grpc;

import dev.sluice.api.decode.Undecodable;
import dev.sluice.core.ingest.IngestLogs;
import dev.sluice.core.ingest.Ingested;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.ingest.OtlpAnswer;
import dev.sluice.core.ingest.OtlpPayload;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What every gRPC entrance does with a message: decode, hand in, and give the memory back. Safe for
 * use by many threads; nothing blocks.
 */
public final class GrpcIntake {
  private static final Logger LOG = LoggerFactory.getLogger(GrpcIntake.class);
  private static final Duration UNKNOWN_TROUBLE = Duration.ofSeconds(5);

  /** Above this, judging a message would keep its event loop's other connections waiting. */
  private static final int LONG_WORK = 1 << 20;

  static final Duration OVER_BUDGET = Duration.ofSeconds(1);
  static final String UNAVAILABLE = "logs cannot be made safe at the moment";

  private static final Metadata.Key<byte[]> STATUS_DETAILS =
      Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);

  private final IngestLogs ingest;
  private final MemoryBudget budget;
  private final Duration answerWithin;

  /**
   * @param answerWithin how long a client waits for its logs to be safe before it is told to retry
   */
  public GrpcIntake(IngestLogs ingest, MemoryBudget budget, Duration answerWithin) {
    this.ingest = ingest;
    this.budget = budget;
    this.answerWithin = answerWithin;
  }

  /**
   * Takes one complete message of the current call; never fails. What goes wrong and is not the
   * client's mistake is {@link Ingested.Busy}.
   *
   * @param decoder makes OTLP of the message; {@link Undecodable} when it cannot
   */
  CompletableFuture<Ingested> take(
      String entrance, RawMessage message, Function<byte[], OtlpPayload> decoder) {
    long held = InboundMemory.takeOver();
    var unusable = message.unusable();
    if (unusable != null) {
      budget.release(held);
      if (!(unusable instanceof Ingested.Busy)) { // one that may come again is not to blame
        ingest.unusable(entrance);
      }
      return CompletableFuture.completedFuture(unusable);
    }
    var bytes = message.bytes();
    if (!holds(bytes.length, held)) {
      return CompletableFuture.completedFuture(new Ingested.Busy(OVER_BUDGET));
    }
    if (bytes.length <= LONG_WORK) {
      return judged(entrance, bytes, decoder);
    }
    return CompletableFuture.completedFuture(bytes)
        .thenComposeAsync(all -> judged(entrance, all, decoder), ForkJoinPool.commonPool());
  }

  private CompletableFuture<Ingested> judged(
      String entrance, byte[] bytes, Function<byte[], OtlpPayload> decoder) {
    long held = bytes.length;
    CompletableFuture<Ingested> ingested;
    try {
      var payload = decoder.apply(bytes);
      if (payload.bytes() != bytes) {
        if (!holds(held + payload.bytes().length, held)) {
          return CompletableFuture.completedFuture(new Ingested.Busy(OVER_BUDGET));
        }
        held += payload.bytes().length;
      }
      ingested = ingest.accept(entrance, payload).toCompletableFuture();
    } catch (Undecodable e) {
      budget.release(held);
      ingest.unusable(entrance);
      return CompletableFuture.completedFuture(
          e.tooLarge() ? new Ingested.TooLarge(e.detail()) : new Ingested.Malformed(e.detail()));
    } catch (RuntimeException e) {
      budget.release(held);
      return CompletableFuture.completedFuture(unexpected(e));
    }
    long holding = held;
    var _ = ingested.whenComplete((_, _) -> budget.release(holding));
    // a copy times out, not the original: what is on its way is counted when it arrives
    return ingested
        .copy()
        .orTimeout(answerWithin.toMillis(), TimeUnit.MILLISECONDS)
        .exceptionally(GrpcIntake::unexpected);
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

  private static Ingested unexpected(Throwable failure) {
    if (!(failure instanceof TimeoutException)) {
      LOG.warn("logs not taken", failure);
    }
    return new Ingested.Busy(UNKNOWN_TROUBLE);
  }

  /** UNAVAILABLE with a {@code RetryInfo}, on which clients come again. */
  static StatusException unavailable(Duration retryAfter) {
    return unavailable(UNAVAILABLE, retryAfter);
  }

  static StatusException unavailable(String message, Duration retryAfter) {
    var trailers = new Metadata();
    trailers.put(
        STATUS_DETAILS, OtlpAnswer.status(Status.Code.UNAVAILABLE.value(), message, retryAfter));
    return Status.UNAVAILABLE.withDescription(message).asException(trailers);
  }
}
