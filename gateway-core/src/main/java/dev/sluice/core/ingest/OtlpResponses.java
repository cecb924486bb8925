package dev.sluice.core.ingest;

import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.OtlpWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The answers of OTLP, by its specification 1.11, as protobuf; the same over HTTP and gRPC. */
public final class OtlpResponses {

  /** The message names so many verdicts; an answer may have 4 MiB and clients log it whole. */
  private static final int MAX_REJECTIONS_IN_MESSAGE = 100;

  private static final byte[] SUCCESS = {};

  private OtlpResponses() {}

  /**
   * {@code ExportLogsServiceResponse}: empty, or with {@code partial_success} when records were
   * rejected for good, by us or by the store; and, as the warning that it may be, when some were
   * left out.
   */
  public static byte[] exportResponse(IngestResult.Accepted result) {
    if (!isPartial(result)) {
      return SUCCESS;
    }
    var out = new OtlpWriter(new ByteOutput(256));
    int partialSuccess = out.beginMessage(1);
    if (rejectedCount(result) > 0) {
      out.writeVarint(1, rejectedCount(result));
    }
    out.writeString(2, message(result));
    out.endMessage(partialSuccess);
    return out.output().toByteArray();
  }

  /** Whether there is more to say than that all is well. */
  public static boolean isPartial(IngestResult.Accepted result) {
    return rejectedCount(result) > 0 || result.filtered() > 0;
  }

  /**
   * Records that the client need not send again and will not find stored, but for filtered ones.
   */
  public static int rejectedCount(IngestResult.Accepted result) {
    return result.rejectedCount() + result.deadLettered();
  }

  /** Which records were rejected and why, for a person. */
  public static String message(IngestResult.Accepted result) {
    var parts = new ArrayList<String>(3);
    if (result.rejectedCount() > 0) {
      parts.add(rejectionMessage(result));
    }
    if (result.filtered() > 0) {
      parts.add(result.filtered() + " log records filtered: they are not on the allow list");
    }
    if (result.deadLettered() > 0) {
      parts.add(
          result.deadLettered()
              + " log records refused by the store, which are kept as dead letters");
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
   * {@code google.rpc.Status}.
   *
   * @param code a number of {@code google.rpc.Code}
   * @param retryAfter told in a {@code RetryInfo}; null when trying again is in vain
   */
  public static byte[] status(int code, String message, @Nullable Duration retryAfter) {
    var out = new OtlpWriter(new ByteOutput(128));
    out.writeVarint(1, code);
    out.writeString(2, message);
    if (retryAfter != null) {
      int any = out.beginMessage(3);
      out.writeString(1, "type.googleapis.com/google.rpc.RetryInfo");
      int retryInfo = out.beginMessage(2);
      int delay = out.beginMessage(1);
      out.writeVarint(1, retryAfter.toSeconds());
      out.writeVarint(2, retryAfter.toNanosPart());
      out.endMessage(delay);
      out.endMessage(retryInfo);
      out.endMessage(any);
    }
    return out.output().toByteArray();
  }
}
