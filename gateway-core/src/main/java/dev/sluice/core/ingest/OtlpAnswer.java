package dev.sluice.core.ingest;

import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.OtlpWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The answers of OTLP, by its specification 1.11, as protobuf; the same over HTTP and gRPC. */
public final class OtlpAnswer {

  /** The message names so many verdicts; an answer may have 4 MiB and clients log it whole. */
  private static final int VERDICTS_TOLD = 100;

  private static final byte[] SUCCESS = {};

  private OtlpAnswer() {}

  /**
   * {@code ExportLogsServiceResponse}: empty, or with {@code partial_success} when records were
   * rejected for good, by us or by the store; and, as the warning that it may be, when some were
   * left out.
   */
  public static byte[] response(Ingested.Accepted result) {
    if (!isPartial(result)) {
      return SUCCESS;
    }
    var out = new OtlpWriter(new ByteOutput(256));
    int partialSuccess = out.open(1);
    if (refused(result) > 0) {
      out.varint(1, refused(result));
    }
    out.string(2, message(result));
    out.close(partialSuccess);
    return out.output().toByteArray();
  }

  /** Whether there is more to say than that all is well. */
  public static boolean isPartial(Ingested.Accepted result) {
    return refused(result) > 0 || result.filtered() > 0;
  }

  /**
   * Records that the client need not send again and will not find stored, but for filtered ones.
   */
  public static int refused(Ingested.Accepted result) {
    return result.rejectedCount() + result.deadLettered();
  }

  /** Which records were rejected and why, for a person. */
  public static String message(Ingested.Accepted result) {
    var parts = new ArrayList<String>(3);
    if (result.rejectedCount() > 0) {
      parts.add(rejected(result));
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

  private static String rejected(Ingested.Accepted result) {
    var told =
        result.rejected().stream()
            .limit(VERDICTS_TOLD)
            .map(r -> "[%d] %s %s".formatted(r.index(), r.field(), r.reason()))
            .collect(Collectors.joining("; "));
    int total = result.rejectedCount();
    return "%d of %d log records rejected: %s%s"
        .formatted(
            total,
            total + result.accepted() + result.filtered(),
            told,
            total > VERDICTS_TOLD ? "; and " + (total - VERDICTS_TOLD) + " more" : "");
  }

  /**
   * {@code google.rpc.Status}.
   *
   * @param code a number of {@code google.rpc.Code}
   * @param retryAfter told in a {@code RetryInfo}; null when trying again is in vain
   */
  public static byte[] status(int code, String message, @Nullable Duration retryAfter) {
    var out = new OtlpWriter(new ByteOutput(128));
    out.varint(1, code);
    out.string(2, message);
    if (retryAfter != null) {
      int any = out.open(3);
      out.string(1, "type.googleapis.com/google.rpc.RetryInfo");
      int retryInfo = out.open(2);
      int delay = out.open(1);
      out.varint(1, retryAfter.toSeconds());
      out.varint(2, retryAfter.toNanosPart());
      out.close(delay);
      out.close(retryInfo);
      out.close(any);
    }
    return out.output().toByteArray();
  }
}
