package dev.sluice.core.otlp;

/**
 * Writes OTLP messages field by field. The decoders of all other formats produce OTLP with it.
 *
 * <p>A nested message is opened with {@link #beginMessage} and closed with {@link #endMessage},
 * which inserts its length. The caller passes the field numbers, see {@link OtlpFields}. For one
 * thread at a time.
 */
public final class OtlpWriter {
  private final ByteOutput out;

  public OtlpWriter(ByteOutput out) {
    this.out = out;
  }

  public ByteOutput output() {
    return out;
  }

  /** Opens a nested message and returns its mark for {@link #endMessage}. */
  public int beginMessage(int field) {
    out.writeVarint((long) field << 3 | ProtobufInput.BYTES);
    out.writeByte(0); // one byte of length; endMessage inserts more from 128 on
    return out.size();
  }

  public void endMessage(int mark) {
    int length = out.size() - mark;
    int extra = lengthBytes(length) - 1;
    if (extra > 0) {
      out.shift(mark, extra);
    }
    int p = mark - 1;
    int remaining = length;
    while ((remaining & ~0x7F) != 0) {
      out.set(p++, remaining | 0x80);
      remaining >>>= 7;
    }
    out.set(p, remaining);
  }

  private static int lengthBytes(int length) {
    return Math.max(1, (38 - Integer.numberOfLeadingZeros(length)) / 7);
  }

  public void writeVarint(int field, long value) {
    out.writeVarint((long) field << 3 | ProtobufInput.VARINT);
    out.writeVarint(value);
  }

  public void writeFixed64(int field, long value) {
    out.writeVarint((long) field << 3 | ProtobufInput.FIXED64);
    out.writeLong(value);
  }

  public void writeFixed32(int field, int value) {
    out.writeVarint((long) field << 3 | ProtobufInput.FIXED32);
    out.writeInt(value);
  }

  public void writeBytes(int field, byte[] source, int offset, int length) {
    out.writeVarint((long) field << 3 | ProtobufInput.BYTES);
    out.writeVarint(length);
    out.write(source, offset, length);
  }

  public void writeString(int field, CharSequence text) {
    int mark = beginMessage(field);
    out.writeUtf8(text);
    endMessage(mark);
  }

  /** Writes a {@code KeyValue} with a string value into the given field of the open message. */
  public void writeAttribute(int field, CharSequence key, CharSequence value) {
    int pair = beginMessage(field);
    writeString(OtlpFields.KEY_VALUE_KEY, key);
    int any = beginMessage(OtlpFields.KEY_VALUE_VALUE);
    writeString(OtlpFields.ANY_VALUE_STRING_VALUE, value);
    endMessage(any);
    endMessage(pair);
  }
}
