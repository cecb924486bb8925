package dev.sluice.wal;

import dev.sluice.core.port.Scheduler;
import dev.sluice.wal.SegmentLog.FrameWriteResult;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The queue of frames to write, in order, with a limit on the memory of all appends that are not
 * written. Safe for use by many threads; only {@link #take} waits.
 */
final class WriteQueue {

  /** A queued frame, with the future of its result. */
  record PendingFrame(Frame frame, CompletableFuture<FrameWriteResult> result) {
    long bytes() {
      return frame.bytes().length;
    }
  }

  /**
   * The frames of one write.
   *
   * @param frames the frames, in order; may be empty
   * @param force whether earlier frames must be made durable now
   * @param last whether the queue is closed and this is the last batch
   */
  record WriteBatch(List<PendingFrame> frames, boolean force, boolean last) {}

  private final WalSpool.WriteSettings settings;
  private final Scheduler scheduler;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition workAvailable = lock.newCondition();
  private List<PendingFrame> frames = new ArrayList<>();

  /** Memory in bytes of reservations and of queued frames. */
  private long heldBytes;

  /** Memory in bytes of queued frames. */
  private long queuedBytes;

  private long payloadBytes;
  private boolean due;
  private boolean forceDue;
  private boolean flushScheduled;
  private boolean forceScheduled;
  private boolean closed;

  WriteQueue(WalSpool.WriteSettings settings, Scheduler scheduler) {
    this.settings = settings;
    this.scheduler = scheduler;
  }

  /** See {@link SegmentLog#reserve}. */
  @Nullable String reserve(long bytes) {
    lock.lock();
    try {
      if (heldBytes > 0
          && bytes > settings.queueBytes() - heldBytes) { // a single append of any size passes
        return excessReason(heldBytes);
      }
      heldBytes += bytes;
      return null;
    } finally {
      lock.unlock();
    }
  }

  void release(long bytes) {
    lock.lock();
    try {
      heldBytes -= bytes;
    } finally {
      lock.unlock();
    }
  }

  private void releaseWritten(long bytes) {
    lock.lock();
    try {
      heldBytes -= bytes;
      queuedBytes -= bytes;
    } finally {
      lock.unlock();
    }
  }

  CompletionStage<FrameWriteResult> append(Frame frame, boolean awaited) {
    var pending = new PendingFrame(frame, new CompletableFuture<>());
    boolean schedule;
    lock.lock();
    try {
      var failure = checkCapacity(pending.bytes());
      if (failure != null) {
        return CompletableFuture.completedFuture(failure);
      }
      heldBytes += pending.bytes();
      queuedBytes += pending.bytes();
      payloadBytes += frame.payloadBytes();
      frames.add(pending);
      if (awaited || payloadBytes >= settings.flushBytes()) {
        signalDue();
      }
      schedule = !due && !flushScheduled;
      flushScheduled |= schedule;
    } finally {
      lock.unlock();
    }
    if (schedule) {
      scheduler.schedule(settings.flushInterval(), this::onFlushTimer);
    }
    return pending.result();
  }

  private FrameWriteResult.@Nullable Failed checkCapacity(long bytes) {
    if (closed) {
      return new FrameWriteResult.Failed(SegmentLog.RETRY_AFTER, "the WAL is closed");
    }
    return queuedBytes > 0 && bytes > settings.queueBytes() - queuedBytes
        ? new FrameWriteResult.Failed(SegmentLog.RETRY_AFTER, excessReason(queuedBytes))
        : null;
  }

  private String excessReason(long pendingBytes) {
    return "%d bytes wait to be written to the WAL, the limit is %d"
        .formatted(pendingBytes, settings.queueBytes());
  }

  private void onFlushTimer() {
    lock.lock();
    try {
      flushScheduled = false;
      if (!frames.isEmpty()) {
        signalDue();
      }
    } finally {
      lock.unlock();
    }
  }

  private void signalDue() {
    due = true;
    workAvailable.signal();
  }

  /** Wakes the writer, which then also prunes segments. */
  void wake() {
    lock.lock();
    try {
      signalDue();
    } finally {
      lock.unlock();
    }
  }

  /** Schedules an fsync of frames that are written and not durable, after the fsync interval. */
  void scheduleForce() {
    lock.lock();
    try {
      if (forceScheduled) {
        return;
      }
      forceScheduled = true;
    } finally {
      lock.unlock();
    }
    scheduler.schedule(settings.fsyncInterval(), this::onForceTimer);
  }

  private void onForceTimer() {
    lock.lock();
    try {
      forceScheduled = false;
      forceDue = true;
      signalDue();
    } finally {
      lock.unlock();
    }
  }

  /** Closes the queue: rejects further frames. The queued frames become the last batch. */
  void close() {
    lock.lock();
    try {
      closed = true;
      signalDue();
    } finally {
      lock.unlock();
    }
  }

  /** Waits for work, and removes all queued frames. */
  WriteBatch take() {
    lock.lock();
    try {
      while (!due) {
        workAvailable.awaitUninterruptibly();
      }
      var batch = new WriteBatch(frames, forceDue, closed);
      frames = new ArrayList<>();
      payloadBytes = 0;
      due = false;
      forceDue = false;
      return batch;
    } finally {
      lock.unlock();
    }
  }

  /** Completes the result of a frame and releases its memory; has no effect a second time. */
  void complete(PendingFrame pending, FrameWriteResult result) {
    if (!pending.result().isDone()) {
      releaseWritten(pending.bytes());
      pending.result().complete(result);
    }
  }
}
