package dev.sluice.api.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.springframework.core.io.ClassPathResource;
import tools.jackson.databind.ObjectMapper;

/**
 * Holds the names of all settings to one convention, so that an operator can read the kind and the
 * unit of a value from its name.
 */
class SettingsTest {
  private static final List<String> DURATION_SUFFIXES =
      List.of("-timeout", "timeout", "-interval", "interval", "-delay", "-ttl", "linger");

  /** Terms of ClickHouse and Kafka that already say that they are durations. */
  private static final List<String> DURATION_TERMS =
      List.of("sluice.retention", "sluice.dead-letter-retention", "sluice.ledger.window");

  private static final List<String> COUNT_PREFIXES = List.of("max-", "min-");

  /** Numbers that count nothing: ports, a degree and a depth. */
  private static final List<String> OTHER_NUMBERS = List.of("port", "parallelism");

  @Test
  void names_durations_endInTheKindOfDuration() throws IOException {
    var wrong = new ArrayList<String>();
    settings()
        .forEach(
            (name, type) -> {
              if (type.equals("java.time.Duration")
                  && !DURATION_TERMS.contains(name)
                  && DURATION_SUFFIXES.stream().noneMatch(last(name)::endsWith)) {
                wrong.add(name);
              }
            });

    assertThat(wrong).isEmpty();
  }

  @Test
  void names_sizes_areDataSizes() throws IOException {
    var wrong = new ArrayList<String>();
    settings()
        .forEach(
            (name, type) -> {
              boolean size = type.equals("org.springframework.util.unit.DataSize");
              if (name.contains("bytes") && !size) {
                wrong.add(name + " counts bytes and is no DataSize");
              }
              if (size && DURATION_SUFFIXES.stream().anyMatch(last(name)::endsWith)) {
                wrong.add(name + " reads as a duration and is a size");
              }
            });

    assertThat(wrong).isEmpty();
  }

  @Test
  void names_counts_arePluralOrLimits() throws IOException {
    var wrong = new ArrayList<String>();
    settings()
        .forEach(
            (name, type) -> {
              var last = last(name);
              if (List.of("java.lang.Integer", "java.lang.Long").contains(type)
                  && COUNT_PREFIXES.stream().noneMatch(last::startsWith)
                  && OTHER_NUMBERS.stream().noneMatch(last::endsWith)
                  && !last.endsWith("s")) {
                wrong.add(name);
              }
            });

    assertThat(wrong).isEmpty();
  }

  @Test
  void names_all_areWordsOfTheField() throws IOException {
    assertThat(settings().keySet())
        .allSatisfy(
            name ->
                assertThat(name)
                    .matches("sluice(\\.[a-z0-9]+(-[a-z0-9]+)*)+")
                    .doesNotContain(
                        "within", "at-once", "keep-", "patience", "headroom", "longest", "first-"));
  }

  private static String last(String name) {
    return name.substring(name.lastIndexOf('.') + 1);
  }

  /** Name and Java type of each setting. */
  private static Map<String, String> settings() throws IOException {
    var metadata =
        new ObjectMapper()
            .readTree(
                new ClassPathResource("META-INF/spring-configuration-metadata.json")
                    .getContentAsByteArray());
    var settings = new TreeMap<String, String>();
    for (var property : metadata.get("properties")) {
      var name = property.get("name").asString();
      if (name.startsWith("sluice.")) {
        settings.put(name, property.path("type").asString());
      }
    }
    assertThat(settings).isNotEmpty();
    return settings;
  }
}
