package dev.sluice.clickhouse;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.otlp.ByteOutput;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;

/**
 * A column of type {@code LowCardinality(String)}: a dictionary, and for each row the number of its
 * string.
 *
 * <pre>
 *  prefix   u64 version of the format, 1
 *  values   u64 flags | u64 strings | strings | u64 rows | rows as u8, u16 or u32
 * </pre>
 *
 * <p>Rows are collected as {@code int} and narrowed when they are written, since only then the
 * number of strings is known. A block without rows has only the prefix.
 */
final class LowCardinalityColumn implements Column {

  /**
   * Flags of the format: the block brings its own dictionary, and all of its strings are additional
   * keys.
   */
  private static final long FLAGS = 0x600;

  private static final int CHUNK = 1 << 13;

  private final StringDictionary dictionary = new StringDictionary();
  private final ByteOutput scratch = new ByteOutput(4 * CHUNK);
  private int[] rows = new int[1 << 10];
  private int size;

  int intern(byte[] bytes, int offset, int length) {
    return dictionary.intern(bytes, offset, length);
  }

  void add(int number) {
    if (size == rows.length) {
      rows = Arrays.copyOf(rows, size * 2);
    }
    rows[size++] = number;
  }

  /** Appends a row. */
  void add(String value) {
    var bytes = value.getBytes(UTF_8);
    add(intern(bytes, 0, bytes.length));
  }

  void addAll(int[] numbers, int count) {
    if (rows.length - size < count) {
      rows = Arrays.copyOf(rows, Math.max(size + count, size * 2));
    }
    System.arraycopy(numbers, 0, rows, size, count);
    size += count;
  }

  int size() {
    return size;
  }

  @Override
  public void clear() {
    dictionary.clear();
    size = 0;
  }

  @Override
  public long bytes() {
    return dictionary.encoded().size() + 4L * size;
  }

  @Override
  public long capacity() {
    return dictionary.capacity() + 4L * rows.length;
  }

  @Override
  public void writePrefix(OutputStream out) throws IOException {
    scratch.clear();
    scratch.writeLong(1);
    flush(out);
  }

  @Override
  public void writeValues(OutputStream out) throws IOException {
    if (size == 0) {
      return;
    }
    int width = dictionary.size() <= 1 << 8 ? 0 : dictionary.size() <= 1 << 16 ? 1 : 2;
    scratch.clear();
    scratch.writeLong(FLAGS | width);
    scratch.writeLong(dictionary.size());
    flush(out);
    out.write(dictionary.encoded().array(), 0, dictionary.encoded().size());
    scratch.writeLong(size);
    for (int from = 0; from < size; from += CHUNK) {
      narrow(from, Math.min(size, from + CHUNK), width);
      flush(out);
    }
  }

  private void narrow(int from, int to, int width) {
    switch (width) {
      case 0 -> {
        for (int i = from; i < to; i++) {
          scratch.writeByte(rows[i]);
        }
      }
      case 1 -> {
        for (int i = from; i < to; i++) {
          scratch.writeShort(rows[i]);
        }
      }
      default -> {
        for (int i = from; i < to; i++) {
          scratch.writeInt(rows[i]);
        }
      }
    }
  }

  private void flush(OutputStream out) throws IOException {
    out.write(scratch.array(), 0, scratch.size());
    scratch.clear();
  }
}
