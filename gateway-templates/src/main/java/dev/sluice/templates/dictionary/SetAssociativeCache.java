package dev.sluice.templates.dictionary;

/**
 * A set-associative cache of ids by key and check, in one array of fixed size. A set has eight
 * entries. A new entry of a full set replaces an entry of an earlier day, if there is one, else an
 * arbitrary entry.
 *
 * <pre>
 *  0                48    64          128          192         256 bits
 *  +----------------+-----+-----------+------------+-----------+
 *  | end of the key | day | check     | id, upper  | id, lower |
 *  +----------------+-----+-----------+------------+-----------+
 * </pre>
 *
 * <p>The upper bits of the key select the set, and the entry stores its lower bits, so that both
 * together are nearly the whole key. An entry has 32 bytes; ADR 0027 has the share of the slots
 * that are used. The cache does not track usage, so that a read writes nothing: frequent entries
 * are in the cache of a worker too, and an evicted entry is written to the dictionary once more and
 * then cached again.
 *
 * <p>Not thread-safe.
 */
final class SetAssociativeCache {
  private static final int WAYS = 8;
  private static final int ENTRY_LONGS = 4;
  private static final int SET_LONGS = WAYS * ENTRY_LONGS;
  private static final int DAY_BITS = 16;
  private static final long DAY_MASK = (1L << DAY_BITS) - 1;

  /** The first day of an entry, in days since 1970; 0 marks a free slot. */
  static final int FIRST_DAY = 1;

  /** The last day of an entry, in the year 2149. */
  static final int LAST_DAY = (int) DAY_MASK;

  private final long[] table;
  private final int sets;

  /**
   * @param capacity the number of entries, rounded up to a multiple of eight
   */
  SetAssociativeCache(int capacity) {
    sets = Math.ceilDiv(capacity, WAYS);
    table = new long[sets * SET_LONGS];
  }

  int capacity() {
    return sets * WAYS;
  }

  /** Returns the size of the table in bytes, including free slots. */
  long bytes() {
    return (long) table.length * Long.BYTES;
  }

  /** Returns the index of the set of the key, from 0. */
  int setIndex(long key) {
    return (int) Math.unsignedMultiplyHigh(key, sets);
  }

  /** Returns the index of an entry for the day or a later one; -1 when there is none. */
  int find(long key, long check, int day) {
    long tag = key << DAY_BITS;
    int from = setIndex(key) * SET_LONGS;
    for (int index = from; index < from + SET_LONGS; index += ENTRY_LONGS) {
      long head = table[index];
      if ((head & ~DAY_MASK) == tag && table[index + 1] == check) {
        return (head & DAY_MASK) >= day ? index : -1;
      }
      if (head == 0) {
        return -1; // the slots of a set are filled in order
      }
    }
    return -1;
  }

  /** Returns the upper 64 bits of the id at an index that {@link #find} returned. */
  long high(int index) {
    return table[index + 2];
  }

  /** Returns the lower 64 bits of the id at an index that {@link #find} returned. */
  long low(int index) {
    return table[index + 3];
  }

  /**
   * Inserts or updates an entry; it is then valid for the day and for all earlier days.
   *
   * @return whether the entry uses a free slot, so that the number of entries has increased
   */
  boolean put(long key, long check, long high, long low, int day) {
    long tag = key << DAY_BITS;
    int index = slotFor(tag, check, setIndex(key) * SET_LONGS, day);
    boolean free = table[index] == 0;
    boolean known = (table[index] & ~DAY_MASK) == tag && table[index + 1] == check;
    long until = known ? Math.max(day, table[index] & DAY_MASK) : day;
    table[index] = tag | until;
    table[index + 1] = check;
    table[index + 2] = high;
    table[index + 3] = low;
    return free;
  }

  private int slotFor(long tag, long check, int from, int day) {
    int expired = -1;
    for (int index = from; index < from + SET_LONGS; index += ENTRY_LONGS) {
      long head = table[index];
      if (head == 0 || (head & ~DAY_MASK) == tag && table[index + 1] == check) {
        return index;
      }
      if ((head & DAY_MASK) < day) {
        expired = index;
      }
    }
    // the check is pseudo-random and independent of the set, so it selects the entry to evict
    return expired >= 0 ? expired : from + (int) (check >>> 61) * ENTRY_LONGS;
  }
}
