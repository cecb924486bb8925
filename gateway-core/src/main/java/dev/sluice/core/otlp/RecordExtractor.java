package dev.sluice.core.otlp;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.ReplayId;
import java.util.Objects;
import java.util.function.IntPredicate;

/**
 * Extracts records from OTLP bytes: these records with their resources and scopes, without the
 * other records. All fields are copied as they were sent, also unknown ones; only the lengths of
 * the enclosing messages are encoded anew.
 *
 * <p>A resource or a scope without any of these records is left out, as is an unknown field of the
 * request, which belongs to no record. An instance serves one extraction on one thread.
 */
public final class RecordExtractor {
  // nesting levels of the messages, from the request down to the records
  private static final int REQUEST = 0;
  private static final int RESOURCE_LOGS = 1;
  private static final int SCOPE_LOGS = 2;

  /** The capacity that {@link ByteOutput#writeVarint} needs, also for a number of fewer bytes. */
  private static final int MAX_VARINT_BYTES = 10;

  private final ProtobufInput in = new ProtobufInput();
  private final OtlpWriter out;
  private final IntPredicate selection;

  /** Number of records before the current position. */
  private int ordinal;

  private RecordExtractor(byte[] otlp, int length, IntPredicate selection) {
    this.in.bytes = otlp;
    // the output is not longer than the input, and never grows
    this.out = new OtlpWriter(new ByteOutput(length + MAX_VARINT_BYTES));
    this.selection = selection;
  }

  /**
   * Returns the bytes of the selected records; empty when none is selected.
   *
   * @param otlp an {@code ExportLogsServiceRequest}, or several concatenated ones, in the first
   *     {@code length} bytes
   * @param selection whether to copy the record with an {@linkplain OtlpRecord#ordinal ordinal};
   *     called once for each record, in their order
   * @throws IllegalArgumentException if the bytes are not OTLP
   */
  public static byte[] extract(byte[] otlp, int length, IntPredicate selection) {
    Objects.checkFromIndexSize(0, length, otlp.length);
    var extractor = new RecordExtractor(otlp, length, selection);
    try {
      var _ = extractor.copyMessage(REQUEST, length);
    } catch (MalformedOtlpException e) {
      throw new IllegalArgumentException("invalid OTLP: " + e.getMessage(), e);
    }
    return extractor.out.output().toByteArray();
  }

  /**
   * Returns a batch of only this record, with its tenant, its receive time and its log id
   * unchanged, and with the append id of its next replay.
   *
   * @param record index among the records of the batch, from 0
   * @throws IllegalArgumentException if the bytes of the batch are not OTLP or do not match its
   *     metadata
   */
  public static LogBatch extract(LogBatch batch, int record) {
    Objects.checkIndex(record, batch.records());
    var all = batch.otlp();
    var otlp = extract(all, all.length, ordinal -> ordinal == record);
    if (otlp.length == 0) {
      throw new IllegalArgumentException("the batch has fewer records than its metadata states");
    }
    var id = batch.firstId().plus(record);
    return new LogBatch(
        ReplayId.after(batch.appendId(), id),
        batch.tenant(),
        batch.receivedNanos(),
        id,
        1,
        OtlpWalker.expandedBytes(otlp),
        otlp);
  }

  /** Copies a message with the selected records; returns whether it copied a record. */
  private boolean copyMessage(int level, int end) throws MalformedOtlpException {
    boolean copied = false;
    while (in.position < end) {
      int start = in.position;
      int tag = in.readTag(end);
      if (tag != childTag(level)) {
        in.skip(tag, end);
        if (level != REQUEST) {
          copyFrom(start);
        }
      } else if (level != SCOPE_LOGS) {
        copied |= copyChild(level, in.readContentEnd(end));
      } else {
        in.position = in.readContentEnd(end);
        if (selection.test(ordinal++)) {
          copyFrom(start);
          copied = true;
        }
      }
    }
    return copied;
  }

  /** Copies the nested message at the current position, unless it has no record to copy. */
  private boolean copyChild(int level, int close) throws MalformedOtlpException {
    int size = out.output().size();
    int mark = out.beginMessage(childTag(level) >>> 3);
    boolean copied = copyMessage(level + 1, close);
    if (copied) {
      out.endMessage(mark);
    } else {
      out.output().truncate(size);
    }
    return copied;
  }

  private void copyFrom(int start) {
    out.output().write(in.bytes, start, in.position - start);
  }

  /** Returns the tag of the field that contains the next level. */
  private static int childTag(int level) {
    return switch (level) {
      case REQUEST -> OtlpFields.EXPORT_LOGS_SERVICE_REQUEST_RESOURCE_LOGS_TAG;
      case RESOURCE_LOGS -> OtlpFields.RESOURCE_LOGS_SCOPE_LOGS_TAG;
      default -> OtlpFields.SCOPE_LOGS_LOG_RECORDS_TAG;
    };
  }
}
