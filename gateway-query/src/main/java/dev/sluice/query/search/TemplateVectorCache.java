package dev.sluice.query.search;

import dev.sluice.query.port.TemplateVectorStore;
import dev.sluice.query.port.TemplateVectorStore.Vectors;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * An LRU cache of the vectors of templates, with 10 to 30 kB for each template: consecutive queries
 * often match the same templates. Safe for use by many threads.
 */
final class TemplateVectorCache {
  /** Estimated memory of an entry beside its vectors, in bytes. */
  private static final int ENTRY_OVERHEAD_BYTES = 250;

  private final VectorLoader loader;
  private final long maxBytes;
  private final Map<Key, Vectors> entries = new LinkedHashMap<>(16, 0.75f, true);
  private long bytes;

  private record Key(String tenant, UUID id) {}

  /** The source of vectors that are not cached. */
  interface VectorLoader {
    List<Vectors> load(String tenant, Collection<UUID> ids) throws InterruptedException;
  }

  TemplateVectorCache(VectorLoader loader, long maxBytes) {
    this.loader = loader;
    this.maxBytes = maxBytes;
  }

  /**
   * Returns the vectors of templates; a template without vectors is left out.
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
