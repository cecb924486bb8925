package dev.sluice.core.otlp;

/**
 * Writes OTLP messages field by field: how every entrance that does not receive OTLP makes it.
 *
 * <p>A nested message is opened with {@link #beginMessage}, closed with {@link #endMessage}; its
 * length is put in front when it is known. Field numbers are the caller's, from the {@code .proto}
 * files. For one thread at a time.
 */
public final class OtlpWriter {
  private final ByteOutput out;

  public OtlpWriter(ByteOutput out) {
    this.out = out;
  }

  public ByteOutput output() {
    return out;
  }

  /** Opens a nested message and returns the mark that closes it. */
  public int beginMessage(int field) {
    out.writeVarint((long) field << 3 | ProtobufInput.BYTES);
    out.writeByte(0); // lengths below 128 fit; longer ones move the content
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

  /** A {@code KeyValue} with a string value, in the given field of the open message. */
  public void writeAttribute(int field, CharSequence key, CharSequence value) {
    int pair = beginMessage(field);
    writeString(1, key);
    int any = beginMessage(2);
    writeString(1, value);
    endMessage(any);
    endMessage(pair);
  }
}
