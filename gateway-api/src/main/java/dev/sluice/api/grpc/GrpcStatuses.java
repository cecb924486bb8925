package dev.sluice.api.grpc;

import dev.sluice.api.security.AccessDecision.Denied;
import dev.sluice.core.ingest.IngestResult;
import dev.sluice.core.ingest.OtlpResponses;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusException;
import java.time.Duration;
import java.util.Objects;

/** The gRPC statuses of failed calls, for all protocols. */
public final class GrpcStatuses {
  /** The message of a temporary error of ingest. */
  public static final String UNAVAILABLE_MESSAGE = "logs cannot be accepted at the moment";

  private static final Metadata.Key<byte[]> STATUS_DETAILS =
      Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);

  private GrpcStatuses() {}

  /** Returns the status of a result without an accepted log. */
  public static StatusException of(IngestResult result) {
    return switch (result) {
      case IngestResult.Accepted accepted -> InvalidArgument.rejectedRecords(accepted);
      case IngestResult.Malformed(var reason) -> InvalidArgument.malformed(reason);
      case IngestResult.DecodeFailure(var reason, _) -> InvalidArgument.malformed(reason);
      case IngestResult.TooLarge(var reason) ->
          Status.RESOURCE_EXHAUSTED.withDescription(reason).asException();
      case IngestResult.Unavailable(var retryAfter) -> unavailable(UNAVAILABLE_MESSAGE, retryAfter);
      case IngestResult.InProgress(var retryAfter) ->
          retryable(Status.ABORTED, IngestResult.InProgress.REASON, retryAfter);
      case IngestResult.IdempotencyKeyReused() ->
          Status.FAILED_PRECONDITION
              .withDescription(IngestResult.IdempotencyKeyReused.REASON)
              .asException();
    };
  }

  /** Returns the status of a call that access control denies. */
  static StatusException of(Denied denied) {
    var message = denied.reason().message();
    return switch (denied.reason()) {
      case UNAUTHENTICATED -> Status.UNAUTHENTICATED.withDescription(message).asException();
      case FORBIDDEN -> Status.PERMISSION_DENIED.withDescription(message).asException();
      case THROTTLED ->
          retryable(
              Status.RESOURCE_EXHAUSTED, message, Objects.requireNonNull(denied.retryAfter()));
    };
  }

  /** Returns UNAVAILABLE with a {@code RetryInfo}, after which clients retry. */
  static StatusException unavailable(String message, Duration retryAfter) {
    return retryable(Status.UNAVAILABLE, message, retryAfter);
  }

  private static StatusException retryable(Status status, String message, Duration retryAfter) {
    var trailers = new Metadata();
    trailers.put(
        STATUS_DETAILS, OtlpResponses.status(status.getCode().value(), message, retryAfter));
    return status.withDescription(message).asException(trailers);
  }
}
