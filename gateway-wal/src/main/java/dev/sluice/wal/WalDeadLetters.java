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

/** The dead letters of the log, in memory and in the journal; their ids are numbers. */
final class WalDeadLetters implements DeadLetterQueue {
  private static final Pattern NUMBER = Pattern.compile("[0-9]{1,18}");

  private final Book book;
  private final Bookkeeper keeper;
  private final Appends appends;

  WalDeadLetters(Book book, Bookkeeper keeper, Appends appends) {
    this.book = book;
    this.keeper = keeper;
    this.appends = appends;
  }

  @Override
  public List<DeadLetterItem> list(@Nullable String after, int limit) {
    long from =
        after == null
            ? 0
            : number(after)
                .orElseThrow(
                    () -> new IllegalArgumentException("no id of a dead letter: " + after));
    return book.letters(from, limit);
  }

  @Override
  public Optional<DeadLetterItem> find(String id) {
    var number = number(id);
    return number.isEmpty()
        ? Optional.empty()
        : Optional.ofNullable(book.letter(number.getAsLong()))
            .map(letter -> new DeadLetterItem(id, letter));
  }

  @Override
  public boolean replay(String id, LogBatch log) {
    if (log.records() != 1) {
      throw new IllegalArgumentException("a dead letter of " + log.records() + " records");
    }
    var number = number(id);
    try {
      return number.isPresent()
          && keeper.replay(number.getAsLong(), log, () -> failureOfAppending(log));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Said to be tried before: a letter's record may be in the store, for all that is known. */
  private @Nullable String failureOfAppending(LogBatch log) {
    if (appends.knows(log.appendId())) { // nothing would be appended, and the letter be gone
      return "append " + log.appendId() + " was made before";
    }
    return switch (appends.append(log, true, true, null).toCompletableFuture().join()) {
      case AppendResult.Accepted _ -> null;
      case AppendResult.Unavailable unavailable -> unavailable.reason();
      case AppendResult.ClaimLost() ->
          throw new IllegalStateException("superseded without a claim");
    };
  }

  @Override
  public boolean purge(String id) {
    var number = number(id);
    try {
      return number.isPresent() && keeper.purge(number.getAsLong());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public Capacity capacity() {
    return book.room();
  }

  private static OptionalLong number(String id) {
    return NUMBER.matcher(id).matches()
        ? OptionalLong.of(Long.parseLong(id))
        : OptionalLong.empty();
  }
}
