package dev.sluice.core.port;

import java.time.Duration;

/**
 * Records the metrics of ingest. Alert on the invariant received = accepted + rejected + filtered +
 * unavailable + replayed + conflicting + lost, which holds whenever no request is in flight.
 *
 * <p>The parameter {@code protocol} is one of a few fixed names, such as {@code otlp-grpc}. Event
 * loops call these methods, so implementations do not block.
 */
public interface IngestMetrics {

  /**
   * Counts a decoded request.
   *
   * @param records the number of records in the request
   * @param bytes the size of the OTLP bytes
   */
  void recordReceived(String protocol, int records, long bytes);

  /**
   * Counts records that are in the spool.
   *
   * @param duration the time from the receipt of the complete request until the spool confirmed the
   *     append
   */
  void recordAccepted(String protocol, int records, Duration duration);

  /** Counts records that are invalid; the response reports their rejection. */
  void recordRejected(String protocol, int records);

  /** Counts valid records that are not on the allowlist; the response reports their number. */
  void recordFiltered(String protocol, int records);

  /** Counts records of a request whose response is unavailable, with a delay for the retry. */
  void recordUnavailable(String protocol, int records);

  /** Counts records of a request that was accepted earlier under the same idempotency key. */
  void recordReplayed(String protocol, int records);

  /** Counts records of a request whose idempotency key is in progress or has another request. */
  void recordConflict(String protocol, int records);

  /** Counts accepted records that are not in the spool when the gateway shuts down. */
  void recordLost(String protocol, int records);

  /** Counts a request that is rejected before any of its body is read. */
  void recordShed(String protocol);

  /** Counts a request that is malformed or over a limit as a whole. */
  void recordMalformed(String protocol);

  /**
   * Counts a request that fails a decoder with an unexpected exception; it is malformed as well.
   */
  void recordDecodeError(String protocol);

  /** Counts unknown fields of native logs, which the gateway ignores. */
  void recordUnknownFields(String protocol, long fields);

  /** Counts times of native logs in an unknown format; their records have the receive time. */
  void recordUnknownTimestamps(String protocol, long timestamps);
}
