package dev.sluice.api.grpc;

import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.port.Scheduler;
import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.ServerStreamTracer;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.Serial;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Counts the bytes of messages against the {@link MemoryBudget} while they come in, not only when
 * they are complete: many clients that each send a large message slowly would otherwise hold
 * whatever they like.
 *
 * <p>gRPC tells a tracer of the bytes as it takes them out of the connection's flow control. What
 * it does not tell of is what waits there because nobody asked for a message yet: that is bounded
 * by the flow control window of each call, and by how many calls a connection may have.
 *
 * <p>A message whose rest does not come in time costs its call, so that what it holds is free
 * again.
 *
 * <p>{@link GrpcIngestPipeline} takes over what a call holds together with its message, so that
 * nothing counts twice; what nobody takes over is given back at the end of the call.
 */
public final class InboundMemoryTracer extends ServerStreamTracer.Factory {
  private static final Context.Key<StreamReservation> RESERVATION =
      Context.key("sluice-inbound-memory");

  private static final Duration MAX_CHECK_INTERVAL = Duration.ofSeconds(1);

  private final MemoryBudget budget;
  private final Duration messageTimeout;
  private final LongSupplier nanoTime;
  private final Scheduler scheduler;
  private final Set<StreamReservation> unfinished = ConcurrentHashMap.newKeySet();
  private final AtomicBoolean checkScheduled = new AtomicBoolean();

  /**
   * @param messageTimeout how long a message may take to come, from its first byte to its last
   * @param nanoTime as {@link System#nanoTime}, whose differences nobody who sets a clock changes
   */
  public InboundMemoryTracer(
      MemoryBudget budget, Duration messageTimeout, LongSupplier nanoTime, Scheduler scheduler) {
    this.budget = budget;
    this.messageTimeout = messageTimeout;
    this.nanoTime = nanoTime;
    this.scheduler = scheduler;
  }

  @Override
  public ServerStreamTracer newServerStreamTracer(String fullMethodName, Metadata headers) {
    return new StreamReservation();
  }

  /** One look at all unfinished messages now and then costs less than a timer for each. */
  private void scheduleCheck() {
    if (!unfinished.isEmpty() && checkScheduled.compareAndSet(false, true)) {
      var half = messageTimeout.dividedBy(2);
      try {
        scheduler.schedule(
            half.compareTo(MAX_CHECK_INTERVAL) < 0 ? half : MAX_CHECK_INTERVAL,
            this::closeTimedOutCalls);
      } catch (RuntimeException _) {
        checkScheduled.set(false); // a timer that is shutting down, and the server with it
      }
    }
  }

  private void closeTimedOutCalls() {
    long now = nanoTime.getAsLong();
    for (var reservation : unfinished) {
      reservation.closeIfTimedOut(now);
    }
    checkScheduled.set(false);
    scheduleCheck();
  }

  /**
   * Says what to do when a message of the current call does not come to its end in time; it is run
   * on any thread.
   */
  static void onMessageTimeout(Runnable action) {
    var reservation = RESERVATION.get();
    if (reservation != null) {
      reservation.timeoutAction = action;
    }
  }

  /**
   * The current call has a message of this size in memory, whatever it was on the wire.
   *
   * @return false when the budget does not allow for what decompression made of it
   */
  static boolean reserveDecompressed(int bytes) {
    var reservation = RESERVATION.get();
    return reservation == null || reservation.reserveDecompressed(bytes);
  }

  /** Leaves to the caller what the current call has reserved for messages that are complete. */
  static long takeOver() {
    var reservation = RESERVATION.get();
    return reservation == null ? 0 : reservation.takeOver();
  }

  /**
   * Of one call. Bytes arrive on the connection's event loop, messages are taken wherever the
   * server runs its calls.
   */
  private final class StreamReservation extends ServerStreamTracer {
    private long arrivingBytes;
    private volatile @Nullable Long firstByteNanos;
    private volatile @Nullable Runnable timeoutAction;
    private final AtomicLong completedBytes = new AtomicLong();
    private volatile boolean closed;

    @Override
    public Context filterContext(Context context) {
      return context.withValue(RESERVATION, this);
    }

    /** What it throws ends the call with that status. */
    @Override
    public void inboundWireSize(long bytes) {
      if (!budget.reserve(bytes)) {
        throw new OverBudgetException();
      }
      if (arrivingBytes == 0 && bytes > 0) {
        firstByteNanos = nanoTime.getAsLong();
        unfinished.add(this);
        scheduleCheck();
      }
      arrivingBytes += bytes;
    }

    private void closeIfTimedOut(long now) {
      var since = firstByteNanos;
      var end = timeoutAction;
      if (since != null && now - since > messageTimeout.toNanos() && end != null) {
        stopTimer();
        end.run();
      }
    }

    private void stopTimer() {
      firstByteNanos = null;
      unfinished.remove(this);
    }

    @Override
    public void inboundMessageRead(int seqNo, long wireSize, long uncompressedSize) {
      completedBytes.addAndGet(arrivingBytes);
      arrivingBytes = 0;
      stopTimer();
    }

    private boolean reserveDecompressed(int bytes) {
      long more = bytes - completedBytes.get();
      if (more > 0) {
        if (!budget.reserve(more)) {
          return false;
        }
        completedBytes.addAndGet(more);
        if (closed) {
          budget.release(completedBytes.getAndSet(0));
        }
      }
      return true;
    }

    private long takeOver() {
      return completedBytes.getAndSet(0);
    }

    @Override
    public void streamClosed(@Nullable Status status) {
      closed = true;
      stopTimer();
      budget.release(arrivingBytes + completedBytes.getAndSet(0));
      arrivingBytes = 0;
    }
  }

  /** Without a stack, since it is an answer; gRPC logs it, which application.yaml turns off. */
  private static final class OverBudgetException extends StatusRuntimeException {
    @Serial private static final long serialVersionUID = 1L;

    OverBudgetException() {
      super(Status.UNAVAILABLE.withDescription(GrpcIngestPipeline.UNAVAILABLE_MESSAGE));
    }

    @Override
    public synchronized Throwable fillInStackTrace() {
      return this;
    }
  }
}
