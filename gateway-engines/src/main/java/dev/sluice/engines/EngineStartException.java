package dev.sluice.engines;

import org.jspecify.annotations.Nullable;

/**
 * An engine could not be started. The message is one sentence that a person can act on; when this
 * is thrown no process and no lock stays behind.
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
