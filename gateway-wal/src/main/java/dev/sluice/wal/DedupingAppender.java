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
 * Batches to frames in the log, each once: an append is remembered for a while, by its id.
 *
 * <p>Safe for use by many threads, none of which waits: frames are encoded by threads of their own,
 * side by side, since who appends may be the thread that writes, a timer or an event loop. They get
 * into the log in the order in which they came.
 */
final class DedupingAppender implements AutoCloseable {

  /**
   * @param result the same for all who append it
   */
  private record RecentAppend(Instant at, CompletionStage<AppendResult> result) {}

  /** Longer than anybody tries an append again, by a wide margin. */
  private static final Duration DEDUP_RETENTION = Duration.ofMinutes(2);

  private static final int MAX_RECENT_APPENDS = 200_000;

  /** How much an append may hold while it is encoded: its logs, their lines and the frame. */
  private static final int COPIES = 3;

  /** What a line says beside its log's own text: the batch, the names of the fields. */
  private static final int LINE_OVERHEAD_BYTES = 350;

  private static final Duration RETRY_AFTER = Duration.ofSeconds(1);
  private static final CompletionStage<AppendResult> CLOSED =
      CompletableFuture.completedStage(new AppendResult.Unavailable(RETRY_AFTER, "closed"));

  private final SegmentLog segmentLog;
  private final FrameCodec codec;
  private final ConsumerState consumerState;
  private final IdempotencyKeyTable idempotencyKeyTable;
  private final InstantSource clock;

  /** No virtual ones: these wait for nothing, and share the cores with whoever delivers. */
  private final ExecutorService encoders =
      Executors.newFixedThreadPool(
          Runtime.getRuntime().availableProcessors(),
          Thread.ofPlatform().name("wal-encoder-", 0).daemon().factory());

  /** Oldest first. */
  private final Map<UUID, RecentAppend> recentAppends = new LinkedHashMap<>();

  /** Completes when the append that came last is in the queue, or will never be. */
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
   * @param awaited see {@link SegmentLog#append}
   * @param possibleDuplicate see {@link WalEntry}
   * @param claim under which it comes; null for none
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

  /** Whether it was made, as far as is remembered. */
  boolean wasAppended(UUID appendId) {
    return recentResult(appendId) != null;
  }

  private synchronized @Nullable CompletionStage<AppendResult> recentResult(UUID appendId) {
    var recent = recentAppends.get(appendId);
    return recent == null ? null : recent.result();
  }

  /** What is counted when it is written is counted in this order. */
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
      case SegmentLog.FrameWriteResult.Written(var position) -> {
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

  /** It is in the log already. */
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

  /** From now on nothing is taken; what is being encoded is answered as busy. */
  @Override
  public void close() {
    synchronized (this) {
      closed = true;
    }
    encoders.close();
  }
}
