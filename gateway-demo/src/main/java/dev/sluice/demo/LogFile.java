package dev.sluice.demo;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * A file with a log a line, in JSON. It is read again each time it is asked for and one line of it
 * is held at once, so it may be of any size.
 *
 * @param path ends in {@value #ENDING}
 */
record LogFile(Path path) {
  /** What files of logs end in. */
  static final String ENDING = ".ndjson";

  /** Longer than any log that a gateway takes with its usual limits. */
  static final int LONGEST_LINE = 32 << 20;

  private static final JsonMapper JSON = new JsonMapper();

  /** Takes the lines of a file, in their order. */
  interface Visitor {
    /**
     * @param line its number, from 1 on; lines that are blank count
     * @param log for the visitor to keep and change
     */
    void visit(int line, ObjectNode log) throws IOException, InterruptedException, Unusable;
  }

  /** The files of logs in a folder, not of those below it, by their names. */
  static List<LogFile> in(Path folder) throws IOException, Unusable {
    if (!Files.isDirectory(folder)) {
      throw new Unusable(folder + " is no folder");
    }
    try (var files = Files.list(folder)) {
      var found =
          files
              .filter(file -> file.getFileName().toString().endsWith(ENDING))
              .filter(Files::isRegularFile)
              .sorted()
              .map(LogFile::new)
              .toList();
      if (found.isEmpty()) {
        throw new Unusable("no file in " + folder + " ends in " + ENDING);
      }
      return found;
    }
  }

  /** As it is in the folder. */
  String name() {
    return path.getFileName().toString();
  }

  /** Shows all lines that are not blank. */
  void forEach(Visitor visitor) throws IOException, InterruptedException, Unusable {
    try (var in = new BufferedInputStream(Files.newInputStream(path), 1 << 16)) {
      var line = new ByteArrayOutputStream();
      for (int number = 1; read(in, line, number); number++) {
        var log = log(line.toByteArray(), number);
        if (log != null) {
          visitor.visit(number, log);
        }
      }
    }
  }

  /** The next line without its end; false when there is none. */
  private boolean read(InputStream in, ByteArrayOutputStream line, int number)
      throws IOException, Unusable {
    line.reset();
    int next = in.read();
    if (next < 0) {
      return false;
    }
    for (; next >= 0 && next != '\n'; next = in.read()) {
      if (line.size() == LONGEST_LINE) {
        throw unusable(number, "is longer than " + LONGEST_LINE + " bytes");
      }
      line.write(next);
    }
    return true;
  }

  private @Nullable ObjectNode log(byte[] line, int number) throws Unusable {
    JsonNode json;
    try {
      json = JSON.readTree(line);
    } catch (JacksonException e) {
      throw unusable(number, "is no JSON: " + e.getOriginalMessage());
    }
    if (json.isMissingNode()) {
      return null; // blank
    }
    if (!(json instanceof ObjectNode log)) {
      throw unusable(
          number, "is no JSON object but " + json.getNodeType().name().toLowerCase(Locale.ROOT));
    }
    return log;
  }

  /** What is wrong with a line. */
  Unusable unusable(int line, String what) {
    return new Unusable("%s:%d: %s".formatted(path, line, what));
  }
}
