package dev.sluice.core.otlp;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.ReplayId;
import java.util.BitSet;
import java.util.Objects;

/**
 * Extracts one record from a batch: the bytes of the record, its resource and its scope, exactly as
 * they were sent, without the other records.
 *
 * <p>An instance serves one extraction on one thread.
 */
public final class RecordExtractor {
  // nesting levels of the messages, from the request down to the record
  private static final int REQUEST = 0;
  private static final int RESOURCE_LOGS = 1;
  private static final int SCOPE_LOGS = 2;
  private static final int RECORD = 3;

  private final ProtobufInput in = new ProtobufInput();
  private final OtlpWriter out;

  /** Number of records to skip before the wanted one; -1 once it is copied. */
  private int recordsToSkip;

  private RecordExtractor(byte[] otlp, int recordsToSkip) {
    this.in.bytes = otlp;
    this.recordsToSkip = recordsToSkip;
    this.out = new OtlpWriter(new ByteOutput(1024));
  }

  /**
   * Returns a batch of only this record, with its tenant, its receive time and its log id
   * unchanged, and with the append id of its next replay.
   *
   * @param record index among the accepted records of the batch, from 0
   * @throws IllegalArgumentException if the bytes of the batch are not OTLP or do not match its
   *     metadata
   */
  public static LogBatch extract(LogBatch batch, int record) {
    Objects.checkIndex(record, batch.records());
    int ordinal = -1;
    for (int i = 0; i <= record; i++) {
      ordinal = batch.excludedOrdinals().nextClearBit(ordinal + 1);
    }
    try {
      byte[] otlp = new RecordExtractor(batch.otlp(), ordinal).copyRecord();
      var id = batch.firstId().plus(record);
      return new LogBatch(
          ReplayId.after(batch.appendId(), id),
          batch.tenant(),
          batch.receivedNanos(),
          id,
          1,
          expandedBytes(otlp),
          new BitSet(0),
          otlp);
    } catch (MalformedOtlpException e) {
      throw new IllegalArgumentException("the batch is not valid OTLP: " + e.getMessage(), e);
    }
  }

  private static int expandedBytes(byte[] otlp) throws MalformedOtlpException {
    var walker = new OtlpWalker(Limits.TRUSTED);
    walker.walk(
        otlp,
        0,
        otlp.length,
        new OtlpRecordVisitor() {
          @Override
          public void visitRecord(OtlpRecord log) {}

          @Override
          public void visitRejected(int ordinal, String field, String reason) {
            throw new IllegalArgumentException("an accepted record is now rejected: " + reason);
          }
        });
    return Math.toIntExact(walker.expandedBytes());
  }

  private byte[] copyRecord() throws MalformedOtlpException {
    copyMessage(REQUEST, in.bytes.length);
    if (recordsToSkip >= 0) {
      throw new IllegalArgumentException("the batch has fewer records than its metadata states");
    }
    return out.output().toByteArray();
  }

  /** Copies a message without the children that do not contain the record. */
  private void copyMessage(int level, int end) throws MalformedOtlpException {
    while (in.position < end) {
      int start = in.position;
      int tag = in.readTag(end);
      if (tag == childTag(level)) {
        copyChild(level, start, in.readContentEnd(end));
      } else {
        in.skip(tag, end);
        if (level != REQUEST) { // fields beside resource_logs belong to no record
          out.output().write(in.bytes, start, in.position - start);
        }
      }
    }
  }

  private void copyChild(int level, int start, int close) throws MalformedOtlpException {
    int content = in.position;
    int records = recordsToSkip < 0 ? 0 : countRecords(level + 1, close);
    if (recordsToSkip >= records || recordsToSkip < 0) {
      recordsToSkip -= recordsToSkip < 0 ? 0 : records;
    } else if (level == SCOPE_LOGS) {
      out.output().write(in.bytes, start, close - start);
      recordsToSkip = -1;
    } else {
      in.position = content;
      int mark = out.beginMessage(childTag(level) >>> 3);
      copyMessage(level + 1, close);
      out.endMessage(mark);
    }
    in.position = close;
  }

  /** Returns the number of records in the message that begins at the current position. */
  private int countRecords(int level, int end) throws MalformedOtlpException {
    if (level == RECORD) {
      return 1;
    }
    int records = 0;
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == childTag(level)) {
        int close = in.readContentEnd(end);
        records += countRecords(level + 1, close);
        in.position = close;
      } else {
        in.skip(tag, end);
      }
    }
    return records;
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
