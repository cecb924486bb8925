package dev.sluice.core.ingest;

import dev.sluice.core.domain.Rejection;
import java.time.Duration;
import java.util.List;

/** What became of a request; every entrance turns it into an answer of its protocol. */
public sealed interface Ingested {

  /**
   * Understood. The accepted records are safe; the rejected ones never will be, and sending them
   * again is in vain. Nothing at all in the request is {@code (0, [], 0)}.
   *
   * @param rejected by index; at most {@link IngestLogs#MAX_VERDICTS} of them
   * @param rejectedCount all of them
   */
  record Accepted(int accepted, List<Rejection> rejected, int rejectedCount) implements Ingested {
    public Accepted {
      rejected = List.copyOf(rejected);
    }
  }

  /** Not OTLP; nothing was taken. */
  record Malformed(String reason) implements Ingested {}

  /** Over a limit of whole requests; nothing was taken. */
  record TooLarge(String reason) implements Ingested {}

  /** Not taken for reasons that pass. */
  record Busy(Duration retryAfter) implements Ingested {}
}
