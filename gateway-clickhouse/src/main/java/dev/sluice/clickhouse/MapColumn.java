package dev.sluice.clickhouse;

import dev.sluice.core.domain.RecordIds;
import dev.sluice.core.otlp.AnyValue;
import dev.sluice.core.otlp.AnyValueFormatter;
import dev.sluice.core.otlp.Attributes;
import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.templates.dictionary.TextReference;
import java.io.IOException;
import java.io.OutputStream;

/**
 * A column of type {@code Map(LowCardinality(String), String)}: the end offset of each row, then
 * all keys, then all values.
 */
final class MapColumn implements Column {
  private final ByteOutput offsets = new ByteOutput(1 << 12);
  private final LowCardinalityColumn keys = new LowCardinalityColumn();
  private final ByteOutput values = new ByteOutput(1 << 12);
  private final ByteOutput scratch = new ByteOutput(1 << 8);
  private final byte[] reference = new byte[TextReference.MAX_REFERENCE_BYTES];

  /** Attributes that are encoded once and appended to many rows. */
  static final class EncodedAttributes {
    private final ByteOutput values = new ByteOutput(1 << 10);
    private int[] keys = new int[32];
    private int size;
  }

  /**
   * Appends a row, in which long texts with a dictionary id are replaced by a {@link
   * TextReference}.
   *
   * @param ids the ids of the delivery
   * @param record the index of the record in the delivery
   */
  void add(Attributes attributes, byte[] bytes, RecordIds ids, int record) {
    for (int i = 0; i < attributes.size(); i++) {
      keys.add(internKey(attributes, i, bytes));
      var value = attributes.value(i);
      if (value.kind() == AnyValue.Kind.STRING) {
        addText(bytes, value.offset(), value.length(), ids, record);
      } else {
        append(value, bytes, values, scratch);
      }
    }
    offsets.writeLong(keys.size());
  }

  private void addText(byte[] bytes, int offset, int length, RecordIds ids, int record) {
    int text = length < TextReference.MIN_TEXT_BYTES ? -1 : ids.findText(record, offset);
    if (text >= 0) {
      int size =
          TextReference.write(
              bytes, offset, length, ids.textHigh(text), ids.textLow(text), reference);
      values.writeVarint(size);
      values.write(reference, 0, size);
    } else if (TextReference.needsEscape(bytes, offset, length)) {
      values.writeVarint(length + 1);
      values.write(bytes, offset, length);
      values.writeByte(']');
    } else {
      values.writeVarint(length);
      values.write(bytes, offset, length);
    }
  }

  /**
   * Encodes attributes for {@link #add(EncodedAttributes)}; the result is valid until {@link
   * #clear}.
   */
  void encode(Attributes attributes, byte[] bytes, EncodedAttributes into) {
    int size = attributes.size();
    if (into.keys.length < size) {
      into.keys = new int[Math.max(size, into.keys.length * 2)];
    }
    into.values.clear();
    for (int i = 0; i < size; i++) {
      into.keys[i] = internKey(attributes, i, bytes);
      append(attributes.value(i), bytes, into.values, scratch);
    }
    into.size = size;
  }

  /** Appends a row. */
  void add(EncodedAttributes encodedAttributes) {
    keys.addAll(encodedAttributes.keys, encodedAttributes.size);
    values.write(encodedAttributes.values.array(), 0, encodedAttributes.values.size());
    offsets.writeLong(keys.size());
  }

  private int internKey(Attributes attributes, int i, byte[] bytes) {
    return keys.intern(bytes, attributes.keyOffset(i), attributes.keyLength(i));
  }

  /** Appends the string form of a value, prefixed with its length. */
  static void append(AnyValue value, byte[] bytes, ByteOutput into, ByteOutput scratch) {
    switch (value.kind()) {
      case STRING -> {
        into.writeVarint(value.length());
        into.write(bytes, value.offset(), value.length());
      }
      case EMPTY -> into.writeByte(0);
      case BOOL, INT, DOUBLE, ARRAY, MAP, BYTES -> {
        scratch.clear();
        AnyValueFormatter.append(value, bytes, scratch);
        into.writeVarint(scratch.size());
        into.write(scratch.array(), 0, scratch.size());
      }
    }
  }

  @Override
  public void clear() {
    offsets.clear();
    keys.clear();
    values.clear();
  }

  @Override
  public long bytes() {
    return offsets.size() + keys.bytes() + values.size();
  }

  @Override
  public long capacity() {
    return offsets.array().length
        + keys.capacity()
        + values.array().length
        + scratch.array().length;
  }

  @Override
  public void writePrefix(OutputStream out) throws IOException {
    keys.writePrefix(out);
  }

  @Override
  public void writeValues(OutputStream out) throws IOException {
    out.write(offsets.array(), 0, offsets.size());
    keys.writeValues(out);
    out.write(values.array(), 0, values.size());
  }
}
