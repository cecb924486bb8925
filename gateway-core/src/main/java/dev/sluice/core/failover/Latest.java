package dev.sluice.core.failover;

import java.io.Serial;
import java.util.LinkedHashMap;
import java.util.Map;

/** As many as fit; those used longest ago go first. For one thread at a time. */
final class Latest<K, V> extends LinkedHashMap<K, V> {
  @Serial private static final long serialVersionUID = 1L;

  private final int most;
  private long evicted;

  Latest(int most) {
    super(16, 0.75f, true);
    this.most = most;
  }

  @Override
  protected boolean removeEldestEntry(Map.Entry<K, V> eldest) {
    boolean full = size() > most;
    if (full) {
      evicted++;
    }
    return full;
  }

  /** How many did not fit any more. */
  long evicted() {
    return evicted;
  }
}
