package dev.sluice.core.ingest;

import dev.sluice.core.domain.Rejection;
import java.time.Duration;
import java.util.List;

/** What became of a request; every entrance turns it into an answer of its protocol. */
public sealed interface IngestResult {

  /**
   * Understood. The accepted records are as safe as {@code level} says; the rejected ones never
   * will be, and sending them again is in vain; so it is with the filtered ones, about which
   * nothing is wrong. Nothing at all in the request is {@code (0, [], 0, 0)}.
   *
   * @param rejections by index; at most {@link IngestService#MAX_REJECTIONS} of them
   * @param rejectedCount all of them
   * @param filtered good ones that are not on the {@link BodyAllowlist} and so were left out
   * @param level that was reached
   * @param deadLettered of the accepted ones, those that the store refused; known when the level is
   *     {@link AckLevel#STORED}
   * @param replayed whether the same request was taken before, and nothing now
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

    /** Taken now, and so safe; without a filter. */
    public Accepted(int accepted, List<Rejection> rejections, int rejectedCount, AckLevel level) {
      this(accepted, rejections, rejectedCount, 0, level, 0, false);
    }

    /** Whether there was no record, or none against which there is nothing to say. */
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

  /** Not OTLP; nothing was taken. */
  record Malformed(String reason) implements IngestResult {}

  /** Over a limit of whole requests; nothing was taken. */
  record TooLarge(String reason) implements IngestResult {}

  /** Not taken for reasons that pass. */
  record Unavailable(Duration retryAfter) implements IngestResult {}

  /** The same request, by its key, is being taken at this moment. */
  record InProgress(Duration retryAfter) implements IngestResult {
    public static final String REASON = "a request with this idempotency key is under way";
  }

  /** The key belongs to another request; nothing was taken. */
  record IdempotencyKeyReused() implements IngestResult {
    public static final String REASON =
        "this idempotency key was used for another request: a new request needs a new key";
  }
}
