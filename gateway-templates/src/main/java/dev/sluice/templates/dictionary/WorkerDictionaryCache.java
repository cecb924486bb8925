package dev.sluice.templates.dictionary;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.port.WriteResult;
import dev.sluice.templates.dictionary.Dictionary.DictionaryEntry;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The dictionary cache of one delivery worker. It maps texts to dictionary ids and writes new
 * entries to the dictionary.
 *
 * <p>Call {@link #setReceiveTime} for each batch. Then call {@link #findOrPut} for a text whose id
 * is its own hash, or {@link #find} and, when that returns false, {@link #put} for bytes that stand
 * for another text, such as the skeleton of a message. A log that carries a returned id may be
 * stored only after {@link #flush} has returned {@link WriteResult.Written}; otherwise its id could
 * have no entry. After another result, the cache discards the pending entries, and the caller must
 * look up all ids since the previous flush again.
 *
 * <p>Confined to one thread. A lookup that hits allocates nothing.
 */
public final class WorkerDictionaryCache {

  /** The maximum memory of the pending entries; the last text may exceed it. */
  private static final long MAX_PENDING_BYTES = 32L << 20;

  /**
   * The ratio of the sizes of {@link #l1} and {@link #seenOnce}, which is smaller because a text
   * repeats either soon or hardly ever.
   */
  private static final int SEEN_ONCE_RATIO = 4;

  private static final long DAY_NANOS = 86_400_000_000_000L;

  private final SharedDictionaryCache sharedDictionary;
  private final SetAssociativeCache l1;

  /**
   * The texts that occurred once; the id fields hold the batch and the offset of the occurrence.
   */
  private final SetAssociativeCache seenOnce;

  private final PendingEntries pending = new PendingEntries();
  private final KeyedTextHash hash;
  private final NamespaceCache namespaces;
  private long receiveNanos;
  private int day = SetAssociativeCache.FIRST_DAY;

  /** The key of the most recent lookup; the check and the two halves of the id follow. */
  private long key;

  private long check;
  private final long[] id = new long[2];

  /** The namespace of the most recent lookup when it missed, else null. */
  private @Nullable HashNamespace missedNamespace;

  private long l1Hits;
  private long pendingHits;
  private long sharedHits;
  private long misses;

  WorkerDictionaryCache(SharedDictionaryCache sharedDictionary, int entries) {
    this.sharedDictionary = sharedDictionary;
    l1 = new SetAssociativeCache(entries);
    seenOnce = new SetAssociativeCache(Math.max(8, entries / SEEN_ONCE_RATIO));
    hash = new KeyedTextHash(sharedDictionary.hashKeys, sharedDictionary.keyFunction);
    namespaces = new NamespaceCache(sharedDictionary.hashKeys);
  }

  /**
   * Sets the receive time of the texts in the following lookups.
   *
   * @param receivedNanos the time in nanoseconds since 1970; cached texts are valid for its day
   *     (UTC)
   */
  public void setReceiveTime(long receivedNanos) {
    receiveNanos = receivedNanos;
    day =
        Math.clamp(
            Math.floorDiv(receivedNanos, DAY_NANOS),
            SetAssociativeCache.FIRST_DAY,
            SetAssociativeCache.LAST_DAY);
  }

  /**
   * Returns the namespace of a kind of text, within a service of a tenant.
   *
   * @param bytes the array with the service name
   * @param length the length of the name; 0 for a namespace that all services of the tenant share
   */
  public HashNamespace namespace(
      EntryKind kind, String tenant, byte[] bytes, int offset, int length) {
    return namespaces.get(kind, tenant, bytes, offset, length);
  }

  /**
   * Whether the cache has an id for the bytes; {@link #idHigh} and {@link #idLow} return it then.
   */
  public boolean find(HashNamespace namespace, byte[] bytes, int offset, int length) {
    if (missedNamespace != null) {
      missedNamespace = null;
    }
    hash.hash(bytes, offset, length);
    key = namespace.key(hash.key());
    check = namespace.check(hash.check());
    int index = l1.find(key, check, day);
    if (index >= 0) {
      id[0] = l1.high(index);
      id[1] = l1.low(index);
      l1Hits++;
      return true;
    }
    if (findInShared()) {
      return true;
    }
    missedNamespace = namespace;
    misses++;
    return false;
  }

  private boolean findInShared() {
    int index = pending.find(key, check, day);
    if (index >= 0) {
      id[0] = pending.high(index);
      id[1] = pending.low(index);
      pendingHits++;
      return true;
    }
    if (sharedDictionary.sharedCache.find(key, check, day, id)) {
      l1.put(key, check, id[0], id[1], day);
      sharedHits++;
      return true;
    }
    return false;
  }

  /**
   * Whether the cache has an id of an earlier day for the bytes that {@link #find} has just missed
   * for this day. The id is correct, but the dictionary is not notified that its text is still in
   * use.
   */
  public boolean findExpired() {
    int index = l1.find(key, check, SetAssociativeCache.FIRST_DAY);
    if (index >= 0) {
      id[0] = l1.high(index);
      id[1] = l1.low(index);
      return true;
    }
    return sharedDictionary.sharedCache.find(key, check, SetAssociativeCache.FIRST_DAY, id);
  }

  /** Returns the upper 64 bits of the id of the most recent lookup. */
  public long idHigh() {
    return id[0];
  }

  /** Returns the lower 64 bits of the id of the most recent lookup. */
  public long idLow() {
    return id[1];
  }

  /**
   * Adds the text for the bytes that {@link #find} has just missed; the text may differ from the
   * bytes. The id is then the result of the lookup, as after a hit.
   *
   * @param id the id of the text
   * @param text the text to write
   * @throws IllegalStateException when the most recent call was not a {@code find} that missed
   */
  public void put(UUID id, String text) {
    put(id, text, true);
  }

  /**
   * Adds a text like {@link #put(UUID, String)}, but only until the next flush. The bytes are then
   * unknown again, since they may stand for another text by that time.
   */
  public void putTransient(UUID id, String text) {
    put(id, text, false);
  }

  private void put(UUID id, String text, boolean persistent) {
    if (missedNamespace == null) {
      throw new IllegalStateException("put requires a preceding find that missed");
    }
    var namespace = missedNamespace;
    missedNamespace = null;
    pending.putEntry(
        new DictionaryEntry(
            namespace.tenant(), namespace.kind(), id, text, receiveNanos, receiveNanos, null));
    this.id[0] = id.getMostSignificantBits();
    this.id[1] = id.getLeastSignificantBits();
    if (!isFull()) { // without the key, the next lookup of the same bytes misses again
      pending.putKey(key, check, this.id[0], this.id[1], day, persistent);
    }
  }

  /**
   * Finds the id of a text, or adds the text with its {@link ContentId}. {@link #idHigh} and {@link
   * #idLow} return the id.
   */
  public void findOrPut(HashNamespace namespace, byte[] bytes, int offset, int length) {
    if (!find(namespace, bytes, offset, length)) {
      put(bytes, offset, length);
    }
  }

  /**
   * Finds the id of a text like {@link #findOrPut}, but adds the text only at its second
   * occurrence, and only while the cache is not {@link #isFull full}. The first occurrence is
   * remembered in a bounded table.
   *
   * @param batch the id of the batch of the bytes: the same text at the same offset of the same
   *     batch is a retry of the same log and not another occurrence
   * @return whether the text has an id
   */
  public boolean findOrPutRepeated(
      HashNamespace namespace, byte[] bytes, int offset, int length, long batch) {
    if (find(namespace, bytes, offset, length)) {
      return true;
    }
    int index = seenOnce.find(key, check, SetAssociativeCache.FIRST_DAY);
    if (index < 0) {
      seenOnce.put(key, check, batch, offset, day);
      return false;
    }
    if (seenOnce.high(index) == batch && seenOnce.low(index) == offset || isFull()) {
      return false;
    }
    put(bytes, offset, length);
    return true;
  }

  /** Adds the text that {@link #find} has just missed, with its {@link ContentId} as id. */
  public void put(byte[] bytes, int offset, int length) {
    sharedDictionary.digests.increment();
    put(ContentId.of(bytes, offset, length), new String(bytes, offset, length, UTF_8));
  }

  /** Adds an entry that no bytes look up, such as the link of a merged template. */
  public void addEntry(DictionaryEntry entry) {
    pending.putEntry(entry);
  }

  /** Whether the pending entries have reached their maximum; no keys are added until the flush. */
  public boolean isFull() {
    return pending.bytes() >= MAX_PENDING_BYTES;
  }

  /**
   * Writes the pending entries, if there are any, and moves them to the caches when the dictionary
   * has confirmed them.
   */
  public WriteResult flush() throws InterruptedException {
    publishStats();
    if (pending.isEmpty()) {
      return new WriteResult.Written();
    }
    var entries = pending.entries();
    boolean written = false;
    try {
      var writeResult = sharedDictionary.dictionary.write(entries);
      written = writeResult instanceof WriteResult.Written;
      if (written) {
        pending.commit(this::promote);
      }
      return writeResult;
    } finally {
      if (written) {
        sharedDictionary.writtenEntries.add(entries.size());
      } else {
        sharedDictionary.failedWrites.increment();
        pending.clear();
      }
    }
  }

  private void promote(long key, long check, long high, long low, int day) {
    l1.put(key, check, high, low, day);
    sharedDictionary.sharedCache.put(key, check, high, low, day);
  }

  private void publishStats() {
    missedNamespace = null;
    sharedDictionary.workerHits.add(l1Hits);
    sharedDictionary.pendingHits.add(pendingHits);
    sharedDictionary.sharedHits.add(sharedHits);
    sharedDictionary.misses.add(misses);
    l1Hits = 0;
    pendingHits = 0;
    sharedHits = 0;
    misses = 0;
  }
}
