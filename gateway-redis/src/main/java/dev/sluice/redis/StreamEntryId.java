package dev.sluice.redis;

import java.nio.charset.StandardCharsets;

/**
 * A stream entry's id, unsigned as in Redis.
 *
 * @param millis when Redis had the entry, Unix time
 */
record StreamEntryId(long millis, long sequence) implements Comparable<StreamEntryId> {

  static StreamEntryId of(byte[] text) {
    return of(new String(text, StandardCharsets.US_ASCII));
  }

  /**
   * @throws IllegalArgumentException when it has not the form of one
   */
  static StreamEntryId of(String id) {
    int dash = id.indexOf('-');
    if (dash < 0) {
      throw new IllegalArgumentException("an entry's id is two numbers, not " + id);
    }
    return new StreamEntryId(
        Long.parseUnsignedLong(id, 0, dash, 10),
        Long.parseUnsignedLong(id, dash + 1, id.length(), 10));
  }

  byte[] text() {
    return toString().getBytes(StandardCharsets.US_ASCII);
  }

  @Override
  public int compareTo(StreamEntryId other) {
    int byMillis = Long.compareUnsigned(millis, other.millis);
    return byMillis != 0 ? byMillis : Long.compareUnsigned(sequence, other.sequence);
  }

  @Override
  public String toString() {
    return Long.toUnsignedString(millis) + '-' + Long.toUnsignedString(sequence);
  }
}
