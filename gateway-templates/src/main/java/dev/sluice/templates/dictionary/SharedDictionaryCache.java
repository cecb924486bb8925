package dev.sluice.templates.dictionary;

import java.util.concurrent.atomic.LongAdder;

/**
 * The dictionary cache of this process, which all workers share. It prevents the repeated texts of
 * logs from being written to the dictionary table more often than necessary.
 *
 * <p>There are three tiers: the cache of a worker ({@link WorkerDictionaryCache}, without locks),
 * the shared cache, and the {@link Dictionary}, where a repeated write of a text has no effect. The
 * first two are bounded. An evicted text, or a text that only another process has written, is
 * written again. A cached text is valid for the day (UTC) for which it is written, so that the
 * first log of each day updates the last seen time of its texts (ADR 0028); nothing is cleared at
 * midnight.
 *
 * <p>A text is cached only after the dictionary has confirmed it. Two workers that find the same
 * new text concurrently both write it.
 *
 * <p>Thread-safe.
 */
public final class SharedDictionaryCache {

  /**
   * The sizes of the caches. An entry of the shared cache has 32 bytes, an entry of a worker cache
   * 40 bytes.
   *
   * @param workerEntries the number of entries in the cache of each worker, from {@link
   *     #MIN_ENTRIES} to {@link #MAX_ENTRIES}
   * @param sharedEntries the number of entries in the shared cache, within the same range
   */
  public record CacheSettings(int workerEntries, int sharedEntries) {
    /** The minimum number of entries: one set. */
    public static final int MIN_ENTRIES = 8;

    /** The maximum number of entries, which has 2 GiB. */
    public static final int MAX_ENTRIES = 1 << 26;

    /** The default sizes: 320 KiB for a worker, which fits into a CPU cache, and 32 MiB shared. */
    public static final CacheSettings DEFAULT = new CacheSettings(8_192, 1 << 20);

    public CacheSettings {
      requireBetween("workerEntries", workerEntries);
      requireBetween("sharedEntries", sharedEntries);
    }

    private static void requireBetween(String name, int value) {
      if (value < MIN_ENTRIES || value > MAX_ENTRIES) {
        throw new IllegalArgumentException(
            "%s is %d, must be from %d to %d".formatted(name, value, MIN_ENTRIES, MAX_ENTRIES));
      }
    }
  }

  /**
   * The counts of lookups and writes since the start. Each lookup is in one of the first four.
   *
   * @param workerHits the number of lookups that the cache of the worker answered
   * @param pendingHits the number of lookups that the pending entries of the worker answered
   * @param sharedHits the number of lookups that the shared cache answered
   * @param misses the number of lookups without a result
   * @param digests the number of computed MD5 digests
   * @param writtenEntries the number of entries that the dictionary has confirmed
   * @param failedWrites the number of writes that the dictionary has not confirmed
   * @param entries the current number of entries in the shared cache
   * @param capacity the maximum number of entries in the shared cache
   * @param bytes the size of the shared cache in bytes, including free slots
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

  /** Creates the cache of one worker. */
  public WorkerDictionaryCache newWorkerCache() {
    return new WorkerDictionaryCache(this, settings.workerEntries());
  }

  /** Returns the counts as of the most recent flush of each worker. */
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
