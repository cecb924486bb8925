package dev.sluice.wal;

import dev.sluice.wal.SegmentLog.IndexEntry;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Formats and parses the lines of an index, one JSON object for each frame. */
final class IndexLine {
  /** Upper bound of the size of a line in bytes. */
  static final int MAX_BYTES = 512;

  private static final Pattern PATTERN =
      Pattern.compile(
          """
          \\{"file":"([^"]{1,64})","frame":([0-9]{1,9}),"off":([0-9]{1,18}),"len":([0-9]{1,9}),\
          "recs":([0-9]{1,9}),"first_ts":(-?[0-9]{1,19}),"last_ts":(-?[0-9]{1,19}),\
          "crc32":([0-9]{1,10})}""");

  private IndexLine() {}

  /** Formats a line, including its line break. */
  static String format(SegmentName segment, IndexEntry frame) {
    return """
    {"file":"%s","frame":%d,"off":%d,"len":%d,"recs":%d,"first_ts":%d,"last_ts":%d,"crc32":%d}
    """
        .formatted(
            segment.file(),
            frame.position().frame(),
            frame.offset(),
            frame.length(),
            frame.records(),
            frame.firstNanos(),
            frame.lastNanos(),
            frame.crc32());
  }

  /**
   * Parses a line without its line break.
   *
   * @return null when it is not a valid line of that segment
   */
  static @Nullable IndexEntry parse(SegmentName segment, String line) {
    var fields = PATTERN.matcher(line);
    if (!fields.matches() || !fields.group(1).equals(segment.file())) {
      return null;
    }
    try {
      return new IndexEntry(
          segment.position(Integer.parseInt(fields.group(2))),
          Long.parseLong(fields.group(3)),
          Integer.parseInt(fields.group(4)),
          Integer.parseInt(fields.group(5)),
          Long.parseLong(fields.group(6)),
          Long.parseLong(fields.group(7)),
          Long.parseLong(fields.group(8)));
    } catch (NumberFormatException _) { // a time outside the range of a long
      return null;
    }
  }
}
