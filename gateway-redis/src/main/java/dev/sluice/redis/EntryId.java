package dev.sluice.redis;

import java.nio.charset.StandardCharsets;

/**
 * A stream entry's id, unsigned as in Redis.
 *
 * @param millis when Redis had the entry, Unix time
 */
record EntryId(long millis, long sequence) implements Comparable<EntryId> {

  static EntryId of(byte[] text) {
    var id = new String(text, StandardCharsets.US_ASCII);
    int dash = id.indexOf('-');
    return new EntryId(
        Long.parseUnsignedLong(id, 0, dash, 10),
        Long.parseUnsignedLong(id, dash + 1, id.length(), 10));
  }

  byte[] text() {
    return toString().getBytes(StandardCharsets.US_ASCII);
  }

  @Override
  public int compareTo(EntryId other) {
    int byMillis = Long.compareUnsigned(millis, other.millis);
    return byMillis != 0 ? byMillis : Long.compareUnsigned(sequence, other.sequence);
  }

  @Override
  public String toString() {
    return Long.toUnsignedString(millis) + '-' + Long.toUnsignedString(sequence);
  }
}
