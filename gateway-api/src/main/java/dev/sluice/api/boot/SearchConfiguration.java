package dev.sluice.api.boot;

import dev.sluice.api.ops.MicrometerEmbeddingMetrics;
import dev.sluice.clickhouse.ClickHouseLogStore;
import dev.sluice.clickhouse.ClickHouseTemplateVectorStore;
import dev.sluice.core.ingest.IngestService;
import dev.sluice.core.port.Dictionary;
import dev.sluice.core.port.Embedder;
import dev.sluice.core.port.TemplateStats;
import dev.sluice.core.port.TemplateVectorStore;
import dev.sluice.core.read.ConcurrencyLimitedReader;
import dev.sluice.core.read.LongTextResolvingReader;
import dev.sluice.core.read.MergedTemplateReader;
import dev.sluice.core.read.TemplateLinkCache;
import dev.sluice.core.read.TemplateSummaries;
import dev.sluice.core.search.EmbeddingBackfill;
import dev.sluice.core.search.SemanticSearch;
import dev.sluice.embeddings.OnnxEmbedder;
import dev.sluice.embeddings.OpenAiEmbedder;
import dev.sluice.embeddings.OpenAiSettings;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;

/** Puts search together: which model stands behind it, and who embeds templates. */
@Configuration(proxyBeanMethods = false)
class SearchConfiguration {
  /** How long an endpoint that failed again and again is left alone. */
  private static final Duration CIRCUIT_OPEN_TIMEOUT = Duration.ofSeconds(30);

  @Bean
  Embedder embedder(EmbeddingsProperties properties) throws InterruptedException {
    var url = properties.url();
    var model =
        url == null
            ? OnnxEmbedder.BUNDLED
            : new Embedder.Model(properties.model(), properties.dimensions());
    if (!properties.enabled()) {
      return new DisabledEmbedder(model, "sluice.embeddings.enabled is false");
    }
    return url == null
        ? OnnxEmbedder.bundled(properties.parallelism())
        : connect(
            new OpenAiSettings(
                url,
                model,
                properties.apiKey(),
                properties.timeout(),
                properties.maxAttempts(),
                CIRCUIT_OPEN_TIMEOUT));
  }

  /** One that is away at the moment may be right; one that gives other vectors never is. */
  private static Embedder connect(OpenAiSettings settings) throws InterruptedException {
    var endpoint = new OpenAiEmbedder(settings);
    var dimension = endpoint.probe();
    if (dimension.isPresent() && dimension.getAsInt() != settings.model().dimension()) {
      endpoint.close();
      throw new IllegalArgumentException(
          "sluice.embeddings.dimensions is %d, but vectors of %s have %d numbers"
              .formatted(settings.model().dimension(), settings, dimension.getAsInt()));
    }
    return endpoint;
  }

  /** Answers nothing. */
  private record DisabledEmbedder(Model model, String reason) implements Embedder {
    @Override
    public List<Embedding> embed(List<String> texts) {
      throw new EmbedderUnavailableException(reason);
    }
  }

  @Bean
  TemplateVectorStore templateVectorStore(ClickHouseLogStore store, Embedder embedder) {
    return new ClickHouseTemplateVectorStore(store, embedder.model().dimension());
  }

  /** Threads of the system's, which gives all others their share of the cores. */
  @Bean(destroyMethod = "shutdownNow")
  ExecutorService scoring(EmbeddingsProperties properties) {
    return Executors.newFixedThreadPool(
        properties.parallelism(), Thread.ofPlatform().daemon().name("scoring").factory());
  }

  @Bean
  SemanticSearch semanticSearch(
      TemplateVectorStore vectors,
      TemplateStats templates,
      Dictionary dictionary,
      TemplateLinkCache links,
      ClickHouseLogStore store,
      ConcurrencyLimitedReader reader,
      Embedder embedder,
      @Qualifier("scoring") ExecutorService scoring,
      EmbeddingsProperties properties) {
    return new SemanticSearch(
        vectors,
        new TemplateSummaries(templates, dictionary, links),
        // its templates are those of a moment ago, and so are those of its logs
        reader.forReader(
            MergedTemplateReader.withCachedLinks(
                new LongTextResolvingReader(store, dictionary), links)),
        embedder,
        new SemanticSearch.SearchResources(scoring, properties.cacheSize().toBytes()),
        System::nanoTime);
  }

  @Bean
  @Conditional(GatewayConfiguration.DeliverRole.class)
  @ConditionalOnBooleanProperty(name = "sluice.embeddings.enabled", matchIfMissing = true)
  MicrometerEmbeddingMetrics embeddingMetrics(MeterRegistry registry) {
    return new MicrometerEmbeddingMetrics(registry);
  }

  @Bean
  @Conditional(GatewayConfiguration.DeliverRole.class)
  @ConditionalOnBooleanProperty(name = "sluice.embeddings.enabled", matchIfMissing = true)
  EmbeddingsLifecycle embeddingsLifecycle(
      TemplateStats templates,
      TemplateVectorStore vectors,
      Embedder embedder,
      MicrometerEmbeddingMetrics metrics,
      InstantSource clock,
      EmbeddingsProperties properties) {
    return new EmbeddingsLifecycle(
        new EmbeddingBackfill(
            templates, vectors, embedder, metrics, clock, IngestService.DEFAULT_TENANT),
        properties.pollInterval(),
        properties.cpuShare());
  }
}
