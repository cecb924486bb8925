package dev.sluice.core.ingest;

import java.util.Locale;

/**
 * The acknowledgement level: the durability that logs must reach before the gateway responds. Each
 * level includes the guarantees of the previous one.
 */
public enum AckLevel {
  /** The logs are in memory; the gateway appends them to the spool unless the process fails. */
  ACCEPTED,
  /** The logs are in the spool, which survives the end of this process. */
  DURABLE,
  /** The logs are in the store or in the dead letter queue. */
  STORED;

  /** Returns the name of the level in headers and responses. */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }
}
