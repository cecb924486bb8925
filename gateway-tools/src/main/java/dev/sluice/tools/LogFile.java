package dev.sluice.tools;

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
 * A file with one log per line, in JSON. Each iteration reads the file again and holds one line in
 * memory, so the file may have any size.
 *
 * @param path the path of the file, which ends in {@value #SUFFIX}
 */
record LogFile(Path path) {
  /** The extension of log files. */
  static final String SUFFIX = ".ndjson";

  /** The maximum length of a line in bytes, above the default limits of a gateway. */
  static final int MAX_LINE_BYTES = 32 << 20;

  private static final JsonMapper JSON = new JsonMapper();

  /** A callback for the lines of a file, in file order. */
  interface Visitor {
    /**
     * Visits one line that is not blank.
     *
     * @param line the line number, from 1; blank lines count
     * @param log the parsed line, which the visitor may keep and change
     */
    void visit(int line, ObjectNode log) throws IOException, InterruptedException, UsageException;
  }

  /** Lists the log files in a directory, sorted by name, without those in subdirectories. */
  static List<LogFile> list(Path folder) throws IOException, UsageException {
    if (!Files.isDirectory(folder)) {
      throw new UsageException(folder + " is not a directory");
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

  /** The name of the file in its directory. */
  String name() {
    return path.getFileName().toString();
  }

  /** Passes all lines that are not blank to the visitor. */
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

  /** Reads the next line without its terminator. Returns false at the end of the file. */
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
      throw invalidLine(number, "is not valid JSON: " + e.getOriginalMessage());
    }
    if (json.isMissingNode()) {
      return null; // a blank line
    }
    if (!(json instanceof ObjectNode log)) {
      throw invalidLine(
          number, "is not a JSON object but " + json.getNodeType().name().toLowerCase(Locale.ROOT));
    }
    return log;
  }

  /** Returns an exception that names the file, the line and the error. */
  UsageException invalidLine(int line, String what) {
    return new UsageException("%s:%d: %s".formatted(path, line, what));
  }
}
