package dev.sluice.core.ingest;

import java.io.Serial;

/**
 * Thrown when all requests together would exceed the {@link MemoryBudget}; the client may retry.
 */
public final class MemoryBudgetExceededException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  MemoryBudgetExceededException() {
    super("memory budget exceeded", null, false, false); // a response, not a bug: no stack trace
  }
}
