package dev.sluice.redis;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * What Redis says of itself.
 *
 * @param info the properties of its answer to INFO
 */
record RedisServerInfo(Map<String, String> info) {
  /** Part of the memory that must be free before a Redis that was full counts as not full. */
  private static final int MIN_FREE_MEMORY_DIVISOR = 20;

  /** From an answer to INFO as it came. */
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
   * Why nothing can be appended.
   *
   * @param refusedForMemory whether the last append was; between two of them Redis looks as if
   *     there were room for one
   */
  Optional<String> unavailableReason(boolean refusedForMemory) {
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
    return used > limit || refusedForMemory && used > limit - limit / MIN_FREE_MEMORY_DIVISOR
        ? Optional.of("Redis is full: %d bytes of %d".formatted(used, limit))
        : Optional.empty();
  }

  /**
   * Why Redis might lose what it has taken.
   *
   * @param replicas that it should have
   */
  Optional<String> notDurableReason(int replicas) {
    if ("0".equals(info.get("aof_enabled"))) {
      return Optional.of("Redis keeps no append-only file: set appendonly yes");
    }
    if ("err".equals(info.get("aof_last_write_status"))) {
      return Optional.of("Redis cannot write its append-only file");
    }
    if (number("maxmemory") > 0 && evictionEnabled()) {
      return Optional.of(
          "Redis deletes logs when its memory is full: set maxmemory-policy noeviction");
    }
    long connected = number("connected_slaves");
    return connected < replicas
        ? Optional.of("Redis has %d replicas, should have %d".formatted(connected, replicas))
        : Optional.empty();
  }

  /** What has a time to live may go: nothing of ours has. */
  private boolean evictionEnabled() {
    return info.getOrDefault("maxmemory_policy", "").startsWith("allkeys");
  }

  private long number(String key) {
    return Long.parseLong(info.getOrDefault(key, "0"));
  }
}
