package dev.sluice.core.otlp;

import dev.sluice.core.domain.LogBatch;
import java.util.UUID;

/** A batch that can never be stored, because of a bug of the gateway or the spool. */
public final class UnstorableBatchException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final UUID appendId;
  private final String reason;

  UnstorableBatchException(LogBatch batch, String reason) {
    super("batch " + batch.appendId() + ": " + reason);
    this.appendId = batch.appendId();
    this.reason = reason;
  }

  /** Returns the append id of the batch. */
  public UUID appendId() {
    return appendId;
  }

  /** Returns the reason, without content of the logs. */
  public String reason() {
    return reason;
  }
}
