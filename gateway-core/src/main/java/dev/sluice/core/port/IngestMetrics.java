package dev.sluice.core.port;

import java.time.Duration;

/**
 * Counts what comes in. Alert on the invariant: received = accepted + rejected + filtered + turned
 * away + replayed + conflicting + lost, once nothing is on its way.
 *
 * <p>{@code entrance} is one of a few fixed names, such as {@code otlp-grpc}. Called on event
 * loops: implementations do not block.
 */
public interface IngestMetrics {

  /** A request was taken apart: so many records, from so many bytes before decompression. */
  void recordReceived(String protocol, int records, long bytes);

  /**
   * Records that are in the spool, and how long that took from the moment the request was complete.
   */
  void recordAccepted(String protocol, int records, Duration took);

  /** Records that can never be stored; each was answered with a verdict. */
  void recordRejected(String protocol, int records);

  /** Good records that are not on the allow list; each request was told how many. */
  void recordFiltered(String protocol, int records);

  /** Records of a request that was told to come again later. */
  void recordUnavailable(String protocol, int records);

  /** Records of a request that was taken before, under the same key. */
  void recordReplayed(String protocol, int records);

  /** Records of a request whose key is in use, by itself or by another. */
  void recordConflict(String protocol, int records);

  /** Records that were accepted and had not reached the spool when the process ended. */
  void recordLost(String protocol, int records);

  /** A request that was turned away before any of its body was read. */
  void recordShed(String protocol);

  /** A request of which nothing could be used. */
  void recordMalformed(String protocol);

  /** Fields of native logs that mean nothing to the gateway; they were ignored. */
  void recordUnknownFields(String protocol, long fields);
}
