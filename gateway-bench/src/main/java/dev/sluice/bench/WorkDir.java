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
  private static final double IDLE_CORE_SHARE = 0.1;

  /** The index of a field in the first line of {@code /proc/stat}. */
  private static final int IDLE_FIELD = 4;

  private static final int IOWAIT_FIELD = 5;

  /** The CPU time that the host gave to other machines. */
  private static final int STEAL_FIELD = 8;

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

  /**
   * Waits until the machine is nearly idle, at most two minutes. Otherwise the next measurement
   * would include work of the one before, such as ClickHouse's merges.
   */
  static void awaitIdle() throws IOException, InterruptedException {
    double idleSeconds = IDLE_CORE_SHARE * Runtime.getRuntime().availableProcessors();
    double before = busySeconds();
    for (int second = 0; second < 120; second++) {
      Thread.sleep(1_000);
      double now = busySeconds();
      if (now - before < idleSeconds) {
        return;
      }
      before = now;
    }
  }

  /**
   * Returns the busy seconds of all cores since the start of the machine, without idle time and
   * without waits for a disk or the host.
   */
  static double busySeconds() throws IOException {
    var times = Files.readAllLines(Path.of("/proc/stat")).getFirst().split(" +", -1);
    double ticks = 0;
    for (int i = 1; i < times.length; i++) {
      ticks +=
          i == IDLE_FIELD || i == IOWAIT_FIELD || i == STEAL_FIELD
              ? 0
              : Double.parseDouble(times[i]);
    }
    return ticks / ProcessStats.TICKS_PER_SECOND;
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
