package dev.sluice.core.dictionary;

/**
 * Identities by key and check, in one array that never grows. Eight entries share a set; one that
 * comes to a full set takes the place of one of an earlier day, or of any.
 *
 * <pre>
 *  0                48    64          128          192         256 bits
 *  +----------------+-----+-----------+------------+-----------+
 *  | end of the key | day | check     | id, upper  | id, lower |
 *  +----------------+-----+-----------+------------+-----------+
 * </pre>
 *
 * <p>The set follows from the other end of the key, so together they are nearly all of it. An entry
 * is 32 bytes. When as many texts were put as there are places, in 86 of 100 places there is one:
 * 37 bytes for each. No memory of use is kept, so that reading writes nothing: what is used often
 * is in a worker's own table, and what is put out is written to the dictionary once more and comes
 * back.
 *
 * <p>Not safe for use by many threads by itself.
 */
final class SetAssociativeCache {
  private static final int WAYS = 8;
  private static final int ENTRY_LONGS = 4;
  private static final int SET_LONGS = WAYS * ENTRY_LONGS;
  private static final int DAY_BITS = 16;
  private static final long DAY_MASK = (1L << DAY_BITS) - 1;

  /** Days since 1970 that an entry can be of; the last is in the year 2149. */
  static final int FIRST_DAY = 1; // 0 is for a free place

  static final int LAST_DAY = (int) DAY_MASK;

  private final long[] table;
  private final int sets;

  /**
   * @param capacity entries at most; made a multiple of eight
   */
  SetAssociativeCache(int capacity) {
    sets = Math.ceilDiv(capacity, WAYS);
    table = new long[sets * SET_LONGS];
  }

  int capacity() {
    return sets * WAYS;
  }

  /** Of its places, free or not. */
  long bytes() {
    return (long) table.length * Long.BYTES;
  }

  /** In which set an entry of the key is, from 0. */
  int setIndex(long key) {
    return (int) Math.unsignedMultiplyHigh(key, sets);
  }

  /** Where an entry is that is known for the day or a later one; -1 when there is none. */
  int find(long key, long check, int day) {
    long tag = key << DAY_BITS;
    int from = setIndex(key) * SET_LONGS;
    for (int index = from; index < from + SET_LONGS; index += ENTRY_LONGS) {
      long head = table[index];
      if ((head & ~DAY_MASK) == tag && table[index + 1] == check) {
        return (head & DAY_MASK) >= day ? index : -1;
      }
      if (head == 0) {
        return -1; // places are taken in their order
      }
    }
    return -1;
  }

  /** The upper half of the id at the place that {@link #find} told. */
  long high(int index) {
    return table[index + 2];
  }

  /** Its lower half. */
  long low(int index) {
    return table[index + 3];
  }

  /**
   * From now on the id is known for the day, and for those before it.
   *
   * @return whether it took a free place, so that there is an entry more
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
    // the check is as good as random, and has no other part in where an entry goes
    return expired >= 0 ? expired : from + (int) (check >>> 61) * ENTRY_LONGS;
  }
}
