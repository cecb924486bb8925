package dev.sluice.redaction;

import org.jspecify.annotations.Nullable;

/** The file of the rules is not valid; the message says where. */
public final class InvalidRulesException extends Exception {
  private static final long serialVersionUID = 1L;

  InvalidRulesException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
