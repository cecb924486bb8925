package dev.sluice.templates.dictionary;

import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.StampedLock;

/**
 * The shared tier of the dictionary cache: the ids that any worker of this process knows to be in
 * the dictionary.
 *
 * <p>Thread-safe. A read takes no lock; it is repeated with a lock when another thread has written
 * to the same stripe concurrently.
 */
final class ConcurrentSetAssociativeCache {
  private static final int STRIPES = 64; // enough: workers are few and write only new entries

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

  /** Returns the number of entries, possibly without concurrent inserts. */
  long entries() {
    return entries.sum();
  }

  /** Returns the size of the table in bytes, including free slots. */
  long bytes() {
    return setAssociativeCache.bytes();
  }

  /**
   * Whether the cache has the text for the day.
   *
   * @param id receives the two halves of the id when the cache has it; its content is undefined
   *     otherwise
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
