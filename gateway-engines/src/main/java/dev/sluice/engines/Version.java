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

/** The major and minor version number of an engine. */
record Version(int major, int minor) implements Comparable<Version> {

  private static final Pattern NUMBERS = Pattern.compile("\\b(\\d{1,6})\\.(\\d{1,6})");

  private static final int TIMEOUT_SECONDS = 20;

  /**
   * Returns the first two numbers in the text that are joined by a dot.
   *
   * @throws IllegalArgumentException when the text has no such numbers
   */
  static Version parse(String text) {
    Matcher matcher = NUMBERS.matcher(text);
    if (!matcher.find()) {
      throw new IllegalArgumentException("no version in '" + text + "'");
    }
    return new Version(Integer.parseInt(matcher.group(1)), Integer.parseInt(matcher.group(2)));
  }

  /**
   * Returns the version that a program prints, or null when the program does not run on this
   * machine, takes longer than {@value #TIMEOUT_SECONDS} seconds, or prints no version.
   */
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
        // a version line fits into the pipe buffer, so the output can be read after the end
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
