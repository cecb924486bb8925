package dev.sluice.templates.dictionary;

import static java.util.Objects.requireNonNull;

import dev.sluice.core.port.WriteResult;
import java.util.Collection;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The dictionary of texts that many logs share. It stores each text once; a log carries only the id
 * of the text.
 *
 * <p>There is one entry for each tenant, kind and id, regardless of how often and by how many
 * processes it is written. Equal entries merge: the first seen time is the earliest, the last seen
 * time is the latest, and a link to another template is kept when only one of the entries has it.
 * So a repeated write does no harm, and a process that does not know whether an entry exists writes
 * it.
 *
 * <p>Thread-safe; all methods block.
 */
public interface Dictionary {

  /**
   * Writes entries; returns when the store has confirmed them, or when the write has failed or has
   * an unknown outcome.
   *
   * @param entries the entries, at least one; duplicates are allowed
   */
  WriteResult write(List<DictionaryEntry> entries) throws InterruptedException;

  /**
   * Returns the entries of the ids. The result has no element for an id without an entry.
   *
   * @param ids the ids, at most {@link #MAX_IDS}
   * @throws RuntimeException when the dictionary is unavailable
   */
  List<DictionaryEntry> find(String tenant, EntryKind kind, Collection<UUID> ids)
      throws InterruptedException;

  /**
   * Returns entries in the order in which they were written, for a process that follows the writes
   * of other processes. The pages contain every entry that was written after the cursor and before
   * the call; they may repeat entries of earlier pages.
   *
   * @param after the cursor: {@code next} of an earlier page of this tenant and kind; null for the
   *     beginning
   * @param limit the maximum number of entries, at least 1
   * @throws RuntimeException when the dictionary is unavailable
   */
  EntryPage changesSince(String tenant, EntryKind kind, @Nullable String after, int limit)
      throws InterruptedException;

  /** The maximum number of ids in one lookup: enough for a page of logs, and fits in one query. */
  int MAX_IDS = 10_000;

  /** The kind of a text; equal texts of two kinds have one entry each. */
  enum EntryKind {
    /** The constant parts of messages, with placeholders for their variable parts. */
    TEMPLATE,
    /** The attributes of a resource. */
    RESOURCE,
    /** A long text that occurs repeatedly, such as a stack trace or an SQL statement. */
    TEXT
  }

  /**
   * An entry of the dictionary.
   *
   * @param tenant the tenant of the entry
   * @param kind the kind of the text
   * @param id the MD5 of the text in UTF-8: all 128 bits, without the version and variant bits of a
   *     UUID
   * @param text the text, which never changes for an id
   * @param firstSeenNanos the receive time of the first log with the text, in nanoseconds since
   *     1970
   * @param lastSeenNanos the receive time of the latest log with the text, as far as it is written:
   *     exact to the day (UTC)
   * @param mergedInto the id of a more general template that replaces this one; null while there is
   *     none. A link is never removed; one of two links wins, the same one in either order
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
            "last seen %d is before first seen %d".formatted(lastSeenNanos, firstSeenNanos));
      }
      if (id.equals(mergedInto)) {
        throw new IllegalArgumentException("%s is merged into itself".formatted(id));
      }
    }

    /**
     * Merges two versions of an entry. The operation is commutative.
     *
     * @throws IllegalArgumentException when the entries differ in tenant, kind or id
     */
    public DictionaryEntry merge(DictionaryEntry other) {
      if (!tenant.equals(other.tenant) || kind != other.kind || !id.equals(other.id)) {
        throw new IllegalArgumentException(
            "cannot merge entries %s and %s: tenant, kind or id differ".formatted(id, other.id));
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
      // the order of UUIDs in ClickHouse, so that the gateway and the table merge to the same link
      int order =
          Long.compareUnsigned(one.getLeastSignificantBits(), other.getLeastSignificantBits());
      if (order == 0) {
        order = Long.compareUnsigned(one.getMostSignificantBits(), other.getMostSignificantBits());
      }
      return order > 0 ? one : other;
    }
  }

  /**
   * A page of entries.
   *
   * @param entries the entries, in the order in which they were written
   * @param next the cursor for the next page, valid now or later; null when nothing was ever
   *     written
   * @param last whether there are no more entries now
   */
  record EntryPage(List<DictionaryEntry> entries, @Nullable String next, boolean last) {
    public EntryPage {
      entries = List.copyOf(entries);
    }
  }
}
