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
 * <p>{@link GrpcIntake} takes over what a call holds together with its message, so that nothing
 * counts twice; what nobody takes over is given back at the end of the call.
 */
public final class InboundMemory extends ServerStreamTracer.Factory {
  private static final Context.Key<Held> HELD = Context.key("sluice-inbound-memory");

  private static final Duration LONGEST_BEAT = Duration.ofSeconds(1);

  private final MemoryBudget budget;
  private final Duration messageWithin;
  private final LongSupplier nanoTime;
  private final Scheduler timer;
  private final Set<Held> unfinished = ConcurrentHashMap.newKeySet();
  private final AtomicBoolean beating = new AtomicBoolean();

  /**
   * @param messageWithin how long a message may take to come, from its first byte to its last
   * @param nanoTime as {@link System#nanoTime}, whose differences nobody who sets a clock changes
   */
  public InboundMemory(
      MemoryBudget budget, Duration messageWithin, LongSupplier nanoTime, Scheduler timer) {
    this.budget = budget;
    this.messageWithin = messageWithin;
    this.nanoTime = nanoTime;
    this.timer = timer;
  }

  @Override
  public ServerStreamTracer newServerStreamTracer(String fullMethodName, Metadata headers) {
    return new Held();
  }

  /** One look at all unfinished messages now and then costs less than a timer for each. */
  private void beat() {
    if (!unfinished.isEmpty() && beating.compareAndSet(false, true)) {
      var half = messageWithin.dividedBy(2);
      try {
        timer.schedule(half.compareTo(LONGEST_BEAT) < 0 ? half : LONGEST_BEAT, this::look);
      } catch (RuntimeException _) {
        beating.set(false); // a timer that is shutting down, and the server with it
      }
    }
  }

  private void look() {
    long now = nanoTime.getAsLong();
    for (var held : unfinished) {
      held.endIfTooSlow(now);
    }
    beating.set(false);
    beat();
  }

  /**
   * Says what to do when a message of the current call does not come to its end in time; it is run
   * on any thread.
   */
  static void watch(Runnable stalled) {
    var held = HELD.get();
    if (held != null) {
      held.stalled = stalled;
    }
  }

  /**
   * The current call has a message of this size in memory, whatever it was on the wire.
   *
   * @return false when the budget does not allow for what decompression made of it
   */
  static boolean complete(int bytes) {
    var held = HELD.get();
    return held == null || held.complete(bytes);
  }

  /** Leaves to the caller what the current call has reserved for messages that are complete. */
  static long takeOver() {
    var held = HELD.get();
    return held == null ? 0 : held.takeOver();
  }

  /**
   * Of one call. Bytes arrive on the connection's event loop, messages are taken wherever the
   * server runs its calls.
   */
  private final class Held extends ServerStreamTracer {
    private long arriving;
    private volatile @Nullable Long begun;
    private volatile @Nullable Runnable stalled;
    private final AtomicLong complete = new AtomicLong();
    private volatile boolean closed;

    @Override
    public Context filterContext(Context context) {
      return context.withValue(HELD, this);
    }

    /** What it throws ends the call with that status. */
    @Override
    public void inboundWireSize(long bytes) {
      if (!budget.reserve(bytes)) {
        throw new OverBudget();
      }
      if (arriving == 0 && bytes > 0) {
        begun = nanoTime.getAsLong();
        unfinished.add(this);
        beat();
      }
      arriving += bytes;
    }

    private void endIfTooSlow(long now) {
      var since = begun;
      var end = stalled;
      if (since != null && now - since > messageWithin.toNanos() && end != null) {
        finished();
        end.run();
      }
    }

    private void finished() {
      begun = null;
      unfinished.remove(this);
    }

    @Override
    public void inboundMessageRead(int seqNo, long wireSize, long uncompressedSize) {
      complete.addAndGet(arriving);
      arriving = 0;
      finished();
    }

    private boolean complete(int bytes) {
      long more = bytes - complete.get();
      if (more > 0) {
        if (!budget.reserve(more)) {
          return false;
        }
        complete.addAndGet(more);
        if (closed) {
          budget.release(complete.getAndSet(0));
        }
      }
      return true;
    }

    private long takeOver() {
      return complete.getAndSet(0);
    }

    @Override
    public void streamClosed(@Nullable Status status) {
      closed = true;
      finished();
      budget.release(arriving + complete.getAndSet(0));
      arriving = 0;
    }
  }

  /** Without a stack, since it is an answer; gRPC logs it, which application.yaml turns off. */
  private static final class OverBudget extends StatusRuntimeException {
    @Serial private static final long serialVersionUID = 1L;

    OverBudget() {
      super(Status.UNAVAILABLE.withDescription(GrpcIntake.UNAVAILABLE));
    }

    @Override
    public synchronized Throwable fillInStackTrace() {
      return this;
    }
  }
}
