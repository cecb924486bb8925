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
public final class Excerpt {
  private static final int REQUEST = 0;
  private static final int SCOPE_LOGS = 2;
  private static final int RECORD = 3;

  private final ProtobufInput in = new ProtobufInput();
  private final OtlpWriter out;

  /** Records to pass over until the wanted one. */
  private int before;

  private Excerpt(byte[] otlp, int before) {
    this.in.bytes = otlp;
    this.before = before;
    this.out = new OtlpWriter(new ByteOutput(1024));
  }

  /**
   * The record as a batch of its own, with the tenant, the receipt and the identity that it had.
   *
   * @param record its place among the batch's accepted records, from 0
   * @throws IllegalArgumentException when the bytes are not what the batch says
   */
  public static LogBatch of(LogBatch batch, int record) {
    Objects.checkIndex(record, batch.records());
    int ordinal = -1;
    for (int i = 0; i <= record; i++) {
      ordinal = batch.refused().nextClearBit(ordinal + 1);
    }
    try {
      byte[] otlp = new Excerpt(batch.otlp(), ordinal).cut();
      return new LogBatch(
          UUID.randomUUID(),
          batch.tenant(),
          batch.receivedNanos(),
          batch.firstId().plus(record),
          1,
          expandedBytes(otlp),
          new BitSet(0),
          otlp);
    } catch (MalformedOtlp e) {
      throw new IllegalArgumentException("no OTLP: " + e.getMessage(), e);
    }
  }

  private static int expandedBytes(byte[] otlp) throws MalformedOtlp {
    var walker = new OtlpWalker(Limits.ALREADY_JUDGED);
    walker.walk(
        otlp,
        0,
        otlp.length,
        new OtlpSink() {
          @Override
          public void accepted(OtlpRecord log) {}

          @Override
          public void refused(int ordinal, String field, String reason) {
            throw new IllegalArgumentException("accepted before, refused now: " + reason);
          }
        });
    return Math.toIntExact(walker.expandedBytes());
  }

  private byte[] cut() throws MalformedOtlp {
    copy(REQUEST, in.bytes.length);
    if (before >= 0) {
      throw new IllegalArgumentException("fewer records than the batch says");
    }
    return out.output().toByteArray();
  }

  /** Copies a message but for the children that the record is not in. */
  private void copy(int level, int end) throws MalformedOtlp {
    while (in.position < end) {
      int start = in.position;
      int tag = in.tag(end);
      if (tag == child(level)) {
        child(level, start, in.contentEnd(end));
      } else {
        in.skip(tag, end);
        if (level != REQUEST) { // what lies beside the resources is nobody's
          out.output().write(in.bytes, start, in.position - start);
        }
      }
    }
  }

  private void child(int level, int start, int close) throws MalformedOtlp {
    int content = in.position;
    int records = before < 0 ? 0 : records(level + 1, close);
    if (before >= records || before < 0) {
      before -= before < 0 ? 0 : records;
    } else if (level == SCOPE_LOGS) {
      out.output().write(in.bytes, start, close - start);
      before = -1;
    } else {
      in.position = content;
      int mark = out.open(child(level) >>> 3);
      copy(level + 1, close);
      out.close(mark);
    }
    in.position = close;
  }

  /** How many there are in a message that begins at the position. */
  private int records(int level, int end) throws MalformedOtlp {
    if (level == RECORD) {
      return 1;
    }
    int records = 0;
    while (in.position < end) {
      int tag = in.tag(end);
      if (tag == child(level)) {
        int close = in.contentEnd(end);
        records += records(level + 1, close);
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
