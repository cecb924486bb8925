package dev.sluice.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** What a process, without those it has started, has cost the machine, as Linux tells it. */
final class Watched {
  /** Of a second, in all that Linux tells of times. */
  static final double TICKS = 100;

  private static final int SECTOR = 512;
  private static final int PAGE = 4096;
  private static final Pattern PEAK = Pattern.compile("VmHWM:\\s+(\\d+) kB");
  private static final Pattern WRITTEN = Pattern.compile("(?m)^write_bytes: (\\d+)$");
  private static final Pattern WHOLE_DISK = Pattern.compile("(vd|sd|xvd)[a-z]|nvme\\d+n\\d+");

  private final long pid;

  Watched(long pid) {
    this.pid = pid;
  }

  /**
   * The counters of one moment.
   *
   * @param cpuSeconds of the process
   * @param writtenBytes by the process, to any disk
   * @param diskBytes written to all disks by anybody
   * @param diskBusySeconds of the disk that was busy longest
   */
  record Counters(
      long nanos,
      double cpuSeconds,
      long writtenBytes,
      long diskBytes,
      long diskOperations,
      double diskBusySeconds) {}

  Counters counters() throws IOException {
    var stat = Files.readString(Path.of("/proc/" + pid + "/stat"));
    var fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
    double cpu = (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) / TICKS;
    long bytes = 0;
    long operations = 0;
    double busy = 0;
    for (var line : Files.readAllLines(Path.of("/proc/diskstats"))) {
      var disk = line.strip().split("\\s+", -1);
      if (WHOLE_DISK.matcher(disk[2]).matches()) {
        operations += Long.parseLong(disk[7]);
        bytes += Long.parseLong(disk[9]) * SECTOR;
        busy = Math.max(busy, Long.parseLong(disk[12]) / 1e3);
      }
    }
    return new Counters(
        System.nanoTime(), cpu, number(WRITTEN, "/proc/" + pid + "/io"), bytes, operations, busy);
  }

  /** The most memory it has had, in MiB. */
  long peakMebibytes() throws IOException {
    return number(PEAK, "/proc/" + pid + "/status") / 1024;
  }

  /** Bytes of the files below a folder that lie in the cache of the system. */
  static long cachedBytes(Path folder) throws IOException, InterruptedException {
    long pages = 0;
    try (Stream<Path> files = Files.walk(folder)) {
      for (var file : files.filter(Files::isRegularFile).toList()) {
        var fincore =
            new ProcessBuilder("fincore", "--noheadings", "--output", "PAGES", file.toString())
                .start();
        var said = new String(fincore.getInputStream().readAllBytes()).strip();
        if (fincore.waitFor() == 0 && !said.isEmpty()) {
          pages += Long.parseLong(said);
        }
      }
    }
    return pages * PAGE;
  }

  static long bytes(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      long bytes = 0;
      for (var file : files.filter(Files::isRegularFile).toList()) {
        bytes += Files.size(file);
      }
      return bytes;
    }
  }

  private static long number(Pattern pattern, String file) throws IOException {
    var found = pattern.matcher(Files.readString(Path.of(file)));
    return found.find() ? Long.parseLong(found.group(1)) : 0;
  }
}
