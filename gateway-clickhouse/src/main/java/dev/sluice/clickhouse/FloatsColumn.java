package dev.sluice.clickhouse;

import dev.sluice.core.otlp.ByteOutput;
import java.io.IOException;
import java.io.OutputStream;

/** {@code Array(Float32)}: where each row ends, then all numbers. */
final class FloatsColumn implements Column {
  private final ByteOutput ends = new ByteOutput(1 << 9);
  private final ByteOutput values = new ByteOutput(1 << 12);

  /** Appends a row. */
  void add(float[] numbers) {
    for (float number : numbers) {
      values.writeInt(Float.floatToRawIntBits(number));
    }
    ends.writeLong(values.size() / Float.BYTES);
  }

  @Override
  public void clear() {
    ends.clear();
    values.clear();
  }

  @Override
  public long bytes() {
    return (long) ends.size() + values.size();
  }

  @Override
  public long capacity() {
    return (long) ends.array().length + values.array().length;
  }

  @Override
  public void writePrefix(OutputStream out) {}

  @Override
  public void writeValues(OutputStream out) throws IOException {
    out.write(ends.array(), 0, ends.size());
    out.write(values.array(), 0, values.size());
  }
}
