package dev.sluice.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.Comparator;
import java.util.regex.Pattern;

/**
 * A folder to measure in, below {@code gateway-bench/target}: where temporary files lie there may
 * be no disk, and to make something durable costs nothing. What fails leaves it there, with the
 * logs that say why.
 */
public final class WorkDir {
  private static final Path TARGET = Path.of("gateway-bench", "target");
  private static final double IDLE_CORE_SHARE = 0.1;

  /** Places in the first line of {@code /proc/stat}. */
  private static final int IDLE_FIELD = 4;

  private static final int IOWAIT_FIELD = 5;

  /** Given to other machines by the host. */
  private static final int STEAL_FIELD = 8;

  private WorkDir() {}

  /** An empty one. */
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
   * Returns once the machine has next to nothing to do, such as ClickHouse's merges of what was
   * stored before, which would be paid by what is measured next; or after two minutes.
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

  /** Of all cores since the machine started: neither idle, nor waiting for a disk or the host. */
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

  /** On what the figures depend. */
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
