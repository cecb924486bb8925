package dev.sluice.templates.dictionary;

import dev.sluice.core.port.WriteResult;
import java.util.Collection;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A dictionary that reports every write as done and stores nothing, so that a benchmark measures
 * only the cache before it.
 */
public final class NoopDictionary implements Dictionary {

  @Override
  public WriteResult write(List<DictionaryEntry> entries) {
    return new WriteResult.Written();
  }

  @Override
  public List<DictionaryEntry> find(String tenant, EntryKind kind, Collection<UUID> ids) {
    return List.of();
  }

  @Override
  public EntryPage changesSince(String tenant, EntryKind kind, @Nullable String after, int limit) {
    return new EntryPage(List.of(), after, true);
  }
}
