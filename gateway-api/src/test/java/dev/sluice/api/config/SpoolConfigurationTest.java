package dev.sluice.api.config;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;

/** The selection of a spool by {@code sluice.spool}. */
class SpoolConfigurationTest {
  private final ApplicationContextRunner runner =
      new ApplicationContextRunner()
          .withInitializer(
              context ->
                  context.addBeanFactoryPostProcessor(
                      beans -> {
                        for (var name : beans.getBeanDefinitionNames()) {
                          beans.getBeanDefinition(name).setLazyInit(true);
                        }
                      }))
          .withUserConfiguration(
              SpoolConfiguration.class,
              RedisSpoolConfiguration.class,
              WalSpoolConfiguration.class,
              FailoverSpoolConfiguration.class,
              Properties.class);

  @Configuration(proxyBeanMethods = false)
  @EnableConfigurationProperties(SluiceProperties.class)
  static class Properties {}

  @ParameterizedTest
  @ValueSource(strings = {"kafka", "", "redis_then_wal"})
  void start_unknownSpool_failsWithTheValidValues(String value) {
    runner
        .withPropertyValues("sluice.spool=" + value)
        .run(
            context ->
                assertThat(context)
                    .getFailure()
                    .isInstanceOfSatisfying(
                        InvalidConfigurationPropertyValueException.class,
                        e -> {
                          assertThat(e.getName()).isEqualTo("sluice.spool");
                          assertThat(e.getValue()).isEqualTo(value);
                          assertThat(e.getReason())
                              .isEqualTo("It must be one of redis, redis-then-wal, wal");
                        }));
  }

  @Test
  void start_walWithoutDeliverRole_fails() {
    runner
        .withPropertyValues("sluice.spool=wal", "sluice.roles=ingest")
        .run(
            context ->
                assertThat(context)
                    .getFailure()
                    .isInstanceOf(InvalidConfigurationPropertyValueException.class)
                    .hasMessageContaining("sluice.spool")
                    .hasMessageContaining("sluice.roles"));
  }
}
