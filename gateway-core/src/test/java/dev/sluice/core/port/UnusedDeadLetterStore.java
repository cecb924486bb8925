package dev.sluice.core.port;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.SpoolConsumer.Delivery;
import java.time.LocalDate;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import org.jspecify.annotations.Nullable;

/** A store of dead letters whose methods fail, for tests that need one or two of them. */
public abstract class UnusedDeadLetterStore implements DeadLetterStore {
  private static UnsupportedOperationException unused() {
    return new UnsupportedOperationException("not used by this test");
  }

  @Override
  public WriteResult write(Delivery delivery, List<DeadLetter> deadLetters) {
    throw unused();
  }

  @Override
  public WriteResult adopt(List<DeadLetter> deadLetters) {
    throw unused();
  }

  @Override
  public List<DeadLetterItem> list(@Nullable LogId after, int limit) {
    throw unused();
  }

  @Override
  public Optional<DeadLetterItem> find(LogId id) {
    throw unused();
  }

  @Override
  public void startReplay(DeadLetter deadLetter) {
    throw unused();
  }

  @Override
  public void completeReplay(LogId id) {
    throw unused();
  }

  @Override
  public boolean purge(LogId id) {
    throw unused();
  }

  @Override
  public List<LogId> findBetween(LogId first, LogId last) {
    throw unused();
  }

  @Override
  public SortedMap<LocalDate, DeadLetterCounts> counts(LocalDate from) {
    throw unused();
  }
}
