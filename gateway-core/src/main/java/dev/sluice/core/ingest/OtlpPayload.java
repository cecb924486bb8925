package dev.sluice.core.ingest;

import dev.sluice.core.domain.Rejection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What an entrance hands in: log records as OTLP bytes, and what it could not turn into any.
 *
 * <p>The array is handed over; nobody changes it afterwards.
 *
 * @param bytes an {@code ExportLogsServiceRequest}, of which {@code length} bytes count
 * @param rowIndexes position in the client's request of each record, in the order of the bytes;
 *     null when that is the order itself
 * @param rejections verdicts the entrance has given already, possibly not all of them
 * @param rejectedCount how many records those verdicts stand for
 * @param unknownFields fields that were ignored
 */
public record OtlpPayload(
    byte[] bytes,
    int length,
    int @Nullable [] rowIndexes,
    List<Rejection> rejections,
    int rejectedCount,
    long unknownFields) {

  // spelled out: of a compact constructor's parameters, javac tells other modules no nullness
  public OtlpPayload(
      byte[] bytes,
      int length,
      int @Nullable [] rowIndexes,
      List<Rejection> rejections,
      int rejectedCount,
      long unknownFields) {
    this.bytes = bytes;
    this.length = length;
    this.rowIndexes = rowIndexes;
    this.rejections = List.copyOf(rejections);
    this.rejectedCount = rejectedCount;
    this.unknownFields = unknownFields;
  }

  /** OTLP as it came. */
  public static OtlpPayload of(byte[] bytes) {
    return of(bytes, bytes.length);
  }

  /** OTLP as it came, in the first {@code length} bytes. */
  public static OtlpPayload of(byte[] bytes, int length) {
    return new OtlpPayload(bytes, length, null, List.of(), 0, 0);
  }

  int rowIndexOf(int ordinal) {
    return rowIndexes == null ? ordinal : rowIndexes[ordinal];
  }
}
