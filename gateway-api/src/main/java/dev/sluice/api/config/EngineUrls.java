package dev.sluice.api.config;

import static java.util.Objects.requireNonNull;

import org.jspecify.annotations.Nullable;

/**
 * The addresses of the engines, with their passwords.
 *
 * @param redis URL of Redis; null when the spool does not use Redis
 * @param clickHouse URL of the HTTP interface of ClickHouse
 * @param clickHousePassword password of the gateway's user, empty for none
 */
record EngineUrls(@Nullable String redis, String clickHouse, String clickHousePassword) {

  /** Returns the URL of Redis; fails when the spool does not use Redis. */
  String requireRedis() {
    return requireNonNull(redis, "redis");
  }
}
