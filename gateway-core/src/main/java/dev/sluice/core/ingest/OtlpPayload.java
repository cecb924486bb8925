package dev.sluice.core.ingest;

import dev.sluice.core.domain.Rejection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The decoded body of a request: log records as OTLP bytes, and the records that the decoder
 * rejected.
 *
 * <p>The caller passes ownership of the array and must not modify it afterwards.
 *
 * @param bytes an {@code ExportLogsServiceRequest} in the first {@code length} bytes
 * @param length the length of the request in bytes
 * @param rowIndexes the position of each record in the request of the client, in the order of the
 *     bytes; null when both orders are the same
 * @param rejections the rejections of the decoder, possibly not all
 * @param rejectedCount the number of all records that the decoder rejected
 * @param unknownFields the number of unknown fields that the decoder ignored
 * @param unknownTimestamps the number of times in a format that the decoder does not know; their
 *     records have no time
 */
public record OtlpPayload(
    byte[] bytes,
    int length,
    int @Nullable [] rowIndexes,
    List<Rejection> rejections,
    int rejectedCount,
    long unknownFields,
    long unknownTimestamps) {

  // not a compact constructor: javac does not export the nullness of its parameters
  public OtlpPayload(
      byte[] bytes,
      int length,
      int @Nullable [] rowIndexes,
      List<Rejection> rejections,
      int rejectedCount,
      long unknownFields,
      long unknownTimestamps) {
    this.bytes = bytes;
    this.length = length;
    this.rowIndexes = rowIndexes;
    this.rejections = List.copyOf(rejections);
    this.rejectedCount = rejectedCount;
    this.unknownFields = unknownFields;
    this.unknownTimestamps = unknownTimestamps;
  }

  /** Creates a payload of OTLP bytes as the client sent them. */
  public static OtlpPayload of(byte[] bytes) {
    return of(bytes, bytes.length);
  }

  /** Creates a payload of OTLP bytes as the client sent them, in the first {@code length} bytes. */
  public static OtlpPayload of(byte[] bytes, int length) {
    return new OtlpPayload(bytes, length, null, List.of(), 0, 0, 0);
  }

  int rowIndexOf(int ordinal) {
    return rowIndexes == null ? ordinal : rowIndexes[ordinal];
  }
}
