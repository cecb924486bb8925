package dev.sluice.api.boot;

import dev.sluice.core.templates.CustomMask;
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
 * Extra masks as a file: one mask a line, {@code service /pattern/}, or {@code * /pattern/} for all
 * services; lines that are blank or begin with {@code #} are none. They are applied in their order.
 *
 * <p>A service is what stands before the first slash that has white space before it, so it may have
 * spaces; the pattern goes from there to the last slash of the line, so it may have both.
 */
final class CustomMasksFile implements FileWatcher.Handler<List<CustomMask>> {
  static final int MAX_LINES = 1_000; // each is tried on each message whose form is new
  static final int MAX_BYTES = 1 << 20;
  static final int MAX_LINE_LENGTH = 1_000; // of a line: compiling nested groups takes stack

  private static final Logger LOG = LoggerFactory.getLogger(CustomMasksFile.class);
  private static final Pattern LINE = Pattern.compile("(?<service>.*?\\S)\\s+/(?<mask>.+)/\\s*");
  private static final String ALL_SERVICES = "*";

  private final Consumer<List<CustomMask>> consumer;

  private CustomMasksFile(Consumer<List<CustomMask>> consumer) {
    this.consumer = consumer;
  }

  /**
   * Reads the masks for the first time.
   *
   * @param consumer is given them now, and again whenever they change
   * @throws IllegalArgumentException when they cannot be used, naming the setting
   */
  static FileWatcher<List<CustomMask>> read(Path path, Consumer<List<CustomMask>> consumer) {
    return FileWatcher.read(path, new CustomMasksFile(consumer));
  }

  @Override
  public String setting() {
    return "sluice.templates.custom-masks-file";
  }

  @Override
  public String title() {
    return "the list of extra masks";
  }

  @Override
  public int maxLines() {
    return MAX_LINES;
  }

  @Override
  public int maxBytes() {
    return MAX_BYTES;
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
      throw new IOException("has more than " + MAX_LINE_LENGTH + " characters in " + name);
    }
    var parts = LINE.matcher(line);
    if (!parts.matches()) {
      throw new IOException("has no \"service /pattern/\" in " + name);
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
          "has no regular expression in %s: %s%s".formatted(name, e.getDescription(), position), e);
    }
    if (pattern.matcher("").find()) { // then it does between any two characters
      throw new IOException("has a pattern that matches no characters in " + name);
    }
    return pattern;
  }

  @Override
  public void onLoaded(Path path, List<CustomMask> masks) {
    consumer.accept(masks);
    LOG.info("extra masks of {} are in force: {}", path, masks.size());
  }
}
