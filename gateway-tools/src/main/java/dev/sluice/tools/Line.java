package dev.sluice.tools;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * One line of a text file, with a service and a severity derived from it.
 *
 * @param service the name of the file without its extension
 * @param severity the first severity name near the start of the line, else INFO
 * @param body the complete line
 */
record Line(String service, String severity, String body) {
  private static final Pattern LEVEL =
      Pattern.compile(
          "\\b(TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\\b", Pattern.CASE_INSENSITIVE);
  private static final int LEVEL_SEARCH_CHARS = 160;
  private static final JsonMapper JSON = new JsonMapper();

  static Line of(String service, String text) {
    return new Line(service, severityOf(text), text);
  }

  static List<Line> read(Path file, int maxLines) throws IOException {
    var service = serviceOf(file);
    var lines = new ArrayList<Line>();
    try (var reader = reader(Files.newInputStream(file))) {
      for (String text; lines.size() < maxLines && (text = reader.readLine()) != null; ) {
        if (!text.isBlank()) {
          lines.add(of(service, text));
        }
      }
    }
    return lines;
  }

  /** Returns a reader of UTF-8 that replaces invalid bytes. */
  static BufferedReader reader(InputStream in) {
    var decoder = StandardCharsets.UTF_8.newDecoder().onMalformedInput(CodingErrorAction.REPLACE);
    return new BufferedReader(new InputStreamReader(in, decoder));
  }

  static String serviceOf(Path file) {
    var name = file.getFileName().toString();
    return name.lastIndexOf('.') > 0 ? name.substring(0, name.lastIndexOf('.')) : name;
  }

  /** Returns the line as a native log of this moment. */
  ObjectNode toJson() {
    return JSON.createObjectNode()
        .put("timestamp", Instant.now().toString())
        .put("service", service)
        .put("severity", severity)
        .put("body", body);
  }

  static String severityOf(String text) {
    var level = LEVEL.matcher(text.substring(0, Math.min(LEVEL_SEARCH_CHARS, text.length())));
    if (!level.find()) {
      return "INFO";
    }
    var name = level.group(1).toUpperCase(Locale.ROOT);
    return name.equals("WARNING") ? "WARN" : name;
  }
}
