package dev.sluice.wal;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.DeadLetterQueue;
import dev.sluice.core.port.Spool.AppendResult;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The dead letters of the WAL, in memory and in the journal. Their ids are decimal numbers. */
final class WalDeadLetterQueue implements DeadLetterQueue {
  private static final Pattern ID = Pattern.compile("[0-9]{1,18}");

  private final ConsumerState consumerState;
  private final ConsumerStateJournal stateJournal;
  private final DedupingAppender appender;

  WalDeadLetterQueue(
      ConsumerState consumerState, ConsumerStateJournal stateJournal, DedupingAppender appender) {
    this.consumerState = consumerState;
    this.stateJournal = stateJournal;
    this.appender = appender;
  }

  @Override
  public List<DeadLetterItem> list(@Nullable String after, int limit) {
    long from =
        after == null
            ? 0
            : parseId(after)
                .orElseThrow(() -> new IllegalArgumentException("not a dead letter id: " + after));
    return consumerState.deadLettersAfter(from, limit);
  }

  @Override
  public Optional<DeadLetterItem> find(String id) {
    var number = parseId(id);
    return number.isEmpty()
        ? Optional.empty()
        : Optional.ofNullable(consumerState.findDeadLetter(number.getAsLong()))
            .map(deadLetter -> new DeadLetterItem(id, deadLetter));
  }

  @Override
  public boolean replay(String id, LogBatch log) {
    if (log.records() != 1) {
      throw new IllegalArgumentException(
          "a replayed dead letter has one record, not " + log.records());
    }
    var number = parseId(id);
    try {
      return number.isPresent()
          && stateJournal.replay(number.getAsLong(), log, () -> tryAppend(log));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Appends the record of a dead letter as a possible duplicate, because the record may be in the
   * store.
   *
   * @return the reason of the failure; null after a success
   */
  private @Nullable String tryAppend(LogBatch log) {
    // a known append id would append nothing, and the dead letter would be lost
    if (appender.wasAppended(log.appendId())) {
      return "append id " + log.appendId() + " was used before";
    }
    return switch (appender.append(log, true, true, null).toCompletableFuture().join()) {
      case AppendResult.Accepted _ -> null;
      case AppendResult.Unavailable unavailable -> unavailable.reason();
      case AppendResult.ClaimLost() ->
          throw new IllegalStateException("claim lost by an append without a claim");
    };
  }

  @Override
  public boolean purge(String id) {
    var number = parseId(id);
    try {
      return number.isPresent() && stateJournal.purge(number.getAsLong());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public Capacity capacity() {
    return consumerState.capacity();
  }

  private static OptionalLong parseId(String id) {
    return ID.matcher(id).matches() ? OptionalLong.of(Long.parseLong(id)) : OptionalLong.empty();
  }
}
