package dev.sluice.core.ingest;

import dev.sluice.core.domain.Rejection;
import java.time.Duration;
import java.util.List;

/** The result of a request, which each protocol maps to its own response. */
public sealed interface IngestResult {

  /**
   * The gateway decoded the request. The accepted records have reached {@code level}. The rejected
   * records are invalid, and the filtered ones are valid but not wanted; a retry of either has the
   * same result. The result of a request without records is {@code (0, [], 0, 0)}.
   *
   * @param accepted the number of accepted records
   * @param rejections the rejections, ordered by index; at most {@link
   *     IngestService#MAX_REJECTIONS}
   * @param rejectedCount the number of all rejected records
   * @param filtered the number of valid records that are omitted, as they are not on the {@link
   *     BodyAllowlist}
   * @param level the level that the accepted records have reached
   * @param deadLettered the number of accepted records that the store rejected; known when the
   *     level is {@link AckLevel#STORED}
   * @param replayed whether an earlier request with the same idempotency key was accepted, so that
   *     this one had no effect
   */
  record Accepted(
      int accepted,
      List<Rejection> rejections,
      int rejectedCount,
      int filtered,
      AckLevel level,
      int deadLettered,
      boolean replayed)
      implements IngestResult {
    public Accepted {
      rejections = List.copyOf(rejections);
    }

    /** Creates the result of a request without filtered records and dead letters. */
    public Accepted(int accepted, List<Rejection> rejections, int rejectedCount, AckLevel level) {
      this(accepted, rejections, rejectedCount, 0, level, 0, false);
    }

    /** Whether the request has no valid record. */
    public boolean acceptedNone() {
      return accepted == 0 && filtered == 0;
    }

    Accepted storedWithDeadLetters(int deadLetters) {
      return new Accepted(
          accepted, rejections, rejectedCount, filtered, AckLevel.STORED, deadLetters, replayed);
    }

    Accepted downgradedTo(AckLevel reached) {
      return new Accepted(accepted, rejections, rejectedCount, filtered, reached, 0, false);
    }

    Accepted asReplay() {
      return new Accepted(accepted, rejections, rejectedCount, filtered, AckLevel.DURABLE, 0, true);
    }
  }

  /** The body is not valid OTLP; no record is accepted. */
  record Malformed(String reason) implements IngestResult {}

  /** The request exceeds a request limit; no record is accepted. */
  record TooLarge(String reason) implements IngestResult {}

  /** The gateway cannot accept the request now; the client should retry it. */
  record Unavailable(Duration retryAfter) implements IngestResult {}

  /** A request with the same idempotency key is in progress; the client should retry. */
  record InProgress(Duration retryAfter) implements IngestResult {
    public static final String REASON = "a request with this idempotency key is in progress";
  }

  /** The idempotency key was used for another request; no record is accepted. */
  record IdempotencyKeyReused() implements IngestResult {
    public static final String REASON =
        "this idempotency key was used for another request: a new request needs a new key";
  }
}
