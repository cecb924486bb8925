package dev.sluice.wal;

import dev.sluice.core.port.Scheduler;
import dev.sluice.wal.Segments.Written;
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
  record Pending(Frame frame, CompletableFuture<Written> written) {
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
  record Group(List<Pending> frames, boolean force, boolean last) {}

  private final WalSpool.Writing writing;
  private final Scheduler timer;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition wanted = lock.newCondition();
  private List<Pending> frames = new ArrayList<>();

  /** Bytes of what is about to be encoded and of frames. */
  private long held;

  /** Bytes of frames. */
  private long queued;

  private long payload;
  private boolean due;
  private boolean forceDue;
  private boolean flushArmed;
  private boolean forceArmed;
  private boolean closed;

  WriteQueue(WalSpool.Writing writing, Scheduler timer) {
    this.writing = writing;
    this.timer = timer;
  }

  /** See {@link Segments#reserve}. */
  @Nullable String reserve(long bytes) {
    lock.lock();
    try {
      if (held > 0 && bytes > writing.queueBytes() - held) { // a lone one gets in, however large
        return excess(held);
      }
      held += bytes;
      return null;
    } finally {
      lock.unlock();
    }
  }

  void release(long bytes) {
    lock.lock();
    try {
      held -= bytes;
    } finally {
      lock.unlock();
    }
  }

  private void written(long bytes) {
    lock.lock();
    try {
      held -= bytes;
      queued -= bytes;
    } finally {
      lock.unlock();
    }
  }

  CompletionStage<Written> append(Frame frame, boolean awaited) {
    var pending = new Pending(frame, new CompletableFuture<>());
    boolean arm;
    lock.lock();
    try {
      var obstacle = obstacle(pending.bytes());
      if (obstacle != null) {
        return CompletableFuture.completedFuture(obstacle);
      }
      held += pending.bytes();
      queued += pending.bytes();
      payload += frame.payloadBytes();
      frames.add(pending);
      if (awaited || payload >= writing.flushBytes()) {
        beDue();
      }
      arm = !due && !flushArmed;
      flushArmed |= arm;
    } finally {
      lock.unlock();
    }
    if (arm) {
      timer.schedule(writing.flushAfter(), this::grownOld);
    }
    return pending.written();
  }

  private Written.@Nullable Not obstacle(long bytes) {
    if (closed) {
      return new Written.Not(Segments.RETRY, "the write-ahead log is closed");
    }
    return queued > 0 && bytes > writing.queueBytes() - queued
        ? new Written.Not(Segments.RETRY, excess(queued))
        : null;
  }

  private String excess(long waiting) {
    return "%d bytes wait to be written, all together may be %d"
        .formatted(waiting, writing.queueBytes());
  }

  private void grownOld() {
    lock.lock();
    try {
      flushArmed = false;
      if (!frames.isEmpty()) {
        beDue();
      }
    } finally {
      lock.unlock();
    }
  }

  private void beDue() {
    due = true;
    wanted.signal();
  }

  /** Has the writer look after its files. */
  void wake() {
    lock.lock();
    try {
      beDue();
    } finally {
      lock.unlock();
    }
  }

  /** Something was written that is not durable; the writer is to see to it when it is time. */
  void forceLater() {
    lock.lock();
    try {
      if (forceArmed) {
        return;
      }
      forceArmed = true;
    } finally {
      lock.unlock();
    }
    timer.schedule(writing.fsyncInterval(), this::forceNow);
  }

  private void forceNow() {
    lock.lock();
    try {
      forceArmed = false;
      forceDue = true;
      beDue();
    } finally {
      lock.unlock();
    }
  }

  /** Nothing is taken any more; what waits is the last group. */
  void close() {
    lock.lock();
    try {
      closed = true;
      beDue();
    } finally {
      lock.unlock();
    }
  }

  /** Waits until there is something to do. */
  Group take() {
    lock.lock();
    try {
      while (!due) {
        wanted.awaitUninterruptibly();
      }
      var group = new Group(frames, forceDue, closed);
      frames = new ArrayList<>();
      payload = 0;
      due = false;
      forceDue = false;
      return group;
    } finally {
      lock.unlock();
    }
  }

  /** Tells who waits; the frame is held no more. */
  void answer(Pending pending, Written written) {
    if (!pending.written().isDone()) {
      written(pending.bytes());
      pending.written().complete(written);
    }
  }
}
