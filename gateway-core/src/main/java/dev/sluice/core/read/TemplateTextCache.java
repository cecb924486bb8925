package dev.sluice.core.read;

import dev.sluice.core.port.Dictionary;
import dev.sluice.core.port.Dictionary.EntryKind;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;

/**
 * The texts of templates, of which those that were asked for last are kept: an id always stands for
 * the same text. Safe for use by many threads.
 */
final class TemplateTextCache {
  /** Of texts that are kept, for a character of one byte; as much again at most for others. */
  private static final long MAX_BYTES = 4 << 20;

  /** Of the rest of what is kept with a text. */
  private static final int ENTRY_OVERHEAD_BYTES = 200;

  private final Dictionary dictionary;
  private final Map<Key, String> entries = new LinkedHashMap<>(16, 0.75f, true);
  private long bytes;

  private record Key(String tenant, UUID id) {}

  TemplateTextCache(Dictionary dictionary) {
    this.dictionary = dictionary;
  }

  /** One that the dictionary does not have is left out. */
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
