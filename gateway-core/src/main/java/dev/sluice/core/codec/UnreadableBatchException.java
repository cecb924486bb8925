package dev.sluice.core.codec;

import java.io.Serial;

/**
 * The bytes of a batch are corrupt, or of a version that this release cannot decode. The message
 * gives the reason, without payload.
 */
public final class UnreadableBatchException extends Exception {
  @Serial private static final long serialVersionUID = 1L;

  UnreadableBatchException(String reason) {
    super(reason);
  }
}
