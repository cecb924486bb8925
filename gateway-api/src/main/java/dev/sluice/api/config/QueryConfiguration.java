package dev.sluice.api.config;

import dev.sluice.clickhouse.ClickHouseLogReader;
import dev.sluice.query.port.TemplateStats;
import dev.sluice.query.read.ConcurrencyLimitedReader;
import dev.sluice.query.read.LongTextResolvingReader;
import dev.sluice.query.read.MergedTemplateReader;
import dev.sluice.query.read.TemplateLinkCache;
import dev.sluice.query.read.TemplateReport;
import dev.sluice.templates.dictionary.Dictionary;
import java.time.Duration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The wiring of queries of logs and templates. */
@Configuration(proxyBeanMethods = false)
class QueryConfiguration {
  /** A search may show a template for up to twice this time after its generalization. */
  private static final Duration LINK_CACHE_TTL = Duration.ofSeconds(1);

  /** Time that a query waits for a free slot, so that a burst of short queries is not rejected. */
  private static final Duration QUERY_QUEUE_TIMEOUT = Duration.ofSeconds(1);

  @Bean
  TemplateLinkCache templateLinkCache(TemplateStats templates) {
    return new TemplateLinkCache(templates, LINK_CACHE_TTL, System::nanoTime);
  }

  @Bean
  ConcurrencyLimitedReader reader(
      ClickHouseLogReader logs,
      Dictionary dictionary,
      TemplateLinkCache links,
      ClickHouseProperties properties) {
    return new ConcurrencyLimitedReader(
        new MergedTemplateReader(new LongTextResolvingReader(logs, dictionary), links),
        properties.maxConcurrentQueries(),
        QUERY_QUEUE_TIMEOUT);
  }

  @Bean
  TemplateReport templateReport(
      TemplateStats templates,
      Dictionary dictionary,
      TemplateLinkCache links,
      ConcurrencyLimitedReader reader) {
    return new TemplateReport(templates, dictionary, links, reader);
  }
}
