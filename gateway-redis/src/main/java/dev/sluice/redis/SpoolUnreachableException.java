package dev.sluice.redis;

import org.jspecify.annotations.Nullable;

/** Redis did not answer, or not as it should; asking again later is right. */
final class SpoolUnreachableException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  SpoolUnreachableException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
