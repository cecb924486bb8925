package dev.sluice.core.dictionary;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.port.Dictionary.DictionaryEntry;
import dev.sluice.core.port.Dictionary.EntryKind;
import dev.sluice.core.port.Dictionary.WriteResult;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Tells one delivery worker the identities of texts, and writes down those that are new.
 *
 * <p>For each batch {@link #setReceiveTime} says when it was received; then a text that is its own
 * identity is asked for by {@link #findOrPut}, and bytes that only lead to one, such as the shape
 * of a message, by {@link #find}, and if that is false {@link #put}. Before anything is stored that
 * carries an identity told here, {@link #flush} must have said that the new ones are written;
 * otherwise the logs would refer to what nobody can look up. When it says otherwise nothing was
 * learnt, and what was told since the write before it is to be asked for again.
 *
 * <p>Confined to a thread. A look-up of what is known allocates nothing.
 */
public final class WorkerDictionaryCache {

  /** What waits to be written takes so much memory at most, and one text more. */
  private static final long MAX_PENDING_BYTES = 32L << 20;

  /** A text repeats itself soon or hardly ever: so many fewer are remembered than are known. */
  private static final int SEEN_ONCE_RATIO = 4;

  private static final long DAY_NANOS = 86_400_000_000_000L;

  private final SharedDictionaryCache sharedDictionary;
  private final SetAssociativeCache l1;

  /** Texts that have come once: where, in the place of an identity. */
  private final SetAssociativeCache seenOnce;

  private final PendingEntries pending = new PendingEntries();
  private final KeyedTextHash hash;
  private final NamespaceCache namespaces;
  private long receiveNanos;
  private int day = SetAssociativeCache.FIRST_DAY;

  /** Of the last look-up: key and check, and the two halves of the id. */
  private long key;

  private long check;
  private final long[] id = new long[2];

  /** Of the last look-up, when it told nothing. */
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
   * What is asked for from now on was received at this moment.
   *
   * @param receivedNanos nanoseconds since 1970; its day (UTC) is that for which a text is known
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
   * The scope of a kind of text, within a service of a tenant.
   *
   * @param bytes with the service's name; of no length when all services of the tenant share
   */
  public HashNamespace namespace(
      EntryKind kind, String tenant, byte[] bytes, int offset, int length) {
    return namespaces.get(kind, tenant, bytes, offset, length);
  }

  /** Whether an identity is known for the bytes; {@link #idHigh} and {@link #idLow} are it then. */
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
   * Whether an identity was known on an earlier day for the bytes that {@link #find} has just not
   * known for this one. It is right, but nobody is told that its text is still in use.
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

  /** The upper half of the identity told last. */
  public long idHigh() {
    return id[0];
  }

  /** Its lower half. */
  public long idLow() {
    return id[1];
  }

  /**
   * What the bytes lead to that {@link #find} has just not known: a text that is to be written,
   * whatever the bytes are. The identity is told as if it had been found.
   *
   * @param text with {@code id} as its identity
   * @throws IllegalStateException when the last look-up was not one of {@code find} that failed
   */
  public void put(UUID id, String text) {
    put(id, text, true);
  }

  /**
   * As {@link #put}, but only until the next write: then the bytes are unknown again, since they
   * may lead somewhere else by that time.
   */
  public void putTransient(UUID id, String text) {
    put(id, text, false);
  }

  private void put(UUID id, String text, boolean persistent) {
    if (missedNamespace == null) {
      throw new IllegalStateException("nothing was missed");
    }
    var namespace = missedNamespace;
    missedNamespace = null;
    pending.putEntry(
        new DictionaryEntry(
            namespace.tenant(), namespace.kind(), id, text, receiveNanos, receiveNanos, null));
    this.id[0] = id.getMostSignificantBits();
    this.id[1] = id.getLeastSignificantBits();
    if (!isFull()) { // else they are asked for once more, no worse
      pending.putKey(key, check, this.id[0], this.id[1], day, persistent);
    }
  }

  /** Finds or learns a text that is its own identity: {@link #idHigh} and {@link #idLow} are it. */
  public void findOrPut(HashNamespace namespace, byte[] bytes, int offset, int length) {
    if (!find(namespace, bytes, offset, length)) {
      put(bytes, offset, length);
    }
  }

  /**
   * As {@link #findOrPut}, but only a text that is known or has come before, and while there is
   * room for it: false for the others, which have no identity then. What has come once is
   * remembered as long as there is room.
   *
   * @param batch which one the bytes are: the same text at the same offset is not another one, but
   *     the same log that is tried again
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

  /** As {@link #put(UUID, String)} a text that is to be identified by itself. */
  public void put(byte[] bytes, int offset, int length) {
    sharedDictionary.digests.increment();
    put(ContentId.of(bytes, offset, length), new String(bytes, offset, length, UTF_8));
  }

  /** Has an entry written to which no bytes lead, such as one that says where another went. */
  public void addEntry(DictionaryEntry entry) {
    pending.putEntry(entry);
  }

  /** Whether so much waits to be written that no more keys are remembered until it is. */
  public boolean isFull() {
    return pending.bytes() >= MAX_PENDING_BYTES;
  }

  /**
   * Writes what is new, if anything is, and from then on knows it.
   *
   * @return whether it is safe
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
