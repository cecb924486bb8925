package dev.sluice.core.otlp;

/**
 * The kind of a value and its range of the walked bytes. The object is reused from record to
 * record.
 *
 * <p>For {@link Kind#STRING} and {@link Kind#BYTES} the range is the content; for {@link
 * Kind#ARRAY} and {@link Kind#MAP} it is the encoded message; the other kinds have their value in
 * {@code bits}.
 */
public final class AnyValue {
  /** The cases of OTLP's {@code AnyValue}; {@code EMPTY} is a value that was never set. */
  public enum Kind {
    EMPTY,
    STRING,
    BOOL,
    INT,
    DOUBLE,
    ARRAY,
    MAP,
    BYTES
  }

  Kind kind = Kind.EMPTY;
  int offset;
  int length;
  long bits;

  AnyValue() {}

  void clear() {
    kind = Kind.EMPTY;
    offset = 0;
    length = 0;
    bits = 0;
  }

  public Kind kind() {
    return kind;
  }

  public int offset() {
    return offset;
  }

  public int length() {
    return length;
  }

  public boolean asBool() {
    return bits != 0;
  }

  public long asLong() {
    return bits;
  }

  public double asDouble() {
    return Double.longBitsToDouble(bits);
  }
}
