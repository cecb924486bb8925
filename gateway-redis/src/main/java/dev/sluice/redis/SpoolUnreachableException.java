package dev.sluice.redis;

import org.jspecify.annotations.Nullable;

/** Redis did not reply, or replied with an error. The caller can retry later. */
final class SpoolUnreachableException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  SpoolUnreachableException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
