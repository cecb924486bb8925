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
final class KnownTexts {
  /** Of texts that are kept, for a character of one byte; as much again at most for others. */
  private static final long MOST_BYTES = 4 << 20;

  /** Of the rest of what is kept with a text. */
  private static final int ENTRY_BYTES = 200;

  private final Dictionary dictionary;
  private final Map<Key, String> kept = new LinkedHashMap<>(16, 0.75f, true);
  private long bytes;

  private record Key(String tenant, UUID id) {}

  KnownTexts(Dictionary dictionary) {
    this.dictionary = dictionary;
  }

  /** One that the dictionary does not have is left out. */
  Map<UUID, String> of(String tenant, Collection<UUID> ids) throws InterruptedException {
    var texts = new HashMap<UUID, String>();
    var missing = new ArrayList<UUID>();
    synchronized (kept) {
      for (var id : ids) {
        var text = kept.get(new Key(tenant, id));
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
        keep(new Key(tenant, entry.id()), entry.text());
      }
    }
    return texts;
  }

  private void keep(Key key, String text) {
    synchronized (kept) {
      var before = kept.put(key, text);
      bytes += bytes(text) - (before == null ? 0 : bytes(before));
      var eldest = kept.values().iterator();
      while (bytes > MOST_BYTES && eldest.hasNext()) {
        bytes -= bytes(eldest.next());
        eldest.remove();
      }
    }
  }

  private static long bytes(String text) {
    return (long) ENTRY_BYTES + text.length();
  }
}
