package dev.sluice.core.dictionary;

import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.StampedLock;

/**
 * The second barrier: what any worker of this process knows to be in the dictionary.
 *
 * <p>Safe for use by many threads. Who reads takes no lock, and reads again with one if somebody
 * has written to the same part of the table meanwhile.
 */
final class ConcurrentSetAssociativeCache {
  private static final int STRIPES = 64; // workers are few, and write only what is new

  private final SetAssociativeCache setAssociativeCache;
  private final StampedLock[] locks = new StampedLock[STRIPES];
  private final LongAdder entries = new LongAdder();

  ConcurrentSetAssociativeCache(int capacity) {
    setAssociativeCache = new SetAssociativeCache(capacity);
    for (int i = 0; i < STRIPES; i++) {
      locks[i] = new StampedLock();
    }
  }

  int capacity() {
    return setAssociativeCache.capacity();
  }

  /** How many there are; those that are being put may be missing. */
  long entries() {
    return entries.sum();
  }

  /** Of its places, free or not. */
  long bytes() {
    return setAssociativeCache.bytes();
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
    int index = setAssociativeCache.find(key, check, day);
    if (index < 0) {
      return false;
    }
    id[0] = setAssociativeCache.high(index);
    id[1] = setAssociativeCache.low(index);
    return true;
  }

  void put(long key, long check, long high, long low, int day) {
    var lock = lock(key);
    long stamp = lock.writeLock();
    try {
      if (setAssociativeCache.put(key, check, high, low, day)) {
        entries.increment();
      }
    } finally {
      lock.unlockWrite(stamp);
    }
  }

  private StampedLock lock(long key) {
    return locks[setAssociativeCache.setIndex(key) & (STRIPES - 1)];
  }
}
