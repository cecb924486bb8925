package dev.sluice.api.config;

import static java.util.Objects.requireNonNull;
import static java.util.Objects.requireNonNullElse;

import dev.sluice.engines.EmbeddedClickHouse;
import dev.sluice.engines.EmbeddedRedis;
import dev.sluice.engines.EngineStartException;
import dev.sluice.redis.RedisSpool;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingClass;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * The wiring of ClickHouse and, if the spool uses it, of Redis: their configured URLs, or engines
 * that the gateway starts. Only this class knows {@code gateway-engines}, which is optional: the
 * runnable jar has it, an application that embeds the gateway need not.
 */
@Configuration(proxyBeanMethods = false)
class EnginesConfiguration {

  @Bean
  @ConditionalOnMissingClass("dev.sluice.engines.EmbeddedRedis")
  EngineUrls configuredEngines(
      ListableBeanFactory beans, RedisProperties redis, ClickHouseProperties clickHouse) {
    if (clickHouse.url() == null) {
      throw missing("sluice.clickhouse.url");
    }
    if (usesRedis(beans) && redis.url() == null) {
      throw missing("sluice.redis.url");
    }
    return new EngineUrls(redis.url(), clickHouse.url(), configuredPassword(clickHouse));
  }

  private static String configuredPassword(ClickHouseProperties clickHouse) {
    return requireNonNullElse(clickHouse.password(), "");
  }

  private static EngineUnavailableException missing(String setting) {
    return new EngineUnavailableException(
        setting + " is not set, and gateway-engines is not on the class path: set one of them",
        null);
  }

  /** Whether the configuration of the spool has Redis; the spool itself is created later. */
  private static boolean usesRedis(ListableBeanFactory beans) {
    return beans.getBeanNamesForType(RedisSpool.class, true, false).length > 0;
  }

  /** The wiring with {@code gateway-engines} on the class path. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(EmbeddedRedis.class)
  static class ManagedEnginesConfiguration {

    @Bean(destroyMethod = "close")
    ManagedEngines managedEngines(
        ListableBeanFactory beans,
        RedisProperties redis,
        ClickHouseProperties clickHouse,
        EnginesProperties engines) {
      try {
        return new ManagedEngines(
            usesRedis(beans) && redis.url() == null, clickHouse.url() == null, clickHouse, engines);
      } catch (EngineStartException e) {
        throw new EngineUnavailableException(e.getMessage(), e);
      }
    }

    @Bean
    EngineUrls engineUrls(
        ManagedEngines engines, RedisProperties redis, ClickHouseProperties clickHouse) {
      return new EngineUrls(
          engines.redis == null ? redis.url() : engines.redis.url(),
          engines.clickHouse == null ? requireNonNull(clickHouse.url()) : engines.clickHouse.url(),
          engines.clickHouse == null
              ? configuredPassword(clickHouse)
              : engines.clickHouse.password());
    }
  }

  /**
   * The engines without a configured URL. They are started here, concurrently, and stopped with the
   * application.
   */
  static final class ManagedEngines implements AutoCloseable {
    private final @Nullable EmbeddedRedis redis;
    private final @Nullable EmbeddedClickHouse clickHouse;

    private ManagedEngines(
        boolean startRedis,
        boolean startClickHouse,
        ClickHouseProperties clickHouseSettings,
        EnginesProperties properties) {
      var starting =
          startRedis ? CompletableFuture.supplyAsync(() -> startRedis(properties)) : null;
      EmbeddedClickHouse startedClickHouse = null;
      try {
        if (startClickHouse) {
          startedClickHouse = startClickHouse(clickHouseSettings, properties);
        }
      } catch (Throwable e) { // after an Error too, no process may remain without an owner
        if (starting != null) {
          var _ = starting.thenAccept(EmbeddedRedis::close).exceptionally(_ -> null).join();
        }
        throw e;
      }
      clickHouse = startedClickHouse;
      redis = starting == null ? null : awaitRedis(starting);
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
              properties.cacheDir(),
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
              clickHouseSettings.password(),
              false));
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
}
