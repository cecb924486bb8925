package dev.sluice.api.config;

import java.net.URI;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * Embedding vectors of templates, for search by meaning.
 *
 * @param enabled whether this process embeds templates and searches by meaning; if not, search uses
 *     only words and values
 * @param pollInterval interval at which the gateway looks for templates without vectors
 * @param cpuShare share of one core that the model in the jar may use to embed templates, above 0
 *     and at most 1
 * @param parallelism texts that are embedded concurrently, and queries that are scored
 *     concurrently, each on one core
 * @param cacheSize memory of the cache of template vectors that queries use, 10 to 30 kB per
 *     template; above it the least recently used are removed; 0 means no cache
 * @param url base URL of an OpenAI-compatible endpoint, without {@code /embeddings}; unset means
 *     the model in the jar
 * @param model name of the model at the endpoint; unused without {@code sluice.embeddings.url}
 * @param dimensions dimension of the vectors of that model; another one fails the start; unused
 *     without {@code sluice.embeddings.url}
 * @param apiKey API key of the endpoint, sent as bearer token; set it as an environment variable
 *     rather than in a file; unset means no authentication
 * @param timeout time that one request to the endpoint may take; then it counts as failed
 * @param maxAttempts attempts of one request to the endpoint, at least 1
 */
@ConfigurationProperties("sluice.embeddings")
record EmbeddingsProperties(
    @DefaultValue("true") boolean enabled,
    @DefaultValue("2s") Duration pollInterval,
    @DefaultValue("0.15") double cpuShare,
    @DefaultValue("1") int parallelism,
    @DefaultValue("64MB") DataSize cacheSize,
    @Nullable URI url,
    @DefaultValue("text-embedding-3-small") String model,
    @DefaultValue("1536") int dimensions,
    @Nullable String apiKey,
    @DefaultValue("10s") Duration timeout,
    @DefaultValue("3") int maxAttempts) {

  EmbeddingsProperties {
    PropertyChecks.requirePositive("sluice.embeddings.poll-interval", pollInterval);
    if (!(cpuShare > 0 && cpuShare <= 1)) {
      throw new IllegalArgumentException(
          "sluice.embeddings.cpu-share is %s, must be above 0 and at most 1".formatted(cpuShare));
    }
    PropertyChecks.requirePositive("sluice.embeddings.parallelism", parallelism);
    if (cacheSize.isNegative()) {
      throw new IllegalArgumentException(
          "sluice.embeddings.cache-size is %s, must not be negative".formatted(cacheSize));
    }
    PropertyChecks.requirePositive("sluice.embeddings.dimensions", dimensions);
    PropertyChecks.requirePositive("sluice.embeddings.timeout", timeout);
    PropertyChecks.requirePositive("sluice.embeddings.max-attempts", maxAttempts);
    if (url != null
        && (url.getHost() == null
            || url.getScheme() == null
            || !url.getScheme().matches("https?"))) {
      throw new IllegalArgumentException(
          "sluice.embeddings.url is %s, must be an HTTP URL such as https://host/v1"
              .formatted(url));
    }
  }

  /** Returns a text without the API key. */
  @Override
  public String toString() {
    return "EmbeddingsProperties[url=%s, model=%s]".formatted(url, model);
  }
}
