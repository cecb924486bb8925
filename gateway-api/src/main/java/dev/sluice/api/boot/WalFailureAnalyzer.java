package dev.sluice.api.boot;

import dev.sluice.wal.NodeLockedException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** A log that cannot be opened ends the gateway with what to do about it instead of a stack. */
final class WalFailureAnalyzer extends AbstractFailureAnalyzer<WalUnavailableException> {
  private static final String SHARED_DIRECTORY_ACTION =
      "Each process needs a folder of its own: give it a sluice.wal.node that no other process"
          + " has, or a sluice.wal.dir of its own.";

  @Override
  protected FailureAnalysis analyze(Throwable rootFailure, WalUnavailableException cause) {
    return new FailureAnalysis(
        String.valueOf(cause.getMessage()),
        cause.getCause() instanceof NodeLockedException ? SHARED_DIRECTORY_ACTION : null,
        cause);
  }
}
