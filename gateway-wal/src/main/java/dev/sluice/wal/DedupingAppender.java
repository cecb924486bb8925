package dev.sluice.wal;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.IdempotencyStore.Claim;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.core.port.Spool.Receipt;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Encodes batches to frames and appends each batch once: recognizes a repeated append by its append
 * id for {@link #DEDUP_RETENTION}.
 *
 * <p>Safe for use by many threads; no method blocks except {@link #close}. Frames are encoded
 * concurrently by separate threads, because the calling thread may be the WAL writer, a timer or an
 * event loop. They are written in the order of the calls.
 */
final class DedupingAppender implements AutoCloseable {

  /**
   * An append of the last minutes.
   *
   * @param at the time of the append
   * @param result the result, shared by all appends with the same append id
   */
  private record RecentAppend(Instant at, CompletionStage<AppendResult> result) {}

  /** Retention of an append id; much longer than an append is retried. */
  private static final Duration DEDUP_RETENTION = Duration.ofMinutes(2);

  private static final int MAX_RECENT_APPENDS = 200_000;

  /** Number of copies of a batch during its encoding: its OTLP bytes, the lines and the frame. */
  private static final int COPIES = 3;

  /** Bytes of a line besides the text of its record: the batch header and the field names. */
  private static final int LINE_OVERHEAD_BYTES = 350;

  private static final Duration RETRY_AFTER = Duration.ofSeconds(1);
  private static final CompletionStage<AppendResult> CLOSED =
      CompletableFuture.completedStage(new AppendResult.Unavailable(RETRY_AFTER, "closed"));

  private final SegmentLog segmentLog;
  private final FrameCodec codec;
  private final ConsumerState consumerState;
  private final IdempotencyKeyTable idempotencyKeyTable;
  private final InstantSource clock;

  /** Platform threads: encoding does not block, and shares the cores with the delivery. */
  private final ExecutorService encoders =
      Executors.newFixedThreadPool(
          Runtime.getRuntime().availableProcessors(),
          Thread.ofPlatform().name("wal-encoder-", 0).daemon().factory());

  /** Recent appends by append id, oldest first. */
  private final Map<UUID, RecentAppend> recentAppends = new LinkedHashMap<>();

  /** Completes when the latest append is queued or has failed. */
  private CompletableFuture<?> lastQueued = CompletableFuture.completedFuture(null);

  private boolean closed;

  DedupingAppender(
      SegmentLog segmentLog,
      FrameCodec codec,
      ConsumerState consumerState,
      IdempotencyKeyTable idempotencyKeyTable,
      InstantSource clock) {
    this.segmentLog = segmentLog;
    this.codec = codec;
    this.consumerState = consumerState;
    this.idempotencyKeyTable = idempotencyKeyTable;
    this.clock = clock;
  }

  /**
   * Appends a batch.
   *
   * @param awaited see {@link SegmentLog#append}
   * @param possibleDuplicate see {@link WalEntry}
   * @param claim the claim of the idempotency key of the batch; null for none
   */
  CompletionStage<AppendResult> append(
      LogBatch batch, boolean awaited, boolean possibleDuplicate, @Nullable Claim claim) {
    var recent = recentResult(batch.appendId());
    if (recent != null) {
      return recent;
    }
    long reservedBytes =
        COPIES * (batch.memoryWeight() + (long) LINE_OVERHEAD_BYTES * batch.records());
    var excess = segmentLog.reserve(reservedBytes);
    if (excess != null) {
      return CompletableFuture.completedStage(new AppendResult.Unavailable(RETRY_AFTER, excess));
    }
    return encodeAndQueue(
            new WalEntry(batch, possibleDuplicate, claim == null ? null : claim.key()),
            awaited,
            claim)
        .whenComplete((_, _) -> segmentLog.release(reservedBytes))
        .thenCompose(Function.identity());
  }

  private synchronized CompletableFuture<CompletionStage<AppendResult>> encodeAndQueue(
      WalEntry entry, boolean awaited, @Nullable Claim claim) {
    if (closed) {
      return CompletableFuture.completedFuture(CLOSED);
    }
    var queued =
        CompletableFuture.supplyAsync(() -> codec.encode(entry), encoders)
            .thenCombine(lastQueued, (frame, _) -> queue(entry, frame, awaited, claim));
    lastQueued = queued.exceptionally(_ -> null);
    return queued;
  }

  private synchronized @Nullable CompletionStage<AppendResult> recentResult(UUID appendId) {
    var recent = recentAppends.get(appendId);
    return recent == null ? null : recent.result();
  }

  /** Queues a frame. Frames are written and counted in the order of the calls. */
  private synchronized CompletionStage<AppendResult> queue(
      WalEntry entry, Frame frame, boolean awaited, @Nullable Claim claim) {
    var batch = entry.batch();
    var recent = recentResult(batch.appendId());
    if (recent != null) {
      return recent;
    }
    if (closed) {
      return CLOSED;
    }
    if (claim != null && !idempotencyKeyTable.beginAppend(claim)) {
      return CompletableFuture.completedStage(new AppendResult.ClaimLost());
    }
    var result = new CompletableFuture<AppendResult>();
    remember(batch.appendId(), result);
    var _ =
        segmentLog
            .append(frame, awaited)
            .thenApply(frameWriteResult -> onWritten(frameWriteResult, entry, claim))
            .whenComplete(
                (appendResult, failure) -> {
                  if (failure != null) {
                    forget(batch.appendId(), claim);
                    result.completeExceptionally(failure);
                  } else {
                    result.complete(appendResult);
                  }
                });
    return result;
  }

  private AppendResult onWritten(
      SegmentLog.FrameWriteResult frameWriteResult, WalEntry entry, @Nullable Claim claim) {
    var batch = entry.batch();
    return switch (frameWriteResult) {
      case SegmentLog.FrameWriteResult.FrameWritten(var position) -> {
        consumerState.count(position, batch.appendId(), batch.day(), batch.records());
        if (claim != null) {
          idempotencyKeyTable.complete(
              IdempotencyKeyTable.completedKey(claim.key(), batch.receivedNanos()));
        }
        yield new AppendResult.Accepted(receipt(position));
      }
      case SegmentLog.FrameWriteResult.Failed(var retryAfter, var reason) -> {
        forget(batch.appendId(), claim);
        yield new AppendResult.Unavailable(retryAfter, reason);
      }
    };
  }

  private static Receipt receipt(FramePosition position) {
    return new Receipt(0, position.toString());
  }

  private synchronized void forget(UUID appendId, @Nullable Claim claim) {
    recentAppends.remove(appendId);
    if (claim != null) {
      idempotencyKeyTable.abortAppend(claim);
    }
  }

  /** Remembers an append that is already in the log. */
  synchronized void remember(UUID appendId, FramePosition position) {
    remember(
        appendId, CompletableFuture.completedStage(new AppendResult.Accepted(receipt(position))));
  }

  private void remember(UUID appendId, CompletionStage<AppendResult> result) {
    var now = clock.instant();
    var oldest = recentAppends.values().iterator();
    while (oldest.hasNext()) {
      boolean expired = oldest.next().at().plus(DEDUP_RETENTION).isBefore(now);
      if (!expired && recentAppends.size() < MAX_RECENT_APPENDS) {
        break;
      }
      oldest.remove();
    }
    recentAppends.put(appendId, new RecentAppend(now, result));
  }

  /**
   * Rejects further appends and waits for the encoders. Appends in the encoders return {@link
   * AppendResult.Unavailable}.
   */
  @Override
  public void close() {
    synchronized (this) {
      closed = true;
    }
    encoders.close();
  }
}
