package dev.sluice.api.boot;

import dev.sluice.api.ops.EmbeddingMeters;
import dev.sluice.clickhouse.ClickHouseLogStore;
import dev.sluice.clickhouse.ClickHouseTemplateVectors;
import dev.sluice.core.ingest.IngestService;
import dev.sluice.core.port.Dictionary;
import dev.sluice.core.port.Embedder;
import dev.sluice.core.port.TemplateStats;
import dev.sluice.core.port.TemplateVectorStore;
import dev.sluice.core.read.BoundedReader;
import dev.sluice.core.read.KnownLinks;
import dev.sluice.core.read.ResolvingReader;
import dev.sluice.core.read.TemplatePortraits;
import dev.sluice.core.read.WholeTexts;
import dev.sluice.core.search.SearchLogs;
import dev.sluice.core.search.TemplateEmbeddings;
import dev.sluice.embeddings.EndpointEmbedder;
import dev.sluice.embeddings.EndpointSettings;
import dev.sluice.embeddings.OnnxEmbedder;
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
            new EndpointSettings(
                url, model, properties.apiKey(), properties.timeout(), properties.tries(), REST));
  }

  /** One that is away at the moment may be right; one that gives other vectors never is. */
  private static Embedder endpoint(EndpointSettings settings) throws InterruptedException {
    var endpoint = new EndpointEmbedder(settings);
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
    return new ClickHouseTemplateVectors(store, embedder.model().dimension());
  }

  /** Threads of the system's, which gives all others their share of the cores. */
  @Bean(destroyMethod = "shutdownNow")
  ExecutorService scoring(EmbeddingsProperties properties) {
    return Executors.newFixedThreadPool(
        properties.atOnce(), Thread.ofPlatform().daemon().name("scoring").factory());
  }

  @Bean
  SearchLogs searchLogs(
      TemplateVectorStore vectors,
      TemplateStats templates,
      Dictionary dictionary,
      KnownLinks links,
      ClickHouseLogStore store,
      BoundedReader reader,
      Embedder embedder,
      @Qualifier("scoring") ExecutorService scoring,
      EmbeddingsProperties properties) {
    return new SearchLogs(
        vectors,
        new TemplatePortraits(templates, dictionary, links),
        // its templates are those of a moment ago, and so are those of its logs
        reader.with(ResolvingReader.recently(new WholeTexts(store, dictionary), links)),
        embedder,
        new SearchLogs.Effort(scoring, properties.kept().toBytes()),
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
        new TemplateEmbeddings(
            templates, vectors, embedder, meters, clock, IngestService.DEFAULT_TENANT),
        properties.keepUp(),
        properties.share());
  }
}
