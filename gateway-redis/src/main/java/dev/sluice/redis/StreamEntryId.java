package dev.sluice.redis;

import java.nio.charset.StandardCharsets;

/**
 * The id of a stream entry. Both numbers are unsigned, as in Redis.
 *
 * @param millis the time at which Redis added the entry, in Unix milliseconds
 * @param sequence the number of the entry within its millisecond
 */
record StreamEntryId(long millis, long sequence) implements Comparable<StreamEntryId> {

  static StreamEntryId of(byte[] text) {
    return of(new String(text, StandardCharsets.US_ASCII));
  }

  /**
   * @throws IllegalArgumentException when {@code id} is not two numbers with a dash between them
   */
  static StreamEntryId of(String id) {
    int dash = id.indexOf('-');
    if (dash < 0) {
      throw new IllegalArgumentException("not a stream entry id: " + id);
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
