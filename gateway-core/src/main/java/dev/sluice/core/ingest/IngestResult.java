package dev.sluice.core.ingest;

import dev.sluice.core.domain.Rejection;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

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
   * @param items the status of each item
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
      ItemStatuses items,
      AckLevel level,
      int deadLettered,
      boolean replayed)
      implements IngestResult {
    public Accepted {
      rejections = List.copyOf(rejections);
    }

    /** Creates the result of a request whose records are all accepted. */
    public static Accepted all(int accepted, AckLevel level) {
      return new Accepted(accepted, List.of(), 0, 0, ItemStatuses.ALL_ACCEPTED, level, 0, false);
    }

    /**
     * Returns the status of an item.
     *
     * @param item the position of the item in the request of the client, from 0
     */
    public ItemStatuses.ItemStatus statusOf(int item) {
      return items.of(item);
    }

    /**
     * Returns the rejection of an item; null when it is not rejected, or only counted since there
     * are too many rejections.
     */
    public @Nullable Rejection rejectionOf(int item) {
      int low = 0;
      int high = rejections.size() - 1;
      while (low <= high) {
        int middle = (low + high) >>> 1;
        var rejection = rejections.get(middle);
        if (rejection.index() == item) {
          return rejection;
        }
        if (rejection.index() < item) {
          low = middle + 1;
        } else {
          high = middle - 1;
        }
      }
      return null;
    }

    /** Whether the request has no valid record. */
    public boolean acceptedNone() {
      return accepted == 0 && filtered == 0;
    }

    Accepted storedWithDeadLetters(int deadLetters) {
      return new Accepted(
          accepted,
          rejections,
          rejectedCount,
          filtered,
          items,
          AckLevel.STORED,
          deadLetters,
          replayed);
    }

    Accepted downgradedTo(AckLevel reached) {
      return new Accepted(accepted, rejections, rejectedCount, filtered, items, reached, 0, false);
    }

    Accepted asReplay() {
      return new Accepted(
          accepted, rejections, rejectedCount, filtered, items, AckLevel.DURABLE, 0, true);
    }
  }

  /** The body is not valid OTLP; no record is accepted. */
  record Malformed(String reason) implements IngestResult {}

  /**
   * The body does not match the format of its protocol; no record is accepted.
   *
   * @param damaged whether a checksum shows that the body was altered after its sender wrote it
   */
  record DecodeFailure(String reason, boolean damaged) implements IngestResult {}

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
