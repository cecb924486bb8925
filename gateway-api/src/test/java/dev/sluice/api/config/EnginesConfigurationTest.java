package dev.sluice.api.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.api.config.EnginesConfiguration.ManagedEngines;
import dev.sluice.redis.RedisSpool;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;

/** The wiring of the engines with and without the optional module {@code gateway-engines}. */
class EnginesConfigurationTest {
  private static final String REDIS = "redis://redis.example:6379";
  private static final String CLICKHOUSE = "http://clickhouse.example:8123";

  private final ApplicationContextRunner complete =
      new ApplicationContextRunner()
          .withUserConfiguration(EnginesConfiguration.class, Properties.class);
  private final ApplicationContextRunner withoutEngines =
      complete.withClassLoader(new FilteredClassLoader("dev.sluice.engines"));

  @Configuration(proxyBeanMethods = false)
  @EnableConfigurationProperties({
    SluiceProperties.class,
    RedisProperties.class,
    ClickHouseProperties.class,
    EnginesProperties.class
  })
  static class Properties {}

  @Test
  void urls_withoutTheModule_areTheConfigured() {
    withoutEngines
        .withPropertyValues("sluice.redis.url=" + REDIS, "sluice.clickhouse.url=" + CLICKHOUSE)
        .run(
            context -> {
              assertThat(context.getBean(EngineUrls.class))
                  .isEqualTo(new EngineUrls(REDIS, CLICKHOUSE, ""));
              assertThat(context).doesNotHaveBean("managedEngines");
            });
  }

  @Test
  void urls_withTheModule_areTheConfigured() {
    complete
        .withPropertyValues("sluice.redis.url=" + REDIS, "sluice.clickhouse.url=" + CLICKHOUSE)
        .run(
            context -> {
              assertThat(context.getBean(EngineUrls.class))
                  .isEqualTo(new EngineUrls(REDIS, CLICKHOUSE, ""));
              assertThat(context).hasSingleBean(ManagedEngines.class);
            });
  }

  @Test
  void start_withoutTheModuleAndWithoutClickHouse_failsWithTheSetting() {
    withoutEngines
        .withPropertyValues("sluice.redis.url=" + REDIS)
        .run(
            context ->
                assertThat(context)
                    .getFailure()
                    .rootCause()
                    .isInstanceOf(EngineUnavailableException.class)
                    .hasMessageContaining("sluice.clickhouse.url")
                    .hasMessageContaining("gateway-engines"));
  }

  @Test
  void start_withoutTheModuleAndWithoutRedis_failsIfTheSpoolIsRedis() {
    var onlyClickHouse = withoutEngines.withPropertyValues("sluice.clickhouse.url=" + CLICKHOUSE);

    onlyClickHouse
        .withBean(RedisSpool.class, () -> null, bean -> bean.setLazyInit(true))
        .run(
            context ->
                assertThat(context)
                    .getFailure()
                    .rootCause()
                    .hasMessageContaining("sluice.redis.url"));
    onlyClickHouse.run(context -> assertThat(context).hasNotFailed());
  }
}
