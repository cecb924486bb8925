package dev.sluice.api.decode;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.Rejection;
import dev.sluice.core.ingest.DecodeException;
import dev.sluice.core.ingest.IngestService;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.OtlpFields;
import dev.sluice.core.otlp.OtlpWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Builds an OTLP request from rows that each have their own resource and scope. Consecutive rows
 * with an equal resource and scope are written into one group.
 *
 * <p>For each row the caller calls {@link #begin}, writes the fields to the three writers and calls
 * {@link #end}. A row for which {@link #rejectRecord} was called is left out and reported as a
 * rejection; the other rows are not affected. For one request and one thread.
 */
public final class OtlpRequestBuilder {
  private final Limits limits;
  private final ByteOutput out;
  private final OtlpWriter writer;
  private final ByteOutput recordBytes = new ByteOutput(512);
  private final ByteOutput resourceBytes = new ByteOutput(128);
  private final ByteOutput scopeBytes = new ByteOutput(64);

  /** Writer for the fields of the row's {@code LogRecord}. */
  public final OtlpWriter record = new OtlpWriter(recordBytes);

  /** Writer for the fields of the row's {@code Resource}. */
  public final OtlpWriter resource = new OtlpWriter(resourceBytes);

  /** Writer for the fields of the row's {@code InstrumentationScope}. */
  public final OtlpWriter scope = new OtlpWriter(scopeBytes);

  private byte[] openResource = {};
  private byte[] openScope = {};
  private int resourceMark = -1;
  private int scopeMark;

  private int index;
  private int[] rowIndexes = new int[16];
  private int accepted;
  private final List<Rejection> rejections = new ArrayList<>();
  private int rejectedCount;
  private @Nullable String rejectedField;
  private String rejectionReason = "";

  private long unknownFields;
  private long unknownTimestamps;

  /**
   * Creates a builder for one request.
   *
   * @param sizeHint the expected size of the OTLP in bytes
   */
  public OtlpRequestBuilder(Limits limits, int sizeHint) {
    this.limits = limits;
    this.out = new ByteOutput(sizeHint);
    this.writer = new OtlpWriter(out);
  }

  /**
   * Begins a row. A row that was begun but not ended is discarded.
   *
   * @throws DecodeException if the request has more rows than the limit
   */
  public void begin() {
    if (index >= limits.maxRecords()) {
      throw DecodeException.tooLarge("more than " + limits.maxRecords() + " log records");
    }
    recordBytes.clear();
    resourceBytes.clear();
    scopeBytes.clear();
    rejectedField = null;
  }

  /** Marks the row as rejected; the first call per row determines field and reason. */
  public void rejectRecord(String field, String reason) {
    if (rejectedField == null) {
      rejectedField = field;
      rejectionReason = reason;
    }
  }

  public boolean isRejected() {
    return rejectedField != null;
  }

  /** Ends the row: appends it, or records its rejection. */
  public void end() {
    if (rejectedField == null) {
      append();
      return;
    }
    if (rejections.size() < IngestService.MAX_REJECTIONS) {
      rejections.add(new Rejection(index, rejectedField, rejectionReason));
    }
    rejectedCount++;
    index++;
  }

  private void append() {
    if (resourceMark < 0
        || !contentEquals(resourceBytes, openResource)
        || !contentEquals(scopeBytes, openScope)) {
      closeGroup();
      openResource = resourceBytes.toByteArray();
      openScope = scopeBytes.toByteArray();
      resourceMark = writer.beginMessage(OtlpFields.EXPORT_LOGS_SERVICE_REQUEST_RESOURCE_LOGS);
      writer.writeBytes(OtlpFields.RESOURCE_LOGS_RESOURCE, openResource, 0, openResource.length);
      scopeMark = writer.beginMessage(OtlpFields.RESOURCE_LOGS_SCOPE_LOGS);
      if (openScope.length > 0) {
        writer.writeBytes(OtlpFields.SCOPE_LOGS_SCOPE, openScope, 0, openScope.length);
      }
    }
    writer.writeBytes(
        OtlpFields.SCOPE_LOGS_LOG_RECORDS, recordBytes.array(), 0, recordBytes.size());
    addRowIndex();
  }

  private void addRowIndex() {
    if (accepted == rowIndexes.length) {
      rowIndexes = Arrays.copyOf(rowIndexes, accepted * 2);
    }
    rowIndexes[accepted++] = index++;
  }

  /** Counts an unknown field, which the decoder ignores. */
  public void countUnknownField() {
    unknownFields++;
  }

  /** Returns the number of unknown fields so far. */
  public long unknownFields() {
    return unknownFields;
  }

  /** Counts a time in an unknown format, which the decoder leaves out. */
  public void countUnknownTimestamp() {
    unknownTimestamps++;
  }

  /** Returns the number of times in an unknown format so far. */
  public long unknownTimestamps() {
    return unknownTimestamps;
  }

  /** Sets the counts back to earlier ones, to decode a row again. */
  public void resetUnknown(long fields, long timestamps) {
    unknownFields = fields;
    unknownTimestamps = timestamps;
  }

  /** Ends a row that is a complete {@code ExportLogsServiceRequest} with one record. */
  public void end(byte[] request, int length) {
    closeGroup();
    out.write(request, 0, length);
    addRowIndex();
  }

  private static boolean contentEquals(ByteOutput bytes, byte[] expected) {
    return Arrays.equals(bytes.array(), 0, bytes.size(), expected, 0, expected.length);
  }

  private void closeGroup() {
    if (resourceMark >= 0) {
      writer.endMessage(scopeMark);
      writer.endMessage(resourceMark);
      resourceMark = -1;
    }
  }

  /** Returns the request with all rows that were ended. */
  public OtlpPayload payload() {
    closeGroup();
    return new OtlpPayload(
        out.array(),
        out.size(),
        rowIndexes,
        rejections,
        rejectedCount,
        unknownFields,
        unknownTimestamps);
  }
}
