package dev.sluice.embeddings;

import dev.sluice.core.port.Embedder.Model;
import java.net.URI;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How an endpoint is asked.
 *
 * @param url up to what is before {@code /embeddings}, such as {@code https://host/v1}
 * @param model the name it goes by there, and the numbers in its vectors
 * @param apiKey sent as bearer token; null for none
 * @param timeout of one request, its answer included
 * @param maxAttempts of one request, from 1
 * @param cooldown how long an endpoint that failed several times in a row is not asked
 */
public record OpenAiSettings(
    URI url,
    Model model,
    @Nullable String apiKey,
    Duration timeout,
    int maxAttempts,
    Duration cooldown) {

  /** Without the key. */
  @Override
  public String toString() {
    return "%s at %s".formatted(model.name(), url);
  }
}
