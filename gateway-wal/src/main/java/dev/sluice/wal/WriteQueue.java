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

/** Frames that wait to be written, in order, and how much all that is under way may hold. */
final class WriteQueue {

  /** A frame, and who is to be told of it. */
  record PendingFrame(Frame frame, CompletableFuture<FrameWriteResult> result) {
    long bytes() {
      return frame.bytes().length;
    }
  }

  /**
   * What is written together.
   *
   * @param force whether it is time to make durable what was written before
   * @param last whether nothing comes after it
   */
  record WriteBatch(List<PendingFrame> frames, boolean force, boolean last) {}

  private final WalSpool.WriteSettings settings;
  private final Scheduler scheduler;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition workAvailable = lock.newCondition();
  private List<PendingFrame> frames = new ArrayList<>();

  /** Bytes of what is about to be encoded and of frames. */
  private long heldBytes;

  /** Bytes of frames. */
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
          && bytes > settings.queueBytes() - heldBytes) { // a lone one gets in, however large
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
      return new FrameWriteResult.Failed(SegmentLog.RETRY_AFTER, "the write-ahead log is closed");
    }
    return queuedBytes > 0 && bytes > settings.queueBytes() - queuedBytes
        ? new FrameWriteResult.Failed(SegmentLog.RETRY_AFTER, excessReason(queuedBytes))
        : null;
  }

  private String excessReason(long pendingBytes) {
    return "%d bytes wait to be written, all together may be %d"
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

  /** Has the writer look after its files. */
  void wake() {
    lock.lock();
    try {
      signalDue();
    } finally {
      lock.unlock();
    }
  }

  /** Something was written that is not durable; the writer is to see to it when it is time. */
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

  /** Nothing is taken any more; what waits is the last group. */
  void close() {
    lock.lock();
    try {
      closed = true;
      signalDue();
    } finally {
      lock.unlock();
    }
  }

  /** Waits until there is something to do. */
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

  /** Tells who waits; the frame is held no more. */
  void complete(PendingFrame pending, FrameWriteResult result) {
    if (!pending.result().isDone()) {
      releaseWritten(pending.bytes());
      pending.result().complete(result);
    }
  }
}
