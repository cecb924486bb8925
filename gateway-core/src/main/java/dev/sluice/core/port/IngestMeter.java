package dev.sluice.core.port;

import java.time.Duration;

/**
 * Counts what comes in. Alert on the invariant: received = accepted + rejected + filtered + turned
 * away + replayed + conflicting + lost, once nothing is on its way.
 *
 * <p>{@code entrance} is one of a few fixed names, such as {@code otlp-grpc}. Called on event
 * loops: implementations do not block.
 */
public interface IngestMeter {

  /** A request was taken apart: so many records, from so many bytes before decompression. */
  void received(String entrance, int records, long bytes);

  /**
   * Records that are in the spool, and how long that took from the moment the request was complete.
   */
  void accepted(String entrance, int records, Duration took);

  /** Records that can never be stored; each was answered with a verdict. */
  void rejected(String entrance, int records);

  /** Good records that are not on the allow list; each request was told how many. */
  void filtered(String entrance, int records);

  /** Records of a request that was told to come again later. */
  void turnedAway(String entrance, int records);

  /** Records of a request that was taken before, under the same key. */
  void replayed(String entrance, int records);

  /** Records of a request whose key is in use, by itself or by another. */
  void conflicting(String entrance, int records);

  /** Records that were accepted and had not reached the spool when the process ended. */
  void lost(String entrance, int records);

  /** A request that was turned away before any of its body was read. */
  void shed(String entrance);

  /** A request of which nothing could be used. */
  void malformed(String entrance);

  /** Fields of native logs that mean nothing to the gateway; they were ignored. */
  void unknownFields(String entrance, long fields);
}
