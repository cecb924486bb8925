package dev.sluice.core.ingest;

import dev.sluice.core.domain.LogId;
import java.util.List;
import java.util.concurrent.CompletionStage;

/**
 * A lookup of dead letters by a range of log ids, see {@link
 * dev.sluice.core.port.DeadLetterStore#findBetween}. Does not block. Thread-safe.
 */
@FunctionalInterface
public interface DeadLetterLookup {
  /** Returns the ids of the dead letters in the range; fails when these are unavailable. */
  CompletionStage<List<LogId>> findBetween(LogId first, LogId last);
}
