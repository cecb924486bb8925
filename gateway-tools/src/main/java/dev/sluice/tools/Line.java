package dev.sluice.tools;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;

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

  static List<Line> read(Path file, int maxLines) throws IOException {
    var name = file.getFileName().toString();
    var service = name.contains(".") ? name.substring(0, name.lastIndexOf('.')) : name;
    var decoder = StandardCharsets.UTF_8.newDecoder().onMalformedInput(CodingErrorAction.REPLACE);
    var lines = new ArrayList<Line>();
    try (var reader =
        new BufferedReader(new InputStreamReader(Files.newInputStream(file), decoder))) {
      for (String text; lines.size() < maxLines && (text = reader.readLine()) != null; ) {
        if (!text.isBlank()) {
          lines.add(new Line(service, severityOf(text), text));
        }
      }
    }
    return lines;
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
