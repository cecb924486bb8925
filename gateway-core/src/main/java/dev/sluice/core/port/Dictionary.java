package dev.sluice.core.port;

import static java.util.Objects.requireNonNull;

import java.util.Collection;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Texts that many logs share, each kept once, so that a log need only carry their identity.
 *
 * <p>There is one entry for each tenant, kind and id, however often and by however many processes
 * it is written: of equal ones the first seen is the earliest, the last seen the latest, and a link
 * is not lost to an entry without one. So writing again does no harm, which is what lets everybody
 * who is not sure write.
 *
 * <p>Safe for use by many threads; all methods block.
 */
public interface Dictionary {

  /**
   * Writes entries; returns once they are safe, or may not be.
   *
   * @param entries at least one; the same may come more than once
   */
  WriteResult write(List<DictionaryEntry> entries) throws InterruptedException;

  /**
   * What the ids stand for. An id without an entry is left out.
   *
   * @param ids at most {@link #MAX_IDS}
   * @throws RuntimeException when the dictionary cannot tell
   */
  List<DictionaryEntry> find(String tenant, EntryKind kind, Collection<UUID> ids)
      throws InterruptedException;

  /**
   * Entries in the order of their writing, for those who keep up with what others write. Shows
   * everything that was written before the call and after the place; may show entries that the
   * caller has seen.
   *
   * @param after the {@code next} of an earlier page of this tenant and kind; null for the
   *     beginning
   * @param limit entries at most, from 1
   * @throws RuntimeException when the dictionary cannot tell
   */
  EntryPage changesSince(String tenant, EntryKind kind, @Nullable String after, int limit)
      throws InterruptedException;

  /** Ids in one question: what a page of logs may need, bounded so that a query stays one. */
  int MAX_IDS = 10_000;

  /** What a text is; equal texts of two kinds have an entry each. */
  enum EntryKind {
    /** What is left of messages when their variable parts are taken out. */
    TEMPLATE,
    /** The attributes of a resource. */
    RESOURCE,
    /** Something long that comes again and again, such as a stack trace or a statement in SQL. */
    TEXT
  }

  /**
   * @param tenant whose it is
   * @param id the MD5 of the text's UTF-8, all 128 bits, without the marks of a UUID's version
   * @param text never changes for an id
   * @param firstSeenNanos receipt of the first log that has it, nanoseconds since 1970
   * @param lastSeenNanos receipt of the last one, as far as it was written: exact to the day (UTC)
   * @param mergedInto id of a more general template that stands for this one too; null while there
   *     is none. Once set it stays; of two links one stays, the same in whatever order they come
   */
  record DictionaryEntry(
      String tenant,
      EntryKind kind,
      UUID id,
      String text,
      long firstSeenNanos,
      long lastSeenNanos,
      @Nullable UUID mergedInto) {

    public DictionaryEntry {
      requireNonNull(tenant, "tenant");
      requireNonNull(kind, "kind");
      requireNonNull(id, "id");
      requireNonNull(text, "text");
      if (lastSeenNanos < firstSeenNanos) {
        throw new IllegalArgumentException(
            "first seen at %d, last at %d".formatted(firstSeenNanos, lastSeenNanos));
      }
      if (id.equals(mergedInto)) {
        throw new IllegalArgumentException("%s is merged into itself".formatted(id));
      }
    }

    /**
     * The two as one; the same in either order.
     *
     * @throws IllegalArgumentException when they are not of one tenant, kind and id
     */
    public DictionaryEntry merge(DictionaryEntry other) {
      if (!tenant.equals(other.tenant) || kind != other.kind || !id.equals(other.id)) {
        throw new IllegalArgumentException("%s and %s are not one entry".formatted(id, other.id));
      }
      return new DictionaryEntry(
          tenant,
          kind,
          id,
          text,
          Math.min(firstSeenNanos, other.firstSeenNanos),
          Math.max(lastSeenNanos, other.lastSeenNanos),
          greater(mergedInto, other.mergedInto));
    }

    private static @Nullable UUID greater(@Nullable UUID one, @Nullable UUID other) {
      if (one == null || other == null) {
        return one == null ? other : one;
      }
      // as ClickHouse compares them: what is merged here and what is merged there agree
      int order =
          Long.compareUnsigned(one.getLeastSignificantBits(), other.getLeastSignificantBits());
      if (order == 0) {
        order = Long.compareUnsigned(one.getMostSignificantBits(), other.getMostSignificantBits());
      }
      return order > 0 ? one : other;
    }
  }

  /**
   * @param entries in the order of their writing
   * @param next where to go on, now or later; null when nothing was ever written
   * @param last whether that was all there is now
   */
  record EntryPage(List<DictionaryEntry> entries, @Nullable String next, boolean last) {
    public EntryPage {
      entries = List.copyOf(entries);
    }
  }

  /** What became of entries that were to be written. */
  sealed interface WriteResult {
    /** All of them are there, and survive what logs survive. */
    record Written() implements WriteResult {}

    /** Some may be there; nothing is wrong with them. */
    record Retryable(String reason) implements WriteResult {}

    /** Nothing is wrong with them; the dictionary's tables are not as they should be. */
    record SchemaMismatch(String reason) implements WriteResult {}
  }
}
