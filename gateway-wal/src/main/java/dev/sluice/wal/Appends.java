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
final class Appends implements AutoCloseable {

  /**
   * @param answer the same for all who append it
   */
  private record Remembered(Instant at, CompletionStage<AppendResult> answer) {}

  /** Longer than anybody tries an append again, by a wide margin. */
  private static final Duration REMEMBER = Duration.ofMinutes(2);

  private static final int REMEMBER_AT_MOST = 200_000;

  /** How much an append may hold while it is encoded: its logs, their lines and the frame. */
  private static final int COPIES = 3;

  /** What a line says beside its log's own text: the batch, the names of the fields. */
  private static final int LINE_BYTES = 350;

  private static final Duration WHEN_WRITTEN = Duration.ofSeconds(1);
  private static final CompletionStage<AppendResult> CLOSED =
      CompletableFuture.completedStage(new AppendResult.Unavailable(WHEN_WRITTEN, "closed"));

  private final Segments segments;
  private final FrameCodec codec;
  private final Book book;
  private final Keys keys;
  private final InstantSource clock;

  /** No virtual ones: these wait for nothing, and share the cores with whoever delivers. */
  private final ExecutorService encoders =
      Executors.newFixedThreadPool(
          Runtime.getRuntime().availableProcessors(),
          Thread.ofPlatform().name("wal-encoder-", 0).daemon().factory());

  /** Oldest first. */
  private final Map<UUID, Remembered> remembered = new LinkedHashMap<>();

  /** Completes when the append that came last is in the queue, or will never be. */
  private CompletableFuture<?> last = CompletableFuture.completedFuture(null);

  private boolean closed;

  Appends(Segments segments, FrameCodec codec, Book book, Keys keys, InstantSource clock) {
    this.segments = segments;
    this.codec = codec;
    this.book = book;
    this.keys = keys;
    this.clock = clock;
  }

  /**
   * @param awaited see {@link Segments#append}
   * @param again see {@link Entry}
   * @param claim under which it comes; null for none
   */
  CompletionStage<AppendResult> append(
      LogBatch batch, boolean awaited, boolean again, @Nullable Claim claim) {
    var known = known(batch.appendId());
    if (known != null) {
      return known;
    }
    long held = COPIES * (batch.memoryWeight() + (long) LINE_BYTES * batch.records());
    var excess = segments.reserve(held);
    if (excess != null) {
      return CompletableFuture.completedStage(new AppendResult.Unavailable(WHEN_WRITTEN, excess));
    }
    return inOrder(new Entry(batch, again, claim == null ? null : claim.key()), awaited, claim)
        .whenComplete((_, _) -> segments.release(held))
        .thenCompose(Function.identity());
  }

  private synchronized CompletableFuture<CompletionStage<AppendResult>> inOrder(
      Entry entry, boolean awaited, @Nullable Claim claim) {
    if (closed) {
      return CompletableFuture.completedFuture(CLOSED);
    }
    var queued =
        CompletableFuture.supplyAsync(() -> codec.encode(entry), encoders)
            .thenCombine(last, (frame, _) -> queue(entry, frame, awaited, claim));
    last = queued.exceptionally(_ -> null);
    return queued;
  }

  /** Whether it was made, as far as is remembered. */
  boolean knows(UUID appendId) {
    return known(appendId) != null;
  }

  private synchronized @Nullable CompletionStage<AppendResult> known(UUID appendId) {
    var known = remembered.get(appendId);
    return known == null ? null : known.answer();
  }

  /** What is counted when it is written is counted in this order. */
  private synchronized CompletionStage<AppendResult> queue(
      Entry entry, Frame frame, boolean awaited, @Nullable Claim claim) {
    var batch = entry.batch();
    var known = known(batch.appendId());
    if (known != null) {
      return known;
    }
    if (closed) {
      return CLOSED;
    }
    if (claim != null && !keys.begin(claim)) {
      return CompletableFuture.completedStage(new AppendResult.ClaimLost());
    }
    var answer = new CompletableFuture<AppendResult>();
    remember(batch.appendId(), answer);
    var _ =
        segments
            .append(frame, awaited)
            .thenApply(written -> written(written, entry, claim))
            .whenComplete(
                (appendResult, failure) -> {
                  if (failure != null) {
                    forget(batch.appendId(), claim);
                    answer.completeExceptionally(failure);
                  } else {
                    answer.complete(appendResult);
                  }
                });
    return answer;
  }

  private AppendResult written(Segments.Written written, Entry entry, @Nullable Claim claim) {
    var batch = entry.batch();
    return switch (written) {
      case Segments.Written.At(var position) -> {
        book.count(position, batch.appendId(), batch.day(), batch.records());
        if (claim != null) {
          keys.take(Keys.taken(claim.key(), batch.receivedNanos()));
        }
        yield new AppendResult.Accepted(receipt(position));
      }
      case Segments.Written.Not(var retryAfter, var reason) -> {
        forget(batch.appendId(), claim);
        yield new AppendResult.Unavailable(retryAfter, reason);
      }
    };
  }

  private static Receipt receipt(Position position) {
    return new Receipt(0, position.toString());
  }

  private synchronized void forget(UUID appendId, @Nullable Claim claim) {
    remembered.remove(appendId);
    if (claim != null) {
      keys.undo(claim);
    }
  }

  /** It is in the log already. */
  synchronized void remember(UUID appendId, Position position) {
    remember(
        appendId, CompletableFuture.completedStage(new AppendResult.Accepted(receipt(position))));
  }

  private void remember(UUID appendId, CompletionStage<AppendResult> answer) {
    var now = clock.instant();
    var oldest = remembered.values().iterator();
    while (oldest.hasNext()) {
      boolean old = oldest.next().at().plus(REMEMBER).isBefore(now);
      if (!old && remembered.size() < REMEMBER_AT_MOST) {
        break;
      }
      oldest.remove();
    }
    remembered.put(appendId, new Remembered(now, answer));
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
