package dev.sluice.core.otlp;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogBatch;
import java.util.BitSet;
import java.util.Objects;
import java.util.UUID;

/**
 * One record cut out of a batch: the bytes of its resource, of its scope and its own, exactly as
 * they were sent, without those of its neighbours.
 *
 * <p>For one cut and one thread.
 */
public final class RecordExtractor {
  private static final int REQUEST = 0;
  private static final int SCOPE_LOGS = 2;
  private static final int RECORD = 3;

  private final ProtobufInput in = new ProtobufInput();
  private final OtlpWriter out;

  /** Records to pass over until the wanted one. */
  private int recordsToSkip;

  private RecordExtractor(byte[] otlp, int recordsToSkip) {
    this.in.bytes = otlp;
    this.recordsToSkip = recordsToSkip;
    this.out = new OtlpWriter(new ByteOutput(1024));
  }

  /**
   * The record as a batch of its own, with the tenant, the receipt and the identity that it had.
   *
   * @param record its place among the batch's accepted records, from 0
   * @throws IllegalArgumentException when the bytes are not what the batch says
   */
  public static LogBatch extract(LogBatch batch, int record) {
    Objects.checkIndex(record, batch.records());
    int ordinal = -1;
    for (int i = 0; i <= record; i++) {
      ordinal = batch.excludedOrdinals().nextClearBit(ordinal + 1);
    }
    try {
      byte[] otlp = new RecordExtractor(batch.otlp(), ordinal).copyRecord();
      return new LogBatch(
          UUID.randomUUID(),
          batch.tenant(),
          batch.receivedNanos(),
          batch.firstId().plus(record),
          1,
          expandedBytes(otlp),
          new BitSet(0),
          otlp);
    } catch (MalformedOtlpException e) {
      throw new IllegalArgumentException("no OTLP: " + e.getMessage(), e);
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
            throw new IllegalArgumentException("accepted before, refused now: " + reason);
          }
        });
    return Math.toIntExact(walker.expandedBytes());
  }

  private byte[] copyRecord() throws MalformedOtlpException {
    copyMessage(REQUEST, in.bytes.length);
    if (recordsToSkip >= 0) {
      throw new IllegalArgumentException("fewer records than the batch says");
    }
    return out.output().toByteArray();
  }

  /** Copies a message but for the children that the record is not in. */
  private void copyMessage(int level, int end) throws MalformedOtlpException {
    while (in.position < end) {
      int start = in.position;
      int tag = in.readTag(end);
      if (tag == child(level)) {
        child(level, start, in.readContentEnd(end));
      } else {
        in.skip(tag, end);
        if (level != REQUEST) { // what lies beside the resources is nobody's
          out.output().write(in.bytes, start, in.position - start);
        }
      }
    }
  }

  private void child(int level, int start, int close) throws MalformedOtlpException {
    int content = in.position;
    int records = recordsToSkip < 0 ? 0 : countRecords(level + 1, close);
    if (recordsToSkip >= records || recordsToSkip < 0) {
      recordsToSkip -= recordsToSkip < 0 ? 0 : records;
    } else if (level == SCOPE_LOGS) {
      out.output().write(in.bytes, start, close - start);
      recordsToSkip = -1;
    } else {
      in.position = content;
      int mark = out.beginMessage(child(level) >>> 3);
      copyMessage(level + 1, close);
      out.endMessage(mark);
    }
    in.position = close;
  }

  /** How many there are in a message that begins at the position. */
  private int countRecords(int level, int end) throws MalformedOtlpException {
    if (level == RECORD) {
      return 1;
    }
    int records = 0;
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == child(level)) {
        int close = in.readContentEnd(end);
        records += countRecords(level + 1, close);
        in.position = close;
      } else {
        in.skip(tag, end);
      }
    }
    return records;
  }

  /** The field that leads on to the records. */
  private static int child(int level) {
    return (level == REQUEST ? 1 : 2) << 3 | ProtobufInput.BYTES;
  }
}
