package dev.sluice.api.boot;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The spool on Redis Streams.
 *
 * @param url {@code redis://[user][:password@]host:port[/db]} of your Redis, 6.2 or later; when
 *     unset the gateway starts one of its own
 * @param shards streams the logs are spread over; one is enough but for Redis Cluster
 * @param commandTimeout how long Redis may take to answer
 * @param replicas replicas of your Redis that must have a log before it counts as safe
 * @param appendTimeout for how long an append is tried again when its connection was lost on the
 *     way; it lands once, however often it is tried
 * @param consumerIdleTimeout for how long an entry must lie with a consumer before another takes it
 *     over
 */
@ConfigurationProperties("sluice.redis")
record RedisProperties(
    @Nullable String url,
    @DefaultValue("1") int shards,
    @DefaultValue("5s") Duration commandTimeout,
    @DefaultValue("0") int replicas,
    @DefaultValue("10s") Duration appendTimeout,
    @DefaultValue("2m") Duration consumerIdleTimeout) {

  RedisProperties {
    PropertyChecks.requirePositive("sluice.redis.shards", shards);
    PropertyChecks.requirePositive("sluice.redis.command-timeout", commandTimeout);
    if (replicas < 0) {
      throw new IllegalArgumentException(
          "sluice.redis.replicas is " + replicas + "; it must not be negative");
    }
    PropertyChecks.requirePositive("sluice.redis.append-timeout", appendTimeout);
    PropertyChecks.requirePositive("sluice.redis.consumer-idle-timeout", consumerIdleTimeout);
  }

  /** Without the url, which may hold a password. */
  @Override
  public String toString() {
    return "RedisProperties[shards=%d]".formatted(shards);
  }
}
