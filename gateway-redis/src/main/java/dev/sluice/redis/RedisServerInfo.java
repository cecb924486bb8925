package dev.sluice.redis;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The state of a Redis server, from its reply to INFO.
 *
 * @param info the properties of the reply
 */
record RedisServerInfo(Map<String, String> info) {
  /** A Redis that was full is available again when 1/20 of its memory limit is free. */
  private static final int MIN_FREE_MEMORY_DIVISOR = 20;

  /** Parses the reply to INFO. */
  static RedisServerInfo parse(String reply) {
    var info = new HashMap<String, String>();
    for (var line : reply.split("\r?\n", -1)) {
      int colon = line.indexOf(':');
      if (colon > 0) {
        info.put(line.substring(0, colon), line.substring(colon + 1));
      }
    }
    return new RedisServerInfo(info);
  }

  /**
   * Returns the reason why Redis accepts no append; empty when it accepts appends.
   *
   * @param rejectedForMemory whether Redis rejected the last append because its memory is full;
   *     between two appends the reported memory usage can be below the limit
   */
  Optional<String> unavailableReason(boolean rejectedForMemory) {
    if (!"master".equals(info.get("role"))) {
      return Optional.of("Redis is a replica");
    }
    if ("1".equals(info.get("loading"))) {
      return Optional.of("Redis is loading its data");
    }
    long limit = number("maxmemory");
    if (limit == 0 || evictionEnabled()) {
      return Optional.empty();
    }
    long used = number("used_memory") - number("mem_not_counted_for_evict");
    return used > limit || rejectedForMemory && used > limit - limit / MIN_FREE_MEMORY_DIVISOR
        ? Optional.of("Redis is full: %d bytes of %d".formatted(used, limit))
        : Optional.empty();
  }

  /**
   * Returns the reason why Redis might lose accepted records; empty when they are durable.
   *
   * @param replicas required number of replicas
   */
  Optional<String> notDurableReason(int replicas) {
    if ("0".equals(info.get("aof_enabled"))) {
      return Optional.of("Redis writes no append-only file: set appendonly yes");
    }
    if ("err".equals(info.get("aof_last_write_status"))) {
      return Optional.of("Redis cannot write its append-only file");
    }
    if (number("maxmemory") > 0 && evictionEnabled()) {
      return Optional.of(
          "Redis evicts records when its memory is full: set maxmemory-policy noeviction");
    }
    long connected = number("connected_slaves");
    return connected < replicas
        ? Optional.of("Redis has %d replicas, requires %d".formatted(connected, replicas))
        : Optional.empty();
  }

  /** Whether Redis may evict keys of the spool; these have no TTL, so volatile-* is safe. */
  private boolean evictionEnabled() {
    return info.getOrDefault("maxmemory_policy", "").startsWith("allkeys");
  }

  private long number(String key) {
    return Long.parseLong(info.getOrDefault(key, "0"));
  }
}
