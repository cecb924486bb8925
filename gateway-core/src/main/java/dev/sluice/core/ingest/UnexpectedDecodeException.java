package dev.sluice.core.ingest;

import java.io.Serial;

/** Thrown when a decoder or the walker fails with an exception that it does not declare: a bug. */
final class UnexpectedDecodeException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  UnexpectedDecodeException(Throwable cause) {
    super(null, cause, false, false); // the stack trace of the cause suffices
  }
}
