package dev.sluice.testkit;

import dev.sluice.core.port.WriteResult;
import dev.sluice.templates.dictionary.Dictionary;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A dictionary in memory.
 *
 * <p>{@link #setOutcome} makes writes fail. Thread-safe; all state is guarded by this object.
 */
public final class InMemoryDictionary implements Dictionary {
  private record DictionaryKey(String tenant, EntryKind kind, UUID id) {}

  private final Map<DictionaryKey, DictionaryEntry> entries = new LinkedHashMap<>();

  /** The key of each written entry, in write order; a cursor is a number of writes. */
  private final List<DictionaryKey> writes = new ArrayList<>();

  private @Nullable WriteResult forcedOutcome;

  /** Makes all writes return this result and write nothing; null makes them write again. */
  public synchronized void setOutcome(@Nullable WriteResult writeResult) {
    forcedOutcome = writeResult;
  }

  /** Returns all entries in the order of their first write. */
  public synchronized List<DictionaryEntry> entries() {
    return List.copyOf(entries.values());
  }

  /** Returns the number of written entries, with repeated writes of the same entry. */
  public synchronized int writes() {
    return writes.size();
  }

  @Override
  public synchronized WriteResult write(List<DictionaryEntry> entries) {
    if (forcedOutcome != null) {
      return forcedOutcome;
    }
    for (var entry : entries) {
      var key = new DictionaryKey(entry.tenant(), entry.kind(), entry.id());
      this.entries.merge(key, entry, DictionaryEntry::merge);
      writes.add(key);
    }
    return new WriteResult.Written();
  }

  @Override
  public synchronized List<DictionaryEntry> find(
      String tenant, EntryKind kind, Collection<UUID> ids) {
    return ids.stream()
        .distinct()
        .flatMap(id -> Stream.ofNullable(entries.get(new DictionaryKey(tenant, kind, id))))
        .toList();
  }

  @Override
  public synchronized EntryPage changesSince(
      String tenant, EntryKind kind, @Nullable String after, int limit) {
    var page = new LinkedHashMap<DictionaryKey, DictionaryEntry>();
    int position = after == null ? 0 : Integer.parseInt(after);
    for (; position < writes.size() && page.size() < limit; position++) {
      var key = writes.get(position);
      var entry = entries.get(key);
      if (entry != null && key.tenant().equals(tenant) && key.kind() == kind) {
        page.put(key, entry);
      }
    }
    return new EntryPage(
        List.copyOf(page.values()),
        writes.isEmpty() ? null : Integer.toString(position),
        position == writes.size());
  }
}
