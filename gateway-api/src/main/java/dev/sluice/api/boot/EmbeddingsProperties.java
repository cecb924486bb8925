package dev.sluice.api.boot;

import java.net.URI;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * Vectors of templates, by which logs are found by meaning.
 *
 * @param enabled whether templates are embedded, and questions answered by meaning, in this
 *     process; where they are not, words and values are all that is searched by
 * @param pollInterval how often to look for templates that have no vectors
 * @param cpuShare of one core that embedding templates by the model in the jar takes at most, above
 *     0 to 1, so that it does not keep logs waiting
 * @param parallelism texts that are embedded, and questions that are held against templates, at the
 *     same time, each on one core
 * @param cacheSize of the vectors that questions were held against last, in memory; those of a
 *     template are 10 to 30 kB
 * @param url of an endpoint that serves a model as OpenAI does, up to what is before {@code
 *     /embeddings}; the model in the jar when unset
 * @param model by which name that endpoint knows it
 * @param dimensions numbers in its vectors
 * @param apiKey for that endpoint, sent as bearer token; better set in the environment than in a
 *     file
 * @param timeout of one request to it
 * @param maxAttempts of one request to it, from 1
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
          "sluice.embeddings.cpu-share is %s, above 0 to 1".formatted(cpuShare));
    }
    PropertyChecks.requirePositive("sluice.embeddings.parallelism", parallelism);
    if (cacheSize.isNegative()) {
      throw new IllegalArgumentException(
          "sluice.embeddings.cache-size is %s, at least 0".formatted(cacheSize));
    }
    PropertyChecks.requirePositive("sluice.embeddings.dimensions", dimensions);
    PropertyChecks.requirePositive("sluice.embeddings.timeout", timeout);
    PropertyChecks.requirePositive("sluice.embeddings.max-attempts", maxAttempts);
    if (url != null
        && (url.getHost() == null
            || url.getScheme() == null
            || !url.getScheme().matches("https?"))) {
      throw new IllegalArgumentException(
          "sluice.embeddings.url is %s, must be like https://host/v1".formatted(url));
    }
  }

  /** Without the key. */
  @Override
  public String toString() {
    return "EmbeddingsProperties[url=%s, model=%s]".formatted(url, model);
  }
}
