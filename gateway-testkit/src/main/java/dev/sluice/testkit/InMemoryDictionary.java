package dev.sluice.testkit;

import dev.sluice.core.port.Dictionary;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Keeps texts for as long as this object lives.
 *
 * <p>{@link #answer} makes it fail. Safe for use by many threads; everything is guarded by this
 * object.
 */
public final class InMemoryDictionary implements Dictionary {
  private record Identity(String tenant, EntryKind kind, UUID id) {}

  private final Map<Identity, DictionaryEntry> entries = new LinkedHashMap<>();

  /** Every entry as it was written, so that a place is how many there were. */
  private final List<Identity> writes = new ArrayList<>();

  private @Nullable WriteResult answer;

  /** From now on nothing is written and this is what becomes of it; null to write again. */
  public synchronized void answer(@Nullable WriteResult writeResult) {
    answer = writeResult;
  }

  /** All of them, in the order in which they first came. */
  public synchronized List<DictionaryEntry> entries() {
    return List.copyOf(entries.values());
  }

  /** How many were written, equal ones each time. */
  public synchronized int writes() {
    return writes.size();
  }

  @Override
  public synchronized WriteResult write(List<DictionaryEntry> entries) {
    if (answer != null) {
      return answer;
    }
    for (var entry : entries) {
      var identity = new Identity(entry.tenant(), entry.kind(), entry.id());
      this.entries.merge(identity, entry, DictionaryEntry::merge);
      writes.add(identity);
    }
    return new WriteResult.Written();
  }

  @Override
  public synchronized List<DictionaryEntry> find(
      String tenant, EntryKind kind, Collection<UUID> ids) {
    return ids.stream()
        .distinct()
        .flatMap(id -> Stream.ofNullable(entries.get(new Identity(tenant, kind, id))))
        .toList();
  }

  @Override
  public synchronized EntryPage changesSince(
      String tenant, EntryKind kind, @Nullable String after, int limit) {
    var page = new LinkedHashMap<Identity, DictionaryEntry>();
    int place = after == null ? 0 : Integer.parseInt(after);
    for (; place < writes.size() && page.size() < limit; place++) {
      var identity = writes.get(place);
      var entry = entries.get(identity);
      if (entry != null && identity.tenant().equals(tenant) && identity.kind() == kind) {
        page.put(identity, entry);
      }
    }
    return new EntryPage(
        List.copyOf(page.values()),
        writes.isEmpty() ? null : Integer.toString(place),
        place == writes.size());
  }
}
