package dev.sluice.templates.dictionary;

import dev.sluice.core.port.WriteResult;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** A dictionary in memory whose writes can be made to fail. Thread-safe. */
final class FakeDictionary implements Dictionary {
  private final Map<String, DictionaryEntry> entries = new HashMap<>();
  private final List<DictionaryEntry> writes = new ArrayList<>();
  private boolean failing;

  /** Makes all following writes fail, or succeed again. */
  synchronized void setFailing(boolean failing) {
    this.failing = failing;
  }

  /** Returns all written entries, including repeated ones. */
  synchronized List<DictionaryEntry> writes() {
    return List.copyOf(writes);
  }

  synchronized Collection<DictionaryEntry> entries() {
    return List.copyOf(entries.values());
  }

  synchronized boolean has(String tenant, UUID id) {
    return entries.values().stream().anyMatch(e -> e.tenant().equals(tenant) && e.id().equals(id));
  }

  @Override
  public synchronized WriteResult write(List<DictionaryEntry> entries) {
    if (failing) {
      return new WriteResult.Retryable("set by the test");
    }
    for (var entry : entries) {
      writes.add(entry);
      this.entries.merge(
          entry.tenant() + "/" + entry.kind() + "/" + entry.id(), entry, DictionaryEntry::merge);
    }
    return new WriteResult.Written();
  }

  @Override
  public List<DictionaryEntry> find(String tenant, EntryKind kind, Collection<UUID> ids) {
    throw new UnsupportedOperationException();
  }

  @Override
  public EntryPage changesSince(String tenant, EntryKind kind, @Nullable String after, int limit) {
    throw new UnsupportedOperationException();
  }
}
