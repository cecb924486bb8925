package dev.sluice.clickhouse;

import dev.sluice.core.otlp.ByteOutput;
import java.io.IOException;
import java.io.OutputStream;
import java.util.UUID;

/** A column of a block in the Native format of ClickHouse. It is filled row by row and reused. */
interface Column {

  void clear();

  /** Returns the approximate size of the values so far, in bytes. */
  long bytes();

  /** Returns the approximate size of the allocated memory, used or not, in bytes. */
  long capacity();

  /**
   * Writes the part that precedes all values of the column, also for a type nested in another one.
   */
  void writePrefix(OutputStream out) throws IOException;

  void writeValues(OutputStream out) throws IOException;

  /** A column of consecutive values: numbers, fixed strings, or strings with a length prefix. */
  final class PlainColumn implements Column {
    final ByteOutput values = new ByteOutput(1 << 12);

    /** Writes a UUID: the upper half first, each half in little-endian order. */
    void writeUuid(UUID value) {
      values.writeLong(value.getMostSignificantBits());
      values.writeLong(value.getLeastSignificantBits());
    }

    void writeString(byte[] bytes, int offset, int length) {
      values.writeVarint(length);
      values.write(bytes, offset, length);
    }

    @Override
    public void clear() {
      values.clear();
    }

    @Override
    public long bytes() {
      return values.size();
    }

    @Override
    public long capacity() {
      return values.array().length;
    }

    @Override
    public void writePrefix(OutputStream out) {}

    @Override
    public void writeValues(OutputStream out) throws IOException {
      out.write(values.array(), 0, values.size());
    }
  }
}
