package dev.sluice.core.failover;

import java.io.Serial;
import java.util.LinkedHashMap;
import java.util.Map;

/** A bounded map that evicts the least recently used entry. For one thread at a time. */
final class LruMap<K, V> extends LinkedHashMap<K, V> {
  @Serial private static final long serialVersionUID = 1L;

  private final int maxEntries;

  LruMap(int maxEntries) {
    super(16, 0.75f, true);
    this.maxEntries = maxEntries;
  }

  @Override
  protected boolean removeEldestEntry(Map.Entry<K, V> eldest) {
    return size() > maxEntries;
  }
}
