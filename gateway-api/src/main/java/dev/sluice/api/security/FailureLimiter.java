package dev.sluice.api.security;

import dev.sluice.core.security.ClientNetwork;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Limits the failed authentications of each remote address by a token bucket. A valid credential
 * passes even from a limited address: a wrong key of one agent must not stop the others of the same
 * proxy. Thread-safe.
 *
 * <p>Its memory is bounded: above {@link #MAX_ADDRESSES} the address with the oldest failure is
 * forgotten. Addresses of one {@link ClientNetwork} count as one.
 */
final class FailureLimiter {
  static final int MAX_ADDRESSES = 10_000;

  /** Failures at once. */
  static final int BURST = 20;

  /** Time after which one more failure is permitted. */
  static final Duration REFILL_DELAY = Duration.ofSeconds(1);

  private final InstantSource clock;
  private final Map<ClientNetwork, Bucket> buckets =
      new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<ClientNetwork, Bucket> eldest) {
          return size() > MAX_ADDRESSES;
        }
      };

  /** The failures that an address may still have, as of a time in milliseconds. */
  private record Bucket(double tokens, long at) {}

  FailureLimiter(InstantSource clock) {
    this.clock = clock;
  }

  /**
   * Counts a failure.
   *
   * @param remote the address of the client; null when it is unknown
   * @return whether the address has more failures than are permitted
   */
  synchronized boolean recordFailure(@Nullable InetSocketAddress remote) {
    var address = remote == null ? null : remote.getAddress();
    var network = address == null ? ClientNetwork.UNKNOWN : ClientNetwork.of(address);
    long now = clock.millis();
    var bucket = buckets.getOrDefault(network, new Bucket(BURST, now));
    double refilled =
        Math.min(
            BURST, bucket.tokens + Math.max(0, now - bucket.at) / (double) REFILL_DELAY.toMillis());
    boolean limited = refilled < 1;
    buckets.put(network, new Bucket(limited ? refilled : refilled - 1, now));
    return limited;
  }

  synchronized int addresses() {
    return buckets.size();
  }
}
