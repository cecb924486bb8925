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
 * A tracer that counts the bytes of messages against the {@link MemoryBudget} while they arrive,
 * and not only when they are complete. Otherwise many clients that send large messages slowly could
 * take all memory.
 *
 * <p>gRPC reports bytes to a tracer when it reads them from the flow-control window. Bytes in the
 * window are not reported; the window size of each call and the number of calls per connection
 * limit them.
 *
 * <p>A message that is not complete in time closes its call, which releases its memory.
 *
 * <p>{@link GrpcIngest} takes over the reservation of a call together with its message, so that no
 * byte counts twice. The end of the call releases the rest.
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
   * @param budget the memory budget of all requests together
   * @param messageTimeout maximum time from the first to the last byte of a message
   * @param nanoTime a monotonic clock such as {@link System#nanoTime}
   * @param scheduler the scheduler of the timeout checks
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

  /** Schedules a check of all incomplete messages, which costs less than a timer per message. */
  private void scheduleCheck() {
    if (!unfinished.isEmpty() && checkScheduled.compareAndSet(false, true)) {
      var half = messageTimeout.dividedBy(2);
      try {
        scheduler.schedule(
            half.compareTo(MAX_CHECK_INTERVAL) < 0 ? half : MAX_CHECK_INTERVAL,
            this::closeTimedOutCalls);
      } catch (RuntimeException _) {
        checkScheduled.set(false); // the timer is shut down, and the server with it
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
   * Sets the action for a message of the current call that is not complete in time. The action runs
   * on any thread.
   */
  static void onMessageTimeout(Runnable action) {
    var reservation = RESERVATION.get();
    if (reservation != null) {
      reservation.timeoutAction = action;
    }
  }

  /**
   * Reserves the decompressed size of a message of the current call, as far as it is above the size
   * on the wire.
   *
   * @return false when the budget is exceeded
   */
  static boolean reserveDecompressed(int bytes) {
    var reservation = RESERVATION.get();
    return reservation == null || reservation.reserveDecompressed(bytes);
  }

  /**
   * Transfers the reservation of the complete messages of the current call to the caller, which
   * must release it.
   *
   * @return the reserved bytes
   */
  static long takeOver() {
    var reservation = RESERVATION.get();
    return reservation == null ? 0 : reservation.takeOver();
  }

  /**
   * The reservation of one call. Bytes arrive on the event loop of the connection; messages are
   * read on the executor of the server.
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

    /** Reserves arriving bytes. An exception from here closes the call with its status. */
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

  /**
   * The memory budget is exceeded. The exception is a response, so it has no stack trace. gRPC logs
   * it; application.yaml disables that logger.
   */
  private static final class OverBudgetException extends StatusRuntimeException {
    @Serial private static final long serialVersionUID = 1L;

    OverBudgetException() {
      super(Status.UNAVAILABLE.withDescription(GrpcStatuses.UNAVAILABLE_MESSAGE));
    }

    @Override
    public synchronized Throwable fillInStackTrace() {
      return this;
    }
  }
}
