package dev.sluice.query.read;

import dev.sluice.templates.dictionary.Dictionary;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;

/**
 * An LRU cache of the texts of templates. Entries never become stale: an id always has the same
 * text. Safe for use by many threads.
 */
final class TemplateTextCache {
  /**
   * Maximum size of the cached texts in bytes, for texts with one byte per character; other texts
   * take up to twice as much memory.
   */
  private static final long MAX_BYTES = 4 << 20;

  /** Estimated memory of an entry beside its text, in bytes. */
  private static final int ENTRY_OVERHEAD_BYTES = 200;

  private final Dictionary dictionary;
  private final Map<Key, String> entries = new LinkedHashMap<>(16, 0.75f, true);
  private long bytes;

  private record Key(String tenant, UUID id) {}

  TemplateTextCache(Dictionary dictionary) {
    this.dictionary = dictionary;
  }

  /** Returns the texts of templates; a template that the dictionary does not have is left out. */
  Map<UUID, String> get(String tenant, Collection<UUID> ids) throws InterruptedException {
    var texts = new HashMap<UUID, String>();
    var missing = new ArrayList<UUID>();
    synchronized (entries) {
      for (var id : ids) {
        var text = entries.get(new Key(tenant, id));
        if (text == null) {
          missing.add(id);
        } else {
          texts.put(id, text);
        }
      }
    }
    if (!missing.isEmpty()) {
      for (var entry : dictionary.find(tenant, EntryKind.TEMPLATE, missing)) {
        texts.put(entry.id(), entry.text());
        put(new Key(tenant, entry.id()), entry.text());
      }
    }
    return texts;
  }

  private void put(Key key, String text) {
    synchronized (entries) {
      var previous = entries.put(key, text);
      bytes += bytes(text) - (previous == null ? 0 : bytes(previous));
      var eldest = entries.values().iterator();
      while (bytes > MAX_BYTES && eldest.hasNext()) {
        bytes -= bytes(eldest.next());
        eldest.remove();
      }
    }
  }

  private static long bytes(String text) {
    return (long) ENTRY_OVERHEAD_BYTES + text.length();
  }
}
