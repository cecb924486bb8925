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
final class KnownVectors {
  /** Of what is kept with the numbers. */
  private static final int ENTRY_BYTES = 250;

  private final Store store;
  private final long mostBytes;
  private final Map<Key, Vectors> kept = new LinkedHashMap<>(16, 0.75f, true);
  private long bytes;

  private record Key(String tenant, UUID id) {}

  /** Who has those that are not kept. */
  interface Store {
    List<Vectors> find(String tenant, Collection<UUID> ids) throws InterruptedException;
  }

  KnownVectors(Store store, long mostBytes) {
    this.store = store;
    this.mostBytes = mostBytes;
  }

  /**
   * One that has none is left out.
   *
   * @param ids at most {@link TemplateVectorStore#MAX_IDS}
   */
  List<Vectors> of(String tenant, Collection<UUID> ids) throws InterruptedException {
    var found = new ArrayList<Vectors>(ids.size());
    var missing = new ArrayList<UUID>();
    synchronized (kept) {
      for (var id : ids) {
        var known = kept.get(new Key(tenant, id));
        if (known == null) {
          missing.add(id);
        } else {
          found.add(known);
        }
      }
    }
    if (!missing.isEmpty()) {
      for (var each : store.find(tenant, missing)) {
        found.add(each);
        keep(new Key(tenant, each.id()), each);
      }
    }
    return found;
  }

  private void keep(Key key, Vectors vectors) {
    synchronized (kept) {
      var before = kept.put(key, vectors);
      bytes += bytes(vectors) - (before == null ? 0 : bytes(before));
      var eldest = kept.values().iterator();
      while (bytes > mostBytes && eldest.hasNext()) {
        bytes -= bytes(eldest.next());
        eldest.remove();
      }
    }
  }

  private static long bytes(Vectors vectors) {
    return ENTRY_BYTES + 4L * vectors.sentenceVector().length + vectors.tokenVectors().length;
  }
}
