package dev.sluice.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.Comparator;

/**
 * A folder to measure in, below {@code gateway-bench/target}: where temporary files lie there may
 * be no disk, and to make something durable costs nothing. What fails leaves it there, with the
 * logs that say why.
 */
public final class Workplace {
  private static final Path TARGET = Path.of("gateway-bench", "target");

  private Workplace() {}

  /** An empty one. */
  public static Path make() throws IOException {
    return Files.createTempDirectory(Files.createDirectories(TARGET), "work").toAbsolutePath();
  }

  public static void delete(Path folder) throws IOException {
    try (var files = Files.walk(folder)) {
      for (var file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }

  /** On what the figures depend. */
  static String machine(Path folder) throws IOException {
    return "%d cores, Java %s, %s, %s"
        .formatted(
            Runtime.getRuntime().availableProcessors(),
            System.getProperty("java.version"),
            Files.getFileStore(folder).type(),
            LocalDate.now());
  }
}
