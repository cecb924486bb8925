package dev.sluice.api.grpc;

import io.grpc.StatusException;
import java.io.Serial;

/** A question that makes no sense. */
final class InvalidQueryException extends Exception {
  @Serial private static final long serialVersionUID = 1L;

  private final String field;
  private final String reason;

  /**
   * @param reason goes on after the field's name
   */
  InvalidQueryException(String field, String reason) {
    super(field, null, false, false); // an answer, not a fault of ours: no stack
    this.field = field;
    this.reason = reason;
  }

  /** INVALID_ARGUMENT, with a BadRequest that names the field. */
  StatusException toStatusException() {
    return InvalidArgument.field(field, reason);
  }
}
