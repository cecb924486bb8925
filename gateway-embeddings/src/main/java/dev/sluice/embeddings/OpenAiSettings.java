package dev.sluice.embeddings;

import dev.sluice.query.port.Embedder.Model;
import java.net.URI;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The settings of an OpenAI-compatible endpoint.
 *
 * @param url the base URL, without {@code /embeddings}, such as {@code https://host/v1}
 * @param model the name of the model at the endpoint, and the dimension of its vectors
 * @param apiKey the bearer token; null for none
 * @param timeout maximum duration of one request including its response
 * @param maxAttempts maximum number of attempts of one request, at least 1
 * @param cooldown time without requests after several failures in a row
 */
public record OpenAiSettings(
    URI url,
    Model model,
    @Nullable String apiKey,
    Duration timeout,
    int maxAttempts,
    Duration cooldown) {

  /** Returns the model and the URL, without the API key. */
  @Override
  public String toString() {
    return "%s at %s".formatted(model.name(), url);
  }
}
