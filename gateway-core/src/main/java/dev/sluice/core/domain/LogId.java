package dev.sluice.core.domain;

import java.util.HexFormat;

/**
 * The id of a log record: 16 bytes whose big-endian order is the order of acceptance within one
 * gateway process.
 *
 * <pre>
 *  0        6             12       16
 *  +--------+-------------+--------+
 *  | millis | node        | counter|     big-endian
 *  +--------+-------------+--------+
 * </pre>
 *
 * @param high 48 bits of Unix milliseconds, then the upper 16 bits of the node
 * @param low the lower 32 bits of the node, then 32 bits of the counter
 */
public record LogId(long high, long low) implements Comparable<LogId> {
  public static final int BYTES = 16;

  /**
   * Returns the id that is {@code offset} higher. Valid only within one range of ids that {@link
   * LogIdGenerator} reserved, whose counter never overflows into the node.
   */
  public LogId plus(int offset) {
    return new LogId(high, low + offset);
  }

  /** Returns the id as 32 lower-case hexadecimal digits. */
  public String toHex() {
    var hex = HexFormat.of();
    return hex.toHexDigits(high) + hex.toHexDigits(low);
  }

  /**
   * Parses the output of {@link #toHex}, in lower or upper case.
   *
   * @throws IllegalArgumentException when the text is not 32 hexadecimal digits
   */
  public static LogId ofHex(String hex) {
    if (hex.length() != 2 * BYTES) {
      throw new IllegalArgumentException("a log id has 32 hexadecimal digits");
    }
    return new LogId(
        HexFormat.fromHexDigitsToLong(hex, 0, 16), HexFormat.fromHexDigitsToLong(hex, 16, 32));
  }

  @Override
  public int compareTo(LogId other) {
    int byHigh = Long.compareUnsigned(high, other.high);
    return byHigh != 0 ? byHigh : Long.compareUnsigned(low, other.low);
  }
}
