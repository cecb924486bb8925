package dev.sluice.clickhouse;

import dev.sluice.core.otlp.ByteOutput;
import java.io.IOException;
import java.io.OutputStream;
import java.util.UUID;

/** One column of a block in ClickHouse's Native format, filled row by row and reused. */
interface Column {

  void clear();

  /** Bytes of the values so far, roughly. */
  long bytes();

  /** Bytes of memory held, used or not, roughly. */
  long capacity();

  /** What precedes the column's values once, however deep in the type it belongs. */
  void writePrefix(OutputStream out) throws IOException;

  void writeValues(OutputStream out) throws IOException;

  /** Values that follow each other as they are: numbers, fixed strings, length-prefixed strings. */
  final class PlainColumn implements Column {
    final ByteOutput values = new ByteOutput(1 << 12);

    /** The upper half first, each half with its lowest byte first. */
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
