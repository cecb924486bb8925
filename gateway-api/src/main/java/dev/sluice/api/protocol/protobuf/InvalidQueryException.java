package dev.sluice.api.protocol.protobuf;

import dev.sluice.api.grpc.InvalidArgument;
import io.grpc.StatusException;
import java.io.Serial;

/** A field of a query is invalid. */
final class InvalidQueryException extends Exception {
  @Serial private static final long serialVersionUID = 1L;

  private final String field;
  private final String reason;

  /**
   * @param field the path of the field
   * @param reason the error, as the rest of a sentence that begins with the field
   */
  InvalidQueryException(String field, String reason) {
    super(field, null, false, false); // a response, not a bug: no stack trace
    this.field = field;
    this.reason = reason;
  }

  /** Returns INVALID_ARGUMENT with a BadRequest that names the field. */
  StatusException toStatusException() {
    return InvalidArgument.field(field, reason);
  }
}
