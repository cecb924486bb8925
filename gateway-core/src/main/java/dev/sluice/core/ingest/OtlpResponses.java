package dev.sluice.core.ingest;

import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.OtlpFields;
import dev.sluice.core.otlp.OtlpWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The protobuf responses of OTLP, specification 1.11; they are the same over HTTP and gRPC. */
public final class OtlpResponses {

  /**
   * The maximum number of rejections in the message of a response: a gRPC response is limited to 4
   * MiB by default, and clients log the message.
   */
  private static final int MAX_REJECTIONS_IN_MESSAGE = 100;

  // field numbers of google.rpc.Status and RetryInfo, google.protobuf.Any and Duration
  private static final int STATUS_CODE = 1;
  private static final int STATUS_MESSAGE = 2;
  private static final int STATUS_DETAILS = 3;
  private static final int ANY_TYPE_URL = 1;
  private static final int ANY_VALUE = 2;
  private static final int RETRY_INFO_RETRY_DELAY = 1;
  private static final int DURATION_SECONDS = 1;
  private static final int DURATION_NANOS = 2;

  private static final byte[] SUCCESS = {};

  private OtlpResponses() {}

  /**
   * Encodes an {@code ExportLogsServiceResponse}. It is empty, or has {@code partial_success} when
   * the gateway or the store rejected records permanently. When records were only filtered, {@code
   * partial_success} has a message and no rejected records, which OTLP defines as a warning.
   */
  public static byte[] exportResponse(IngestResult.Accepted result) {
    if (!isPartial(result)) {
      return SUCCESS;
    }
    var out = new OtlpWriter(new ByteOutput(256));
    int partialSuccess = out.beginMessage(OtlpFields.EXPORT_LOGS_SERVICE_RESPONSE_PARTIAL_SUCCESS);
    if (rejectedCount(result) > 0) {
      out.writeVarint(
          OtlpFields.EXPORT_LOGS_PARTIAL_SUCCESS_REJECTED_LOG_RECORDS, rejectedCount(result));
    }
    out.writeString(OtlpFields.EXPORT_LOGS_PARTIAL_SUCCESS_ERROR_MESSAGE, message(result));
    out.endMessage(partialSuccess);
    return out.output().toByteArray();
  }

  /** Whether records were rejected or filtered, so that the response needs a message. */
  public static boolean isPartial(IngestResult.Accepted result) {
    return rejectedCount(result) > 0 || result.filtered() > 0;
  }

  /**
   * Returns the number of records that are permanently rejected, by the gateway or by the store;
   * filtered records do not count.
   */
  public static int rejectedCount(IngestResult.Accepted result) {
    return result.rejectedCount() + result.deadLettered();
  }

  /** Returns a human-readable message with the rejected records and their reasons. */
  public static String message(IngestResult.Accepted result) {
    var parts = new ArrayList<String>(3);
    if (result.rejectedCount() > 0) {
      parts.add(rejectionMessage(result));
    }
    if (result.filtered() > 0) {
      parts.add(result.filtered() + " log records filtered: they are not on the allowlist");
    }
    if (result.deadLettered() > 0) {
      parts.add(
          result.deadLettered() + " log records rejected by the store and kept as dead letters");
    }
    return String.join("; ", parts);
  }

  private static String rejectionMessage(IngestResult.Accepted result) {
    var reasons =
        result.rejections().stream()
            .limit(MAX_REJECTIONS_IN_MESSAGE)
            .map(r -> "[%d] %s %s".formatted(r.index(), r.field(), r.reason()))
            .collect(Collectors.joining("; "));
    int total = result.rejectedCount();
    return "%d of %d log records rejected: %s%s"
        .formatted(
            total,
            total + result.accepted() + result.filtered(),
            reasons,
            total > MAX_REJECTIONS_IN_MESSAGE
                ? "; and " + (total - MAX_REJECTIONS_IN_MESSAGE) + " more"
                : "");
  }

  /**
   * Encodes a {@code google.rpc.Status}.
   *
   * @param code the number of a {@code google.rpc.Code}
   * @param retryAfter the delay in the {@code RetryInfo}; null when a retry cannot succeed
   */
  public static byte[] status(int code, String message, @Nullable Duration retryAfter) {
    var out = new OtlpWriter(new ByteOutput(128));
    out.writeVarint(STATUS_CODE, code);
    out.writeString(STATUS_MESSAGE, message);
    if (retryAfter != null) {
      int any = out.beginMessage(STATUS_DETAILS);
      out.writeString(ANY_TYPE_URL, "type.googleapis.com/google.rpc.RetryInfo");
      int retryInfo = out.beginMessage(ANY_VALUE);
      int delay = out.beginMessage(RETRY_INFO_RETRY_DELAY);
      out.writeVarint(DURATION_SECONDS, retryAfter.toSeconds());
      out.writeVarint(DURATION_NANOS, retryAfter.toNanosPart());
      out.endMessage(delay);
      out.endMessage(retryInfo);
      out.endMessage(any);
    }
    return out.output().toByteArray();
  }
}
