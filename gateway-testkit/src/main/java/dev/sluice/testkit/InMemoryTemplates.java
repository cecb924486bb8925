package dev.sluice.testkit;

import dev.sluice.core.port.Dictionary.Entry;
import dev.sluice.core.port.Dictionary.Kind;
import dev.sluice.core.port.TemplateReader;
import java.util.Collection;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;

/** Reads templates from a dictionary in memory. As safe for use by many threads as that is. */
public final class InMemoryTemplates implements TemplateReader {
  private final InMemoryDictionary dictionary;

  public InMemoryTemplates(InMemoryDictionary dictionary) {
    this.dictionary = dictionary;
  }

  @Override
  public List<Link> links(String tenant, Collection<UUID> ids) {
    return templates(tenant)
        .filter(entry -> ids.contains(entry.id()))
        .map(entry -> new Link(entry.id(), entry.mergedInto()))
        .toList();
  }

  @Override
  public List<Link> linkedTo(String tenant, Collection<UUID> ids, int limit) {
    return templates(tenant)
        .filter(entry -> entry.mergedInto() != null && ids.contains(entry.mergedInto()))
        .map(entry -> new Link(entry.id(), entry.mergedInto()))
        .limit(limit)
        .toList();
  }

  private Stream<Entry> templates(String tenant) {
    return dictionary.entries().stream()
        .filter(entry -> entry.kind() == Kind.TEMPLATE && entry.tenant().equals(tenant));
  }
}
