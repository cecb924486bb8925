package dev.sluice.api.boot;

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
  void new_noSettings_isTheBundledModel() {
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
    "share, 1",
    "share, 0.01",
    "at-once, 1",
    "dimension, 1",
    "tries, 1",
    "keep-up, 1ns",
    "timeout, 1ns",
    "url, http://127.0.0.1:8080/v1"
  })
  void new_valueAtItsBound_isAccepted(String key, String value) {
    assertThat(settings(Map.of("sluice.embeddings." + key, value))).isNotNull();
  }

  @Test
  void new_cacheSizeZero_isAccepted() {
    assertThat(settings(Map.of("sluice.embeddings.cache-size", "0B")).cacheSize())
        .isEqualTo(DataSize.ofBytes(0));
  }

  @ParameterizedTest
  @CsvSource({
    "share, 0",
    "share, 1.01",
    "share, -0.5",
    "share, NaN",
    "at-once, 0",
    "kept, -1B",
    "dimension, 0",
    "tries, 0",
    "keep-up, 0s",
    "keep-up, -1s",
    "timeout, 0s",
    "url, host/v1",
    "url, ftp://host/v1",
    "url, https:/v1"
  })
  void new_wrongValue_isRefusedAndNamesTheKey(String key, String value) {
    assertThatThrownBy(() -> settings(Map.of("sluice.embeddings." + key, value)))
        .isInstanceOf(BindException.class)
        .rootCause()
        .hasMessageStartingWith("sluice.embeddings." + key);
  }
}
