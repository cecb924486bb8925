package dev.sluice.core.delivery;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.DeadLetterStore;
import dev.sluice.core.port.DeadLetterStore.DeadLetterItem;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;

/**
 * Replays dead letters: appends the record of a dead letter to the spool again.
 *
 * <p>The replay is recorded before the append and completed after it. After a crash in between, the
 * dead letter is still open, and a repetition is safe: the append has the same id, by which the
 * spool recognizes it, and its delivery looks the record up in the store. The delivery of the
 * record completes the replay too. Thread-safe.
 */
public final class DeadLetterReplayer {
  private final Spool spool;
  private final DeadLetterStore deadLetterStore;

  public DeadLetterReplayer(Spool spool, DeadLetterStore deadLetterStore) {
    this.spool = spool;
    this.deadLetterStore = deadLetterStore;
  }

  /** The result of {@link #replay}. */
  public sealed interface ReplayResult {
    /** The spool has the record. */
    record Replayed() implements ReplayResult {}

    /** The spool may not have the record; the dead letter is still open. */
    record SpoolUnavailable(String reason) implements ReplayResult {}
  }

  /**
   * Replays a dead letter. Blocks.
   *
   * @param item the dead letter, as the store has returned it
   * @param log the record to append: that of the dead letter, or its correction
   * @throws IllegalArgumentException when {@code log} is not one record with the append id, the log
   *     id, the tenant and the receive time of the dead letter; nothing has changed then
   * @throws RuntimeException when the store is unavailable
   */
  public ReplayResult replay(DeadLetterItem item, LogBatch log) {
    var letter = item.letter();
    var original = letter.log();
    if (!log.appendId().equals(original.appendId())
        || !log.firstId().equals(original.firstId())
        || !log.tenant().equals(original.tenant())
        || log.receivedNanos() != original.receivedNanos()) {
      throw new IllegalArgumentException(
          "the log is not that of dead letter " + original.firstId().toHex());
    }
    deadLetterStore.startReplay(
        new DeadLetter(log, letter.reason(), letter.code(), letter.deadLetteredAt()));
    return switch (spool.append(log, AppendMode.POSSIBLE_DUPLICATE).toCompletableFuture().join()) {
      case AppendResult.Accepted _ -> {
        deadLetterStore.completeReplay(log.firstId());
        yield new ReplayResult.Replayed();
      }
      case AppendResult.Unavailable unavailable ->
          new ReplayResult.SpoolUnavailable(unavailable.reason());
      case AppendResult.Refused() ->
          new ReplayResult.SpoolUnavailable("the log is in the write-ahead log of a gateway");
      case AppendResult.ClaimLost() ->
          throw new IllegalStateException("claim lost by an append without a claim");
    };
  }
}
