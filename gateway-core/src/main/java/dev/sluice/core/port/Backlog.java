package dev.sluice.core.port;

import java.time.Duration;

/** The delivery backlog of the spool. A query is cheap and blocks. Thread-safe. */
public interface Backlog {
  Depth depth();

  /**
   * The depth of the backlog.
   *
   * @param entries the number of unacknowledged spool entries of all shards
   * @param oldestAge the age of the oldest of these entries; zero when there is none
   */
  record Depth(long entries, Duration oldestAge) {}
}
