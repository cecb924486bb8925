package dev.sluice.core.search;

import dev.sluice.core.port.TemplateVectorStore;
import dev.sluice.core.port.TemplateVectorStore.Vectors;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * The vectors of templates that were held against a question last: they are 10 to 30 kB each, and
 * questions of one morning are about the same things. Safe for use by many threads.
 */
final class TemplateVectorCache {
  /** Of what is kept with the numbers. */
  private static final int ENTRY_OVERHEAD_BYTES = 250;

  private final VectorLoader loader;
  private final long maxBytes;
  private final Map<Key, Vectors> entries = new LinkedHashMap<>(16, 0.75f, true);
  private long bytes;

  private record Key(String tenant, UUID id) {}

  /** Who has those that are not kept. */
  interface VectorLoader {
    List<Vectors> load(String tenant, Collection<UUID> ids) throws InterruptedException;
  }

  TemplateVectorCache(VectorLoader loader, long maxBytes) {
    this.loader = loader;
    this.maxBytes = maxBytes;
  }

  /**
   * One that has none is left out.
   *
   * @param ids at most {@link TemplateVectorStore#MAX_IDS}
   */
  List<Vectors> get(String tenant, Collection<UUID> ids) throws InterruptedException {
    var found = new ArrayList<Vectors>(ids.size());
    var missing = new ArrayList<UUID>();
    synchronized (entries) {
      for (var id : ids) {
        var cached = entries.get(new Key(tenant, id));
        if (cached == null) {
          missing.add(id);
        } else {
          found.add(cached);
        }
      }
    }
    if (!missing.isEmpty()) {
      for (var each : loader.load(tenant, missing)) {
        found.add(each);
        put(new Key(tenant, each.id()), each);
      }
    }
    return found;
  }

  private void put(Key key, Vectors vectors) {
    synchronized (entries) {
      var previous = entries.put(key, vectors);
      bytes += bytes(vectors) - (previous == null ? 0 : bytes(previous));
      var eldest = entries.values().iterator();
      while (bytes > maxBytes && eldest.hasNext()) {
        bytes -= bytes(eldest.next());
        eldest.remove();
      }
    }
  }

  private static long bytes(Vectors vectors) {
    return ENTRY_OVERHEAD_BYTES
        + 4L * vectors.sentenceVector().length
        + vectors.tokenVectors().length;
  }
}
