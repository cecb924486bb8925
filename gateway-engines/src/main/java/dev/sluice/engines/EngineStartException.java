package dev.sluice.engines;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when an engine cannot be started. The message is one sentence that names a remedy. When
 * this exception is thrown, no process is left running and no lock is held.
 */
public final class EngineStartException extends RuntimeException {

  private static final long serialVersionUID = 1;

  EngineStartException(String message) {
    this(message, null);
  }

  EngineStartException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
