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
 * @param path ends in {@value #SUFFIX}
 */
record LogFile(Path path) {
  /** What files of logs end in. */
  static final String SUFFIX = ".ndjson";

  /** Longer than any log that a gateway takes with its usual limits. */
  static final int MAX_LINE_BYTES = 32 << 20;

  private static final JsonMapper JSON = new JsonMapper();

  /** Takes the lines of a file, in their order. */
  interface Visitor {
    /**
     * @param line its number, from 1 on; lines that are blank count
     * @param log for the visitor to keep and change
     */
    void visit(int line, ObjectNode log) throws IOException, InterruptedException, UsageException;
  }

  /** The files of logs in a folder, not of those below it, by their names. */
  static List<LogFile> list(Path folder) throws IOException, UsageException {
    if (!Files.isDirectory(folder)) {
      throw new UsageException(folder + " is no folder");
    }
    try (var files = Files.list(folder)) {
      var found =
          files
              .filter(file -> file.getFileName().toString().endsWith(SUFFIX))
              .filter(Files::isRegularFile)
              .sorted()
              .map(LogFile::new)
              .toList();
      if (found.isEmpty()) {
        throw new UsageException("no file in " + folder + " ends in " + SUFFIX);
      }
      return found;
    }
  }

  /** As it is in the folder. */
  String name() {
    return path.getFileName().toString();
  }

  /** Shows all lines that are not blank. */
  void forEach(Visitor visitor) throws IOException, InterruptedException, UsageException {
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
      throws IOException, UsageException {
    line.reset();
    int next = in.read();
    if (next < 0) {
      return false;
    }
    for (; next >= 0 && next != '\n'; next = in.read()) {
      if (line.size() == MAX_LINE_BYTES) {
        throw invalidLine(number, "is longer than " + MAX_LINE_BYTES + " bytes");
      }
      line.write(next);
    }
    return true;
  }

  private @Nullable ObjectNode log(byte[] line, int number) throws UsageException {
    JsonNode json;
    try {
      json = JSON.readTree(line);
    } catch (JacksonException e) {
      throw invalidLine(number, "is no JSON: " + e.getOriginalMessage());
    }
    if (json.isMissingNode()) {
      return null; // blank
    }
    if (!(json instanceof ObjectNode log)) {
      throw invalidLine(
          number, "is no JSON object but " + json.getNodeType().name().toLowerCase(Locale.ROOT));
    }
    return log;
  }

  /** What is wrong with a line. */
  UsageException invalidLine(int line, String what) {
    return new UsageException("%s:%d: %s".formatted(path, line, what));
  }
}
