package dev.sluice.core.ingest;

import java.util.Locale;

/** How safe logs are when their client is answered; each level has all that the one before has. */
public enum AckLevel {
  /** In memory, and on the way into the spool for as long as this process lives. */
  ACCEPTED,
  /** In the spool, which survives the end of this process. */
  DURABLE,
  /** In the store, or among the dead letters. */
  STORED;

  /** As it is written in headers and answers. */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }
}
