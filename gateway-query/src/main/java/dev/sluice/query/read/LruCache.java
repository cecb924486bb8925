package dev.sluice.query.read;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import java.util.function.ToLongFunction;

/**
 * An LRU cache of values by tenant and id, with a bound on the memory of all values together. An
 * entry never becomes stale, so the value of an id must never change; an id without a value is not
 * cached. Safe for use by many threads.
 *
 * @param <V> the type of the values, which are immutable
 */
public final class LruCache<V> {
  /** Estimated memory of an entry beside its value, in bytes. */
  private static final int ENTRY_OVERHEAD_BYTES = 200;

  private final long maxBytes;
  private final ToLongFunction<V> valueBytes;
  private final Loader<V> loader;
  private final Map<Key, V> entries = new LinkedHashMap<>(16, 0.75f, true);
  private long bytes;

  private record Key(String tenant, UUID id) {}

  /** The source of the values that are not cached. */
  public interface Loader<V> {
    /** Returns the values by id; an id without a value is left out. */
    Map<UUID, V> load(String tenant, Collection<UUID> ids) throws InterruptedException;
  }

  /**
   * @param maxBytes the maximum size of all entries in bytes; 0 to load each time
   * @param valueBytes the estimated memory of a value in bytes
   */
  public LruCache(long maxBytes, ToLongFunction<V> valueBytes, Loader<V> loader) {
    this.maxBytes = maxBytes;
    this.valueBytes = valueBytes;
    this.loader = loader;
  }

  /** Returns the values by id, and loads the missing ones; an id without a value is left out. */
  public Map<UUID, V> get(String tenant, Collection<UUID> ids) throws InterruptedException {
    var found = new HashMap<UUID, V>();
    var missing = new ArrayList<UUID>();
    synchronized (entries) {
      for (var id : ids) {
        var value = entries.get(new Key(tenant, id));
        if (value == null) {
          missing.add(id);
        } else {
          found.put(id, value);
        }
      }
    }
    if (!missing.isEmpty()) {
      var loaded = loader.load(tenant, missing);
      found.putAll(loaded);
      synchronized (entries) {
        loaded.forEach((id, value) -> put(new Key(tenant, id), value));
      }
    }
    return found;
  }

  private void put(Key key, V value) {
    var previous = entries.put(key, value);
    bytes += entryBytes(value) - (previous == null ? 0 : entryBytes(previous));
    var eldest = entries.values().iterator();
    while (bytes > maxBytes && eldest.hasNext()) {
      bytes -= entryBytes(eldest.next());
      eldest.remove();
    }
  }

  private long entryBytes(V value) {
    return ENTRY_OVERHEAD_BYTES + valueBytes.applyAsLong(value);
  }
}
