package dev.sluice.api.boot;

import dev.sluice.api.ops.EmbeddingMeters;
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
class SearchWiring {
  /** How long an endpoint that failed again and again is left alone. */
  private static final Duration REST = Duration.ofSeconds(30);

  @Bean
  Embedder embedder(EmbeddingsProperties properties) throws InterruptedException {
    var url = properties.url();
    var model =
        url == null
            ? OnnxEmbedder.BUNDLED
            : new Embedder.Model(properties.model(), properties.dimension());
    if (!properties.enabled()) {
      return new NoModel(model, "sluice.embeddings.enabled is false");
    }
    return url == null
        ? OnnxEmbedder.bundled(properties.atOnce())
        : endpoint(
            new OpenAiSettings(
                url, model, properties.apiKey(), properties.timeout(), properties.tries(), REST));
  }

  /** One that is away at the moment may be right; one that gives other vectors never is. */
  private static Embedder endpoint(OpenAiSettings settings) throws InterruptedException {
    var endpoint = new OpenAiEmbedder(settings);
    var dimension = endpoint.probe();
    if (dimension.isPresent() && dimension.getAsInt() != settings.model().dimension()) {
      endpoint.close();
      throw new IllegalArgumentException(
          "sluice.embeddings.dimension is %d, but vectors of %s have %d numbers"
              .formatted(settings.model().dimension(), settings, dimension.getAsInt()));
    }
    return endpoint;
  }

  /** Answers nothing. */
  private record NoModel(Model model, String why) implements Embedder {
    @Override
    public List<Embedding> embed(List<String> texts) {
      throw new EmbedderUnavailableException(why);
    }
  }

  @Bean
  TemplateVectorStore templateVectors(ClickHouseLogStore store, Embedder embedder) {
    return new ClickHouseTemplateVectorStore(store, embedder.model().dimension());
  }

  /** Threads of the system's, which gives all others their share of the cores. */
  @Bean(destroyMethod = "shutdownNow")
  ExecutorService scoring(EmbeddingsProperties properties) {
    return Executors.newFixedThreadPool(
        properties.atOnce(), Thread.ofPlatform().daemon().name("scoring").factory());
  }

  @Bean
  SemanticSearch searchLogs(
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
        new SemanticSearch.SearchResources(scoring, properties.kept().toBytes()),
        System::nanoTime);
  }

  @Bean
  @Conditional(Wiring.DeliverRole.class)
  @ConditionalOnBooleanProperty(name = "sluice.embeddings.enabled", matchIfMissing = true)
  EmbeddingMeters embeddingMeters(MeterRegistry registry) {
    return new EmbeddingMeters(registry);
  }

  @Bean
  @Conditional(Wiring.DeliverRole.class)
  @ConditionalOnBooleanProperty(name = "sluice.embeddings.enabled", matchIfMissing = true)
  EmbeddingsLifecycle embeddingsLifecycle(
      TemplateStats templates,
      TemplateVectorStore vectors,
      Embedder embedder,
      EmbeddingMeters meters,
      InstantSource clock,
      EmbeddingsProperties properties) {
    return new EmbeddingsLifecycle(
        new EmbeddingBackfill(
            templates, vectors, embedder, meters, clock, IngestService.DEFAULT_TENANT),
        properties.keepUp(),
        properties.share());
  }
}
