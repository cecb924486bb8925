package dev.sluice.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.Comparator;
import java.util.regex.Pattern;

/**
 * The working directories of the reports and benchmarks, below {@code gateway-bench/target}. The
 * directory for temporary files may be in memory, where a sync costs nothing. A failed run keeps
 * its directory, with the logs that show the reason.
 */
public final class WorkDir {
  private static final Path TARGET = Path.of("gateway-bench", "target");

  private WorkDir() {}

  /** Creates an empty directory. */
  public static Path create() throws IOException {
    return Files.createTempDirectory(Files.createDirectories(TARGET), "work").toAbsolutePath();
  }

  public static void delete(Path folder) throws IOException {
    try (var files = Files.walk(folder)) {
      for (var file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }

  /** Returns the properties of the machine on which the figures depend. */
  static String describeMachine(Path folder) throws IOException {
    return "%d cores of %s, %s GB, Java %s, %s, %s"
        .formatted(
            Runtime.getRuntime().availableProcessors(),
            firstMatch("model name\\s*: (.*)", "/proc/cpuinfo"),
            Long.parseLong(firstMatch("MemTotal:\\s+(\\d+) kB", "/proc/meminfo")) >> 20,
            System.getProperty("java.version"),
            Files.getFileStore(folder).type(),
            LocalDate.now(ZoneId.systemDefault()));
  }

  private static String firstMatch(String pattern, String file) throws IOException {
    var found = Pattern.compile(pattern).matcher(Files.readString(Path.of(file)));
    return found.find() ? found.group(1) : "0";
  }
}
