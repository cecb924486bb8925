package dev.sluice.engines;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Of an engine, as far as it decides anything. */
record Version(int major, int minor) implements Comparable<Version> {

  private static final Pattern NUMBERS = Pattern.compile("\\b(\\d{1,6})\\.(\\d{1,6})");

  private static final int TIMEOUT_SECONDS = 20;

  /**
   * The first two numbers with a dot between them.
   *
   * @throws IllegalArgumentException when there are none
   */
  static Version parse(String text) {
    Matcher matcher = NUMBERS.matcher(text);
    if (!matcher.find()) {
      throw new IllegalArgumentException("no version in '" + text + "'");
    }
    return new Version(Integer.parseInt(matcher.group(1)), Integer.parseInt(matcher.group(2)));
  }

  /** What a program says about itself, or null when it does not run here or says something else. */
  static @Nullable Version detect(
      SystemEnvironment environment, Path program, String... arguments) {
    List<String> command = new ArrayList<>();
    command.add(program.toString());
    command.addAll(List.of(arguments));
    try {
      ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
      environment.restrict(builder.environment());
      Process process = builder.start();
      try {
        process.getOutputStream().close();
        // a line fits into the pipe, so it need not be read before the end
        if (!process.waitFor(TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
          return null;
        }
        return parse(
            new String(process.getInputStream().readNBytes(1000), StandardCharsets.ISO_8859_1));
      } finally {
        process.destroyForcibly();
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      return null;
    } catch (IOException | IllegalArgumentException _) {
      return null;
    }
  }

  @Override
  public int compareTo(Version other) {
    return major != other.major
        ? Integer.compare(major, other.major)
        : Integer.compare(minor, other.minor);
  }

  @Override
  public String toString() {
    return major + "." + minor;
  }
}
