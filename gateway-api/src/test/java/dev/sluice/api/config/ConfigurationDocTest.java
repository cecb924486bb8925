package dev.sluice.api.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.springframework.core.io.ClassPathResource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;

/**
 * The table of settings in docs/configuration.md matches the settings records, which generate it.
 *
 * <pre>mvn -pl gateway-api test -Dtest=ConfigurationDocTest -Dsluice.docs.write=true</pre>
 */
class ConfigurationDocTest {
  private static final Path DOCUMENT = Path.of("../docs/configuration.md");
  private static final String BEGIN =
      "<!-- settings: made from the code, see ConfigurationDocTest -->";
  private static final String END = "<!-- end of settings -->";

  @Test
  void document_settingsTable_matchesTheCode() throws IOException {
    var document = Files.readString(DOCUMENT);
    int begin = document.indexOf(BEGIN) + BEGIN.length();
    int end = document.indexOf(END);
    var expected = "\n\n" + table() + "\n";

    if (Boolean.getBoolean("sluice.docs.write")) {
      Files.writeString(
          DOCUMENT, document.substring(0, begin) + expected + document.substring(end));
      return;
    }

    assertThat(document.substring(begin, end)).isEqualTo(expected);
  }

  private static String table() throws IOException {
    var metadata =
        new ObjectMapper()
            .readTree(
                new ClassPathResource("META-INF/spring-configuration-metadata.json")
                    .getContentAsByteArray());
    var rows = new TreeMap<String, String>();
    for (var property : metadata.get("properties")) {
      var name = property.get("name").asString();
      if (!name.startsWith("sluice.")) {
        continue;
      }
      rows.put(
          name,
          "| `%s` | `%s` | %s | %s |\n"
              .formatted(
                  name,
                  name.toUpperCase(Locale.ROOT).replace(".", "_").replace("-", ""),
                  defaultOf(property),
                  property
                      .path("description")
                      .asString("")
                      .replaceAll("\\{@code ([^}]*)}", "`$1`")));
    }
    assertThat(rows).isNotEmpty();
    return "| setting | environment variable | default | what it is |\n|---|---|---|---|\n"
        + String.join("", rows.values());
  }

  private static String defaultOf(JsonNode property) {
    var value = property.path("defaultValue");
    if (value.isMissingNode()) {
      return "";
    }
    if (value.isArray()) {
      var joined = new StringBuilder();
      value.forEach(v -> joined.append(joined.isEmpty() ? "" : ",").append(v.asString()));
      return "`" + joined + "`";
    }
    return "`" + value.asString() + "`";
  }
}
