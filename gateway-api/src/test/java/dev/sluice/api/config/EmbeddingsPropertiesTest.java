package dev.sluice.api.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;
import org.springframework.util.unit.DataSize;

class EmbeddingsPropertiesTest {

  private static EmbeddingsProperties settings(Map<String, String> given) {
    return settings(new MapConfigurationPropertySource(given));
  }

  private static EmbeddingsProperties settings(ConfigurationPropertySource source) {
    return new Binder(source)
        .bindOrCreate("sluice.embeddings", Bindable.of(EmbeddingsProperties.class));
  }

  @Test
  void new_noSettings_selectsTheBundledModel() {
    var settings = settings(Map.of());

    assertThat(settings.enabled()).isTrue();
    assertThat(settings.url()).isNull();
    assertThat(settings.apiKey()).isNull();
  }

  @Test
  void new_apiKeyInTheEnvironment_isBoundAndNotPrinted() {
    var environment =
        new SystemEnvironmentPropertySource(
            StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME,
            Map.of(
                "SLUICE_EMBEDDINGS_APIKEY",
                "sk-secret",
                "SLUICE_EMBEDDINGS_URL",
                "https://host/v1"));

    var settings = settings(ConfigurationPropertySources.from(environment).iterator().next());

    assertThat(settings.apiKey()).isEqualTo("sk-secret");
    assertThat(settings.toString()).contains("https://host/v1").doesNotContain("secret");
  }

  @ParameterizedTest
  @CsvSource({
    "cpu-share, 1",
    "cpu-share, 0.01",
    "parallelism, 1",
    "dimensions, 1",
    "max-attempts, 1",
    "poll-interval, 1ns",
    "timeout, 1ns",
    "url, http://127.0.0.1:8080/v1"
  })
  void new_valueAtALimit_isAccepted(String key, String value) {
    assertThat(settings(Map.of("sluice.embeddings." + key, value))).isNotNull();
  }

  @Test
  void new_cacheSizeZero_isAccepted() {
    assertThat(settings(Map.of("sluice.embeddings.cache-size", "0B")).cacheSize())
        .isEqualTo(DataSize.ofBytes(0));
  }

  @ParameterizedTest
  @CsvSource({
    "cpu-share, 0",
    "cpu-share, 1.01",
    "cpu-share, -0.5",
    "cpu-share, NaN",
    "parallelism, 0",
    "cache-size, -1B",
    "dimensions, 0",
    "max-attempts, 0",
    "poll-interval, 0s",
    "poll-interval, -1s",
    "timeout, 0s",
    "url, host/v1",
    "url, ftp://host/v1",
    "url, https:/v1"
  })
  void new_invalidValue_isRejectedNamingTheSetting(String key, String value) {
    assertThatThrownBy(() -> settings(Map.of("sluice.embeddings." + key, value)))
        .isInstanceOf(BindException.class)
        .rootCause()
        .hasMessageStartingWith("sluice.embeddings." + key);
  }
}
