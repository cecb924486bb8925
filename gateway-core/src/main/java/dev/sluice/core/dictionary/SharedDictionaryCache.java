package dev.sluice.core.dictionary;

import dev.sluice.core.port.Dictionary;
import java.util.concurrent.atomic.LongAdder;

/**
 * Which texts the dictionary has, as far as this process knows: the barrier between the logs, which
 * repeat themselves, and a table that wants each text once.
 *
 * <p>There are three barriers. A worker's own table ({@link WorkerDictionaryCache}, no locks), the
 * one that all workers share, and the {@link Dictionary}, to which writing a text again does
 * nothing. The first two are bounded; what they put out, or never knew because it was another
 * process that wrote it, is written again. A text is known for the day (UTC) it was written for, so
 * that each day's first log says that it is still in use; nothing is cleared at midnight.
 *
 * <p>A text is known only once the dictionary has confirmed it. Two workers that meet the same new
 * text both write it.
 *
 * <p>Safe for use by many threads.
 */
public final class SharedDictionaryCache {

  /**
   * How much is remembered; an entry of the shared table takes 32 bytes, one of a worker 40.
   *
   * @param workerEntries entries of each worker's own table, from {@link #MIN_ENTRIES} to {@link
   *     #MAX_ENTRIES}
   * @param sharedEntries entries of the table for all, within the same bounds
   */
  public record CacheSettings(int workerEntries, int sharedEntries) {
    /** One set of a table. */
    public static final int MIN_ENTRIES = 8;

    /** Two gibibytes. */
    public static final int MAX_ENTRIES = 1 << 26;

    /** 320 KiB for a worker, which the processor's own memory holds, and 32 MiB for all. */
    public static final CacheSettings DEFAULT = new CacheSettings(8_192, 1 << 20);

    public CacheSettings {
      requireBetween("workerEntries", workerEntries);
      requireBetween("sharedEntries", sharedEntries);
    }

    private static void requireBetween(String name, int value) {
      if (value < MIN_ENTRIES || value > MAX_ENTRIES) {
        throw new IllegalArgumentException(
            "%s is %d, from %d to %d".formatted(name, value, MIN_ENTRIES, MAX_ENTRIES));
      }
    }
  }

  /**
   * What the barriers have stopped since the start, and what they let through. Each look-up is in
   * one of the first four.
   *
   * @param workerHits look-ups answered by the worker's own table
   * @param pendingHits by what the worker has met and not yet written
   * @param sharedHits by the table for all
   * @param misses look-ups that nobody could answer
   * @param digests MD5 computed for texts
   * @param writtenEntries entries that the dictionary has confirmed
   * @param failedWrites writes that it has not
   * @param entries in the shared table now
   * @param capacity of the shared table
   * @param bytes of the shared table, its free places too
   */
  public record DictionaryCacheStats(
      long workerHits,
      long pendingHits,
      long sharedHits,
      long misses,
      long digests,
      long writtenEntries,
      long failedWrites,
      long entries,
      long capacity,
      long bytes) {}

  final HashKeys hashKeys;
  final KeyedTextHash.KeyFunction keyFunction;
  final Dictionary dictionary;
  final ConcurrentSetAssociativeCache sharedCache;
  final LongAdder workerHits = new LongAdder();
  final LongAdder pendingHits = new LongAdder();
  final LongAdder sharedHits = new LongAdder();
  final LongAdder misses = new LongAdder();
  final LongAdder digests = new LongAdder();
  final LongAdder writtenEntries = new LongAdder();
  final LongAdder failedWrites = new LongAdder();
  private final CacheSettings settings;

  public SharedDictionaryCache(CacheSettings settings, Dictionary dictionary) {
    this(settings, dictionary, HashKeys.random());
  }

  private SharedDictionaryCache(CacheSettings settings, Dictionary dictionary, HashKeys hashKeys) {
    this(settings, dictionary, hashKeys, KeyedTextHash.KeyFunction.xxh3(hashKeys.keySeed()));
  }

  SharedDictionaryCache(
      CacheSettings settings,
      Dictionary dictionary,
      HashKeys hashKeys,
      KeyedTextHash.KeyFunction keyFunction) {
    this.settings = settings;
    this.dictionary = dictionary;
    this.hashKeys = hashKeys;
    this.keyFunction = keyFunction;
    this.sharedCache = new ConcurrentSetAssociativeCache(settings.sharedEntries());
  }

  /** For one worker. */
  public WorkerDictionaryCache newWorkerCache() {
    return new WorkerDictionaryCache(this, settings.workerEntries());
  }

  /** Counts as of the workers' last deliveries. */
  public DictionaryCacheStats stats() {
    return new DictionaryCacheStats(
        workerHits.sum(),
        pendingHits.sum(),
        sharedHits.sum(),
        misses.sum(),
        digests.sum(),
        writtenEntries.sum(),
        failedWrites.sum(),
        sharedCache.entries(),
        sharedCache.capacity(),
        sharedCache.bytes());
  }
}
