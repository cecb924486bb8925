package dev.sluice.api.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.templates.MinerSettings;
import dev.sluice.templates.dictionary.SharedDictionaryCache;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;

/** Settings of the dictionary and of templates. */
class DictionaryPropertiesTest {

  private static DictionaryProperties dictionary(Map<String, String> given) {
    return new Binder(new MapConfigurationPropertySource(given))
        .bindOrCreate("sluice.dictionary", Bindable.of(DictionaryProperties.class));
  }

  private static TemplatesProperties templates(Map<String, String> given) {
    return new Binder(new MapConfigurationPropertySource(given))
        .bindOrCreate("sluice.templates", Bindable.of(TemplatesProperties.class));
  }

  @Test
  void new_noSettings_hasTheDefaultsOfTheCore() {
    assertThat(dictionary(Map.of()).cacheSettings())
        .isEqualTo(SharedDictionaryCache.CacheSettings.DEFAULT);
    assertThat(templates(Map.of()).minerSettings()).isEqualTo(MinerSettings.defaults());
    assertThat(templates(Map.of()).customMasksFile()).isNull();
  }

  @ParameterizedTest
  @CsvSource({
    "sluice.dictionary.worker-cache-entries, 8",
    "sluice.dictionary.worker-cache-entries, 67108864",
    "sluice.dictionary.cache-entries, 8",
    "sluice.dictionary.cache-entries, 67108864",
    "sluice.dictionary.long-text-threshold, 0",
    "sluice.dictionary.long-text-threshold, 512",
    "sluice.dictionary.long-text-threshold, 1MB",
    "sluice.templates.max-per-service, 1",
    "sluice.templates.max-per-service, 100000",
    "sluice.templates.memory, 64KB"
  })
  void new_valueAtALimit_isAccepted(String key, String value) {
    var given = Map.of(key, value);

    assertThat(dictionary(given).cacheSettings()).isNotNull();
    assertThat(templates(given).minerSettings()).isNotNull();
  }

  @ParameterizedTest
  @CsvSource({
    "sluice.dictionary.worker-cache-entries, 7, 'is 7, must be from 8 to 67108864'",
    "sluice.dictionary.cache-entries, 67108865, 'is 67108865, must be from 8 to 67108864'",
    "sluice.dictionary.long-text-threshold, 511B, 'is 511, must be from 512 to 1048576'",
    "sluice.dictionary.long-text-threshold, 2MB, 'is 2097152, must be from 512 to 1048576'",
    "sluice.templates.max-per-service, 0, 'is 0, must be from 1 to 100000'",
    "sluice.templates.max-per-service, 100001, 'is 100001, must be from 1 to 100000'",
    "sluice.templates.memory, 1KB, 'is 1024B, must be at least 65536B'",
    "sluice.templates.sync-interval, 0s, 'is PT0S, must be positive'"
  })
  void new_valueOutOfRange_isRejectedNamingTheSetting(String key, String value, String reason) {
    var given = Map.of(key, value);

    assertThatThrownBy(
            () -> {
              dictionary(given);
              templates(given);
            })
        .rootCause()
        .hasMessage(key + " " + reason);
  }
}
