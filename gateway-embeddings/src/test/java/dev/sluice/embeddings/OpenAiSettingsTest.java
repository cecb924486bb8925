package dev.sluice.embeddings;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.query.port.Embedder.Model;
import java.net.URI;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class OpenAiSettingsTest {

  /** Exception messages and logs contain the string form of the settings. */
  @Test
  void toString_apiKey_isOmitted() {
    var settings =
        new OpenAiSettings(
            URI.create("https://host/v1"),
            new Model("small", 2),
            "sk-secret",
            Duration.ofSeconds(1),
            1,
            Duration.ofSeconds(1));

    assertThat(settings).hasToString("small at https://host/v1");
  }
}
