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
 * writers, and it is {@linkplain #end ended}; with a {@linkplain #fault fault} it becomes a verdict
 * and costs its neighbours nothing. For one request and one thread.
 */
final class OtlpRows {
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
  private int[] rows = new int[16];
  private int accepted;
  private final List<Rejection> refused = new ArrayList<>();
  private int refusedCount;
  private @Nullable String faultField;
  private String faultReason = "";

  /** Fields that were ignored so far. */
  long unknownFields;

  /**
   * @param sizeHint bytes that the OTLP will probably need
   */
  OtlpRows(Limits limits, int sizeHint) {
    this.limits = limits;
    this.out = new ByteOutput(sizeHint);
    this.writer = new OtlpWriter(out);
  }

  /**
   * Begins a row, or the one that was begun and never ended again.
   *
   * @throws Undecodable when there are more than the limit
   */
  void begin() {
    if (index >= limits.maxRecords()) {
      throw Undecodable.tooLarge("more than " + limits.maxRecords() + " log records");
    }
    recordBytes.clear();
    resourceBytes.clear();
    scopeBytes.clear();
    faultField = null;
  }

  /** The row will be refused; the first reason counts. */
  void fault(String field, String reason) {
    if (faultField == null) {
      faultField = field;
      faultReason = reason;
    }
  }

  boolean faulty() {
    return faultField != null;
  }

  void end() {
    if (faultField == null) {
      append();
      return;
    }
    if (refused.size() < IngestService.MAX_REJECTIONS) {
      refused.add(new Rejection(index, faultField, faultReason));
    }
    refusedCount++;
    index++;
  }

  private void append() {
    if (resourceMark < 0 || !same(resourceBytes, openResource) || !same(scopeBytes, openScope)) {
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
    took();
  }

  private void took() {
    if (accepted == rows.length) {
      rows = Arrays.copyOf(rows, accepted * 2);
    }
    rows[accepted++] = index++;
  }

  /** Ends a row that is a whole {@code ExportLogsServiceRequest} of one record. */
  void end(byte[] request, int length) {
    closeGroup();
    out.write(request, 0, length);
    took();
  }

  private static boolean same(ByteOutput now, byte[] open) {
    return Arrays.equals(now.array(), 0, now.size(), open, 0, open.length);
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
    return new OtlpPayload(out.array(), out.size(), rows, refused, refusedCount, unknownFields);
  }
}
