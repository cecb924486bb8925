package dev.sluice.api.config;

import dev.sluice.wal.NodeLockedException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Reports a write-ahead log that cannot be opened with a remedy, without a stack trace. */
final class WalFailureAnalyzer extends AbstractFailureAnalyzer<WalUnavailableException> {
  private static final String SHARED_DIRECTORY_ACTION =
      "Each process needs its own directory: set a sluice.wal.node that no other process has, or"
          + " another sluice.wal.dir.";

  @Override
  protected FailureAnalysis analyze(Throwable rootFailure, WalUnavailableException cause) {
    return new FailureAnalysis(
        String.valueOf(cause.getMessage()),
        cause.getCause() instanceof NodeLockedException ? SHARED_DIRECTORY_ACTION : null,
        cause);
  }
}
