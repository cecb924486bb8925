package dev.sluice.api.config;

import dev.sluice.api.ops.StoreHealth;
import dev.sluice.clickhouse.ClickHouseDatabase;
import dev.sluice.clickhouse.ClickHouseDeadLetterStore;
import dev.sluice.clickhouse.ClickHouseDictionary;
import dev.sluice.clickhouse.ClickHouseLogReader;
import dev.sluice.clickhouse.ClickHouseLogWriter;
import dev.sluice.clickhouse.ClickHouseSettings;
import dev.sluice.clickhouse.ClickHouseTemplateStats;
import dev.sluice.core.port.DeadLetterStore;
import dev.sluice.query.port.TemplateStats;
import dev.sluice.templates.dictionary.Dictionary;
import java.time.InstantSource;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The wiring of ClickHouse, the store of logs, dead letters and dictionary. */
@Configuration(proxyBeanMethods = false)
class ClickHouseConfiguration {
  @Bean(destroyMethod = "close")
  ClickHouseDatabase clickHouseDatabase(
      EngineUrls engines, SluiceProperties sluice, ClickHouseProperties properties) {
    return new ClickHouseDatabase(
        new ClickHouseSettings(
            engines.clickHouse(),
            properties.user(),
            engines.clickHousePassword(),
            properties.database(),
            properties.insertTimeout(),
            properties.queryTimeout(),
            PropertyChecks.toArraySize("sluice.clickhouse.max-insert", properties.maxInsert()),
            properties.indexes(),
            sluice.retention(),
            sluice.deadLetterRetention()));
  }

  @Bean
  ClickHouseLogWriter logWriter(ClickHouseDatabase database, InstantSource clock) {
    return new ClickHouseLogWriter(database, clock);
  }

  @Bean
  ClickHouseLogReader logReader(ClickHouseDatabase database) {
    return new ClickHouseLogReader(database);
  }

  @Bean
  DeadLetterStore deadLetterStore(ClickHouseDatabase database) {
    return new ClickHouseDeadLetterStore(database);
  }

  @Bean
  TemplateStats templateStats(ClickHouseDatabase database) {
    return new ClickHouseTemplateStats(database);
  }

  @Bean
  Dictionary dictionary(ClickHouseDatabase database) {
    return new ClickHouseDictionary(database);
  }

  @Bean
  StoreHealth clickhouseHealthIndicator(ClickHouseDatabase database) {
    return new StoreHealth(database::unavailableReason);
  }
}
