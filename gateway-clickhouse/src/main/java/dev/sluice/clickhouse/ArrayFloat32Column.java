package dev.sluice.clickhouse;

import dev.sluice.core.otlp.ByteOutput;
import java.io.IOException;
import java.io.OutputStream;

/**
 * A column of type {@code Array(Float32)}: the end offset of each row, then the values of all rows.
 */
final class ArrayFloat32Column implements Column {
  private final ByteOutput offsets = new ByteOutput(1 << 9);
  private final ByteOutput values = new ByteOutput(1 << 12);

  /** Appends a row. */
  void add(float[] numbers) {
    for (float number : numbers) {
      values.writeInt(Float.floatToRawIntBits(number));
    }
    offsets.writeLong(values.size() / Float.BYTES);
  }

  @Override
  public void clear() {
    offsets.clear();
    values.clear();
  }

  @Override
  public long bytes() {
    return (long) offsets.size() + values.size();
  }

  @Override
  public long capacity() {
    return (long) offsets.array().length + values.array().length;
  }

  @Override
  public void writePrefix(OutputStream out) {}

  @Override
  public void writeValues(OutputStream out) throws IOException {
    out.write(offsets.array(), 0, offsets.size());
    out.write(values.array(), 0, values.size());
  }
}
