package dev.sluice.api.config;

import dev.sluice.api.config.FileWatcher.FileFormat;
import dev.sluice.templates.CustomMask;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The file of custom masks: one mask per line, {@code service /pattern/}, or {@code * /pattern/}
 * for all services. Blank lines and lines that begin with {@code #} are ignored. Masks are applied
 * in the order of the file.
 *
 * <p>The service ends at the first slash that follows white space, so it may contain spaces. The
 * pattern ends at the last slash of the line, so it may contain spaces and slashes.
 */
final class CustomMasksFile implements FileWatcher.Handler<List<CustomMask>> {
  static final int MAX_LINES = 1_000; // every mask is tried on every message with a new skeleton
  static final int MAX_BYTES = 1 << 20;
  static final int MAX_LINE_LENGTH = 1_000; // compiling nested groups takes stack

  private static final FileFormat FORMAT =
      new FileFormat("sluice.templates.custom-masks-file", "custom masks", MAX_LINES, MAX_BYTES);
  private static final Logger LOG = LoggerFactory.getLogger(CustomMasksFile.class);
  private static final Pattern LINE = Pattern.compile("(?<service>.*?\\S)\\s+/(?<mask>.+)/\\s*");
  private static final String ALL_SERVICES = "*";

  private final Consumer<List<CustomMask>> consumer;

  private CustomMasksFile(Consumer<List<CustomMask>> consumer) {
    this.consumer = consumer;
  }

  /**
   * Reads the masks.
   *
   * @param consumer the receiver of the masks, called now and after each change of the file
   * @throws IllegalArgumentException when the file is invalid; the message names the setting
   */
  static FileWatcher<List<CustomMask>> read(Path path, Consumer<List<CustomMask>> consumer) {
    return FileWatcher.read(path, new CustomMasksFile(consumer));
  }

  @Override
  public FileFormat format() {
    return FORMAT;
  }

  @Override
  public List<CustomMask> parse(List<String> lines) throws IOException {
    var masks = new ArrayList<CustomMask>();
    for (int i = 0; i < lines.size(); i++) {
      var line = lines.get(i);
      if (!line.isBlank() && !line.startsWith("#")) {
        masks.add(parseMask(line, "line " + (i + 1)));
      }
    }
    return List.copyOf(masks);
  }

  private static CustomMask parseMask(String line, String name) throws IOException {
    if (line.length() > MAX_LINE_LENGTH) {
      throw new IOException(name + " has more than " + MAX_LINE_LENGTH + " characters");
    }
    var parts = LINE.matcher(line);
    if (!parts.matches()) {
      throw new IOException(name + " is not \"service /pattern/\"");
    }
    var service = parts.group("service").strip();
    return new CustomMask(
        name,
        service.equals(ALL_SERVICES) ? null : service,
        parsePattern(parts.group("mask"), name));
  }

  private static Pattern parsePattern(String mask, String name) throws IOException {
    Pattern pattern;
    try {
      pattern = Pattern.compile(mask);
    } catch (PatternSyntaxException e) {
      var position = e.getIndex() < 0 ? "" : " at character " + (e.getIndex() + 1);
      throw new IOException(
          "%s is not a regular expression: %s%s".formatted(name, e.getDescription(), position), e);
    }
    if (pattern.matcher("").find()) { // such a pattern matches between any two characters
      throw new IOException(name + " has a pattern that matches the empty text");
    }
    return pattern;
  }

  @Override
  public void onLoaded(Path path, List<CustomMask> masks) {
    consumer.accept(masks);
    LOG.info("custom masks loaded: {} masks of {}", masks.size(), path);
  }
}
