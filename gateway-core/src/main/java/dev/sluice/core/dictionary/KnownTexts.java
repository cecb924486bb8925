package dev.sluice.core.dictionary;

import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.StampedLock;

/**
 * The second barrier: what any worker of this process knows to be in the dictionary.
 *
 * <p>Safe for use by many threads. Who reads takes no lock, and reads again with one if somebody
 * has written to the same part of the table meanwhile.
 */
final class KnownTexts {
  private static final int PARTS = 64; // workers are few, and write only what is new

  private final Table table;
  private final StampedLock[] locks = new StampedLock[PARTS];
  private final LongAdder entries = new LongAdder();

  KnownTexts(int capacity) {
    table = new Table(capacity);
    for (int i = 0; i < PARTS; i++) {
      locks[i] = new StampedLock();
    }
  }

  int capacity() {
    return table.capacity();
  }

  /** How many there are; those that are being put may be missing. */
  long entries() {
    return entries.sum();
  }

  /** Of its places, free or not. */
  long bytes() {
    return table.bytes();
  }

  /**
   * Whether the text is known for the day.
   *
   * @param id takes the two halves of the identity, if it is
   */
  boolean find(long key, long check, int day, long[] id) {
    var lock = lock(key);
    long stamp = lock.tryOptimisticRead();
    if (stamp != 0) {
      boolean found = read(key, check, day, id);
      if (lock.validate(stamp)) {
        return found;
      }
    }
    stamp = lock.readLock();
    try {
      return read(key, check, day, id);
    } finally {
      lock.unlockRead(stamp);
    }
  }

  private boolean read(long key, long check, int day, long[] id) {
    int at = table.find(key, check, day);
    if (at < 0) {
      return false;
    }
    id[0] = table.high(at);
    id[1] = table.low(at);
    return true;
  }

  void put(long key, long check, long high, long low, int day) {
    var lock = lock(key);
    long stamp = lock.writeLock();
    try {
      if (table.put(key, check, high, low, day)) {
        entries.increment();
      }
    } finally {
      lock.unlockWrite(stamp);
    }
  }

  private StampedLock lock(long key) {
    return locks[table.set(key) & (PARTS - 1)];
  }
}
