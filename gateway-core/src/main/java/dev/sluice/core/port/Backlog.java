package dev.sluice.core.port;

import java.time.Duration;

/** How far delivery is behind; cheap to ask, blocking. Safe for use by many threads. */
public interface Backlog {
  Depth depth();

  /**
   * @param entries spool entries not yet settled, over all shards
   * @param oldestAge age of the oldest of them; zero when there is none
   */
  record Depth(long entries, Duration oldestAge) {}
}
