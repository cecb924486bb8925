package dev.sluice.api.grpc;

import com.google.protobuf.Any;
import com.google.rpc.BadRequest;
import com.google.rpc.BadRequest.FieldViolation;
import dev.sluice.api.decode.NativeRejections;
import dev.sluice.core.ingest.IngestResult;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.protobuf.StatusProto;

/** The status INVALID_ARGUMENT with a {@code google.rpc.BadRequest} that lists the errors. */
public final class InvalidArgument {
  private static final int MAX_VIOLATIONS = 50;

  /** Size of all violations; clients accept 8 KiB of trailers, in which the details are base64. */
  private static final int MAX_DETAIL_BYTES = 5 * 1024;

  private InvalidArgument() {}

  public static StatusException malformed(String reason) {
    return Status.INVALID_ARGUMENT.withDescription(reason).asException();
  }

  public static StatusException field(String field, String reason) {
    return status(
        field + " " + reason, BadRequest.newBuilder().addFieldViolations(violation(field, reason)));
  }

  /** Returns the status of a request whose records are all rejected, or that has none. */
  static StatusException rejectedRecords(IngestResult.Accepted result) {
    var message = NativeRejections.acceptedNoneMessage(result.rejectedCount());
    if (result.rejectedCount() == 0) {
      return malformed(message);
    }
    var details = BadRequest.newBuilder();
    int bytes = 0;
    for (var rejection : NativeRejections.of(result.rejections())) {
      var violation =
          violation("logs[" + rejection.index() + "]." + rejection.field(), rejection.reason());
      bytes += violation.build().getSerializedSize();
      if (details.getFieldViolationsCount() == MAX_VIOLATIONS || bytes > MAX_DETAIL_BYTES) {
        break;
      }
      details.addFieldViolations(violation);
    }
    int reported = details.getFieldViolationsCount();
    return status(
        reported < result.rejectedCount()
            ? message + "; the first " + reported + " are listed"
            : message,
        details);
  }

  private static FieldViolation.Builder violation(String field, String reason) {
    return FieldViolation.newBuilder().setField(field).setDescription(reason);
  }

  private static StatusException status(String message, BadRequest.Builder details) {
    return StatusProto.toStatusException(
        com.google.rpc.Status.newBuilder()
            .setCode(Status.Code.INVALID_ARGUMENT.value())
            .setMessage(message)
            .addDetails(Any.pack(details.build()))
            .build());
  }
}
