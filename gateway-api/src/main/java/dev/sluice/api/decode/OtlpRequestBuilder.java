package dev.sluice.api.decode;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.Rejection;
import dev.sluice.core.ingest.IngestService;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.OtlpWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Rows that each name their own resource and scope, as OTLP: consecutive rows of one resource and
 * scope share them. A row is {@linkplain #begin begun}, its fields are written to the three
 * writers, and it is {@linkplain #end ended}; with a {@linkplain #rejectRecord fault} it becomes a
 * verdict and costs its neighbours nothing. For one request and one thread.
 */
final class OtlpRequestBuilder {
  private final Limits limits;
  private final ByteOutput out;
  private final OtlpWriter writer;
  private final ByteOutput recordBytes = new ByteOutput(512);
  private final ByteOutput resourceBytes = new ByteOutput(128);
  private final ByteOutput scopeBytes = new ByteOutput(64);

  /** Fields of the {@code LogRecord}, of the {@code Resource} and of the {@code Scope}. */
  final OtlpWriter record = new OtlpWriter(recordBytes);

  final OtlpWriter resource = new OtlpWriter(resourceBytes);
  final OtlpWriter scope = new OtlpWriter(scopeBytes);

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

  /** Fields that were ignored so far. */
  long unknownFields;

  /**
   * @param sizeHint bytes that the OTLP will probably need
   */
  OtlpRequestBuilder(Limits limits, int sizeHint) {
    this.limits = limits;
    this.out = new ByteOutput(sizeHint);
    this.writer = new OtlpWriter(out);
  }

  /**
   * Begins a row, or the one that was begun and never ended again.
   *
   * @throws DecodeException when there are more than the limit
   */
  void begin() {
    if (index >= limits.maxRecords()) {
      throw DecodeException.tooLarge("more than " + limits.maxRecords() + " log records");
    }
    recordBytes.clear();
    resourceBytes.clear();
    scopeBytes.clear();
    rejectedField = null;
  }

  /** The row will be refused; the first reason counts. */
  void rejectRecord(String field, String reason) {
    if (rejectedField == null) {
      rejectedField = field;
      rejectionReason = reason;
    }
  }

  boolean isRejected() {
    return rejectedField != null;
  }

  void end() {
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
      resourceMark = writer.beginMessage(1);
      writer.writeBytes(1, openResource, 0, openResource.length);
      scopeMark = writer.beginMessage(2);
      if (openScope.length > 0) {
        writer.writeBytes(1, openScope, 0, openScope.length);
      }
    }
    writer.writeBytes(2, recordBytes.array(), 0, recordBytes.size());
    addRowIndex();
  }

  private void addRowIndex() {
    if (accepted == rowIndexes.length) {
      rowIndexes = Arrays.copyOf(rowIndexes, accepted * 2);
    }
    rowIndexes[accepted++] = index++;
  }

  /** Ends a row that is a whole {@code ExportLogsServiceRequest} of one record. */
  void end(byte[] request, int length) {
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

  /** All rows that were ended. */
  OtlpPayload payload() {
    closeGroup();
    return new OtlpPayload(
        out.array(), out.size(), rowIndexes, rejections, rejectedCount, unknownFields);
  }
}
