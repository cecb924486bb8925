package dev.sluice.api.config;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The spool on Redis Streams.
 *
 * @param url URL of Redis 6.2 or later, {@code redis://[user][:password@]host:port[/db]}; unset
 *     means that the gateway starts Redis itself
 * @param shards streams over which the gateway distributes logs; one is enough without Redis
 *     Cluster
 * @param commandTimeout time that Redis may take to reply to a command
 * @param replicas Redis replicas that must have a log before its acknowledgement; 0 means none
 * @param appendTimeout time during which an append is retried after its connection was lost; Redis
 *     stores it once, independent of the number of attempts
 * @param consumerIdleTimeout time without a sign of life of a consumer, after which other consumers
 *     claim its entries; a consumer that stores a delivery gives a sign every third of it
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
          "sluice.redis.replicas is " + replicas + ", must not be negative");
    }
    PropertyChecks.requirePositive("sluice.redis.append-timeout", appendTimeout);
    PropertyChecks.requirePositive("sluice.redis.consumer-idle-timeout", consumerIdleTimeout);
  }

  /** Returns a text without the URL, which may contain a password. */
  @Override
  public String toString() {
    return "RedisProperties[shards=%d]".formatted(shards);
  }
}
