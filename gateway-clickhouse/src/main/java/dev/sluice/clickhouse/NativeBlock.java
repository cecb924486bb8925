package dev.sluice.clickhouse;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.clickhouse.Column.PlainColumn;
import dev.sluice.core.otlp.ByteOutput;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;

/**
 * A block in the Native format of ClickHouse: the numbers of columns and rows, then each column
 * with its name and type.
 */
final class NativeBlock {

  /** Memory in bytes that a block keeps for reuse even if the recent blocks were smaller. */
  private static final long MIN_RETAINED_BYTES = 16L << 20;

  private record NamedColumn(String name, byte[] header, Column column) {}

  private final List<NamedColumn> columns = new ArrayList<>();
  private final ByteOutput scratch = new ByteOutput(32);
  private int rows;
  private long recentBytes;

  PlainColumn addPlain(String name, String type) {
    return addColumn(name, type, new PlainColumn());
  }

  LowCardinalityColumn addLowCardinality(String name) {
    return addColumn(name, "LowCardinality(String)", new LowCardinalityColumn());
  }

  MapColumn addMap(String name) {
    return addColumn(name, "Map(LowCardinality(String), String)", new MapColumn());
  }

  <C extends Column> C addColumn(String name, String type, C column) {
    var header = new ByteOutput(64);
    for (var text : List.of(name, type)) {
      var bytes = text.getBytes(UTF_8);
      header.writeVarint(bytes.length);
      header.write(bytes);
    }
    columns.add(new NamedColumn(name, header.toByteArray(), column));
    return column;
  }

  List<String> columnNames() {
    return columns.stream().map(NamedColumn::name).toList();
  }

  void clear() {
    if (rows > 0) {
      recentBytes = Math.max(bytes(), recentBytes - recentBytes / 16);
    }
    rows = 0;
    for (var named : columns) {
      named.column().clear();
    }
  }

  void endRow() {
    rows++;
  }

  int rows() {
    return rows;
  }

  /** Returns the size of all values so far, in bytes. */
  long bytes() {
    long sum = 0;
    for (int i = 0; i < columns.size(); i++) {
      sum += columns.get(i).column().bytes();
    }
    return sum;
  }

  void writeTo(OutputStream out) throws IOException {
    scratch.clear();
    scratch.writeVarint(columns.size());
    scratch.writeVarint(rows);
    out.write(scratch.array(), 0, scratch.size());
    for (var named : columns) {
      out.write(named.header());
      named.column().writePrefix(out);
      named.column().writeValues(out);
    }
  }

  /**
   * Whether the block holds far more memory than the recent blocks needed and should be discarded.
   * The size of a large block loses its influence after some dozens of small blocks.
   */
  boolean oversized() {
    long capacity = 0;
    for (var named : columns) {
      capacity += named.column().capacity();
    }
    return capacity > MIN_RETAINED_BYTES + 4 * recentBytes;
  }
}
