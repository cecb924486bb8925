package dev.sluice.api.config;

import dev.sluice.api.ops.MicrometerEmbeddingMetrics;
import dev.sluice.clickhouse.ClickHouseDatabase;
import dev.sluice.clickhouse.ClickHouseLogReader;
import dev.sluice.clickhouse.ClickHouseTemplateVectorStore;
import dev.sluice.embeddings.OnnxEmbedder;
import dev.sluice.embeddings.OpenAiEmbedder;
import dev.sluice.embeddings.OpenAiSettings;
import dev.sluice.query.port.Embedder;
import dev.sluice.query.port.TemplateStats;
import dev.sluice.query.port.TemplateVectorStore;
import dev.sluice.query.read.ConcurrencyLimitedReader;
import dev.sluice.query.read.LongTextResolvingReader;
import dev.sluice.query.read.MergedTemplateReader;
import dev.sluice.query.read.TemplateLinkCache;
import dev.sluice.query.read.TemplateSummaries;
import dev.sluice.query.search.EmbeddingBackfill;
import dev.sluice.query.search.SemanticSearch;
import dev.sluice.templates.dictionary.Dictionary;
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

/** The wiring of search: the embedding model, the vector store and the embedding backfill. */
@Configuration(proxyBeanMethods = false)
class SearchConfiguration {
  /** Time without requests to an endpoint after several failures in a row. */
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

  /**
   * Connects to the endpoint. An endpoint that is unreachable may be configured correctly, so the
   * gateway starts; one whose vectors have another dimension is a configuration error.
   */
  private static Embedder connect(OpenAiSettings settings) throws InterruptedException {
    var endpoint = new OpenAiEmbedder(settings);
    var dimension = endpoint.probe();
    if (dimension.isPresent() && dimension.getAsInt() != settings.model().dimension()) {
      endpoint.close();
      throw new IllegalArgumentException(
          "sluice.embeddings.dimensions is %d, must be %3$d, the dimension of the vectors of %2$s"
              .formatted(settings.model().dimension(), settings, dimension.getAsInt()));
    }
    return endpoint;
  }

  /** An embedder that is always unavailable. */
  private record DisabledEmbedder(Model model, String reason) implements Embedder {
    @Override
    public List<Embedding> embed(List<String> texts) {
      throw new EmbedderUnavailableException(reason);
    }
  }

  @Bean
  TemplateVectorStore templateVectorStore(ClickHouseDatabase database, Embedder embedder) {
    return new ClickHouseTemplateVectorStore(database, embedder.model().dimension());
  }

  /** Platform threads: the operating system schedules them fairly among the other threads. */
  @Bean(destroyMethod = "shutdownNow")
  ExecutorService scoringExecutor(EmbeddingsProperties properties) {
    return Executors.newFixedThreadPool(
        properties.parallelism(), Thread.ofPlatform().daemon().name("scoring").factory());
  }

  @Bean
  SemanticSearch semanticSearch(
      TemplateVectorStore vectors,
      TemplateStats templates,
      Dictionary dictionary,
      TemplateLinkCache links,
      ClickHouseLogReader logs,
      ConcurrencyLimitedReader reader,
      Embedder embedder,
      @Qualifier("scoringExecutor") ExecutorService scoringExecutor,
      EmbeddingsProperties properties) {
    return new SemanticSearch(
        vectors,
        new TemplateSummaries(templates, dictionary, links),
        // cached links are enough: the templates of the result are as old as the cache
        reader.forReader(
            MergedTemplateReader.withCachedLinks(
                new LongTextResolvingReader(logs, dictionary), links)),
        embedder,
        new SemanticSearch.SearchResources(scoringExecutor, properties.cacheSize().toBytes()),
        System::nanoTime);
  }

  @Bean
  @Conditional(RoleCondition.DeliverRole.class)
  @ConditionalOnBooleanProperty(name = "sluice.embeddings.enabled", matchIfMissing = true)
  MicrometerEmbeddingMetrics embeddingMetrics(MeterRegistry registry) {
    return new MicrometerEmbeddingMetrics(registry);
  }

  @Bean
  @Conditional(RoleCondition.DeliverRole.class)
  @ConditionalOnBooleanProperty(name = "sluice.embeddings.enabled", matchIfMissing = true)
  EmbeddingsLifecycle embeddingsLifecycle(
      TemplateStats templates,
      TemplateVectorStore vectors,
      Embedder embedder,
      MicrometerEmbeddingMetrics metrics,
      InstantSource clock,
      EmbeddingsProperties properties) {
    return new EmbeddingsLifecycle(
        new EmbeddingBackfill(templates, vectors, embedder, metrics, clock),
        properties.pollInterval(),
        properties.cpuShare());
  }
}
