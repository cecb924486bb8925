package dev.sluice.bench.stages;

import java.io.ByteArrayOutputStream;
import java.util.Collection;

/**
 * The logs of one request or of several requests.
 *
 * @param lines one object of ClickHouse's {@code JSONEachRow} per log, each ended by a line break
 * @param logs the number of logs
 */
record Rows(byte[] lines, int logs) {

  static Rows merge(Collection<Rows> parts) {
    int bytes = parts.stream().mapToInt(each -> each.lines.length).sum();
    var lines = new ByteArrayOutputStream(bytes);
    for (var each : parts) {
      lines.writeBytes(each.lines);
    }
    return new Rows(lines.toByteArray(), parts.stream().mapToInt(Rows::logs).sum());
  }
}
