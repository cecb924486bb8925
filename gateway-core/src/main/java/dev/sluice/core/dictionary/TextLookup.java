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
 * <p>For each batch {@link #at} says when it was received; then a text that is its own identity is
 * asked for by {@link #identify}, and bytes that only lead to one, such as the shape of a message,
 * by {@link #find}, and if that is false {@link #learn}. Before anything is stored that carries an
 * identity told here, {@link #write} must have said that the new ones are written; otherwise the
 * logs would refer to what nobody can look up. When it says otherwise nothing was learnt, and what
 * was told since the write before it is to be asked for again.
 *
 * <p>Confined to a thread. A look-up of what is known allocates nothing.
 */
public final class TextLookup {

  /** What waits to be written takes so much memory at most, and one text more. */
  private static final long MOST_BYTES = 32L << 20;

  /** A text repeats itself soon or hardly ever: so many fewer are remembered than are known. */
  private static final int REPEATS_REMEMBERED = 4;

  private static final long DAY_NANOS = 86_400_000_000_000L;

  private final TextCache cache;
  private final Table near;

  /** Texts that have come once: where, in the place of an identity. */
  private final Table met;

  private final Fresh fresh = new Fresh();
  private final TextHash hash;
  private final Scopes scopes;
  private long seenNanos;
  private int day = Table.FIRST_DAY;

  /** Of the last look-up: key and check, and the two halves of the id. */
  private long key;

  private long check;
  private final long[] id = new long[2];

  /** Of the last look-up, when it told nothing. */
  private @Nullable Scope missed;

  private long nearHits;
  private long freshHits;
  private long sharedHits;
  private long misses;

  TextLookup(TextCache cache, int entries) {
    this.cache = cache;
    near = new Table(entries);
    met = new Table(Math.max(8, entries / REPEATS_REMEMBERED));
    hash = new TextHash(cache.secret, cache.keys);
    scopes = new Scopes(cache.secret);
  }

  /**
   * What is asked for from now on was received at this moment.
   *
   * @param receivedNanos nanoseconds since 1970; its day (UTC) is that for which a text is known
   */
  public void at(long receivedNanos) {
    seenNanos = receivedNanos;
    day = Math.clamp(Math.floorDiv(receivedNanos, DAY_NANOS), Table.FIRST_DAY, Table.LAST_DAY);
  }

  /**
   * The scope of a kind of text, within a service of a tenant.
   *
   * @param bytes with the service's name; of no length when all services of the tenant share
   */
  public Scope scope(EntryKind kind, String tenant, byte[] bytes, int offset, int length) {
    return scopes.of(kind, tenant, bytes, offset, length);
  }

  /** Whether an identity is known for the bytes; {@link #idHigh} and {@link #idLow} are it then. */
  public boolean find(Scope scope, byte[] bytes, int offset, int length) {
    if (missed != null) {
      missed = null;
    }
    hash.of(bytes, offset, length);
    key = scope.key(hash.key());
    check = scope.check(hash.check());
    int at = near.find(key, check, day);
    if (at >= 0) {
      id[0] = near.high(at);
      id[1] = near.low(at);
      nearHits++;
      return true;
    }
    if (findFarther()) {
      return true;
    }
    missed = scope;
    misses++;
    return false;
  }

  private boolean findFarther() {
    int at = fresh.find(key, check, day);
    if (at >= 0) {
      id[0] = fresh.high(at);
      id[1] = fresh.low(at);
      freshHits++;
      return true;
    }
    if (cache.known.find(key, check, day, id)) {
      near.put(key, check, id[0], id[1], day);
      sharedHits++;
      return true;
    }
    return false;
  }

  /**
   * Whether an identity was known on an earlier day for the bytes that {@link #find} has just not
   * known for this one. It is right, but nobody is told that its text is still in use.
   */
  public boolean findOfAnotherDay() {
    int at = near.find(key, check, Table.FIRST_DAY);
    if (at >= 0) {
      id[0] = near.high(at);
      id[1] = near.low(at);
      return true;
    }
    return cache.known.find(key, check, Table.FIRST_DAY, id);
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
  public void learn(UUID id, String text) {
    learn(id, text, true);
  }

  /**
   * As {@link #learn}, but only until the next write: then the bytes are unknown again, since they
   * may lead somewhere else by that time.
   */
  public void learnForNow(UUID id, String text) {
    learn(id, text, false);
  }

  private void learn(UUID id, String text, boolean lasting) {
    if (missed == null) {
      throw new IllegalStateException("nothing was missed");
    }
    var scope = missed;
    missed = null;
    fresh.entry(
        new DictionaryEntry(scope.tenant(), scope.kind(), id, text, seenNanos, seenNanos, null));
    this.id[0] = id.getMostSignificantBits();
    this.id[1] = id.getLeastSignificantBits();
    if (!full()) { // else they are asked for once more, no worse
      fresh.key(key, check, this.id[0], this.id[1], day, lasting);
    }
  }

  /** Finds or learns a text that is its own identity: {@link #idHigh} and {@link #idLow} are it. */
  public void identify(Scope scope, byte[] bytes, int offset, int length) {
    if (!find(scope, bytes, offset, length)) {
      learn(bytes, offset, length);
    }
  }

  /**
   * As {@link #identify}, but only a text that is known or has come before, and while there is room
   * for it: false for the others, which have no identity then. What has come once is remembered as
   * long as there is room.
   *
   * @param batch which one the bytes are: the same text at the same offset is not another one, but
   *     the same log that is tried again
   */
  public boolean identifyRepeated(Scope scope, byte[] bytes, int offset, int length, long batch) {
    if (find(scope, bytes, offset, length)) {
      return true;
    }
    int at = met.find(key, check, Table.FIRST_DAY);
    if (at < 0) {
      met.put(key, check, batch, offset, day);
      return false;
    }
    if (met.high(at) == batch && met.low(at) == offset || full()) {
      return false;
    }
    learn(bytes, offset, length);
    return true;
  }

  /** As {@link #learn(UUID, String)} a text that is to be identified by itself. */
  public void learn(byte[] bytes, int offset, int length) {
    cache.digests.increment();
    learn(TextId.of(bytes, offset, length), new String(bytes, offset, length, UTF_8));
  }

  /** Has an entry written to which no bytes lead, such as one that says where another went. */
  public void add(DictionaryEntry entry) {
    fresh.entry(entry);
  }

  /** Whether so much waits to be written that no more keys are remembered until it is. */
  public boolean full() {
    return fresh.bytes() >= MOST_BYTES;
  }

  /**
   * Writes what is new, if anything is, and from then on knows it.
   *
   * @return whether it is safe
   */
  public WriteResult write() throws InterruptedException {
    count();
    if (fresh.isEmpty()) {
      return new WriteResult.Written();
    }
    var entries = fresh.entries();
    boolean written = false;
    try {
      var writeResult = cache.dictionary.write(entries);
      written = writeResult instanceof WriteResult.Written;
      if (written) {
        fresh.settle(this::know);
      }
      return writeResult;
    } finally {
      if (written) {
        cache.written.add(entries.size());
      } else {
        cache.failed.increment();
        fresh.clear();
      }
    }
  }

  private void know(long key, long check, long high, long low, int day) {
    near.put(key, check, high, low, day);
    cache.known.put(key, check, high, low, day);
  }

  private void count() {
    missed = null;
    cache.near.add(nearHits);
    cache.fresh.add(freshHits);
    cache.shared.add(sharedHits);
    cache.unknown.add(misses);
    nearHits = 0;
    freshHits = 0;
    sharedHits = 0;
    misses = 0;
  }
}
