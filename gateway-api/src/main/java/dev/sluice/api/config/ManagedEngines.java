package dev.sluice.api.config;

import static java.util.Objects.requireNonNull;

import dev.sluice.engines.EmbeddedClickHouse;
import dev.sluice.engines.EmbeddedRedis;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/**
 * The addresses of ClickHouse and, if the spool uses it, of Redis. An engine without a configured
 * URL is started here and stopped with the application; both start concurrently.
 */
final class ManagedEngines implements AutoCloseable {
  private final @Nullable EmbeddedRedis redis;
  private final @Nullable EmbeddedClickHouse clickHouse;
  private final @Nullable String redisUrl;
  private final String clickHouseUrl;

  ManagedEngines(
      SluiceProperties.SpoolType spool,
      RedisProperties redisSettings,
      ClickHouseProperties clickHouseSettings,
      EnginesProperties properties) {
    var starting =
        spool != SluiceProperties.SpoolType.WAL && redisSettings.url() == null
            ? CompletableFuture.supplyAsync(() -> startRedis(properties))
            : null;
    EmbeddedClickHouse startedClickHouse = null;
    try {
      if (clickHouseSettings.url() == null) {
        startedClickHouse = startClickHouse(clickHouseSettings, properties);
      }
    } catch (RuntimeException e) {
      if (starting != null) {
        var _ = starting.thenAccept(EmbeddedRedis::close).exceptionally(_ -> null).join();
      }
      throw e;
    }
    clickHouse = startedClickHouse;
    redis = starting == null ? null : awaitRedis(starting);
    redisUrl = redis == null ? redisSettings.url() : redis.url();
    clickHouseUrl =
        clickHouse == null ? String.valueOf(clickHouseSettings.url()) : clickHouse.url();
  }

  private EmbeddedRedis awaitRedis(CompletableFuture<EmbeddedRedis> starting) {
    try {
      return starting.join();
    } catch (CompletionException e) {
      if (clickHouse != null) {
        clickHouse.close();
      }
      throw e.getCause() instanceof RuntimeException cause ? cause : e;
    }
  }

  private static EmbeddedRedis startRedis(EnginesProperties properties) {
    return EmbeddedRedis.start(
        new EmbeddedRedis.RedisEngineSettings(
            properties.dataDir().resolve("redis"),
            properties.redis().port(),
            properties.redis().maxMemory()));
  }

  private static EmbeddedClickHouse startClickHouse(
      ClickHouseProperties clickHouseSettings, EnginesProperties properties) {
    return EmbeddedClickHouse.start(
        new EmbeddedClickHouse.ClickHouseEngineSettings(
            properties.dataDir().resolve("clickhouse"),
            properties.cacheDir(),
            properties.clickhouse().httpPort(),
            properties.clickhouse().tcpPort(),
            clickHouseSettings.user(),
            clickHouseSettings.password()));
  }

  /** Returns the URL of Redis; fails when the spool does not use Redis. */
  String redisUrl() {
    return requireNonNull(redisUrl, "redisUrl");
  }

  String clickHouseUrl() {
    return clickHouseUrl;
  }

  @Nullable EmbeddedRedis redis() {
    return redis;
  }

  @Nullable EmbeddedClickHouse clickHouse() {
    return clickHouse;
  }

  @Override
  public void close() {
    if (clickHouse != null) {
      clickHouse.close();
    }
    if (redis != null) {
      redis.close();
    }
  }
}
