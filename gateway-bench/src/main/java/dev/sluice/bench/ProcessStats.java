package dev.sluice.bench;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.LongFunction;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * What a process has cost the machine, with all that it has started but those which are watched by
 * themselves: embedded engines are the gateway's children, and what they cost is not the gateway's.
 */
final class ProcessStats {
  /** Of a second, in all that Linux tells of times. */
  static final double TICKS_PER_SECOND = 100;

  private static final int SECTOR_BYTES = 512;
  private static final int PAGE_BYTES = 4096;
  private static final Pattern PEAK = Pattern.compile("VmHWM:\\s+(\\d+) kB");
  private static final Pattern RESIDENT = Pattern.compile("VmRSS:\\s+(\\d+) kB");
  private static final Pattern WRITTEN = Pattern.compile("(?m)^write_bytes: (\\d+)$");
  private static final Pattern WHOLE_DISK = Pattern.compile("(vd|sd|xvd)[a-z]|nvme\\d+n\\d+");

  private final long pid;
  private final Set<Long> excludedPids;

  /**
   * @param excludedPids that are left out, with all that they have started
   */
  ProcessStats(long pid, Set<Long> excludedPids) {
    this.pid = pid;
    this.excludedPids = excludedPids;
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
    long written = 0;
    for (long each : pids()) {
      written += readNumber(WRITTEN, "/proc/" + each + "/io");
    }
    long bytes = 0;
    long operations = 0;
    double busy = 0;
    for (var line : Files.readAllLines(Path.of("/proc/diskstats"))) {
      var disk = line.strip().split("\\s+", -1);
      if (WHOLE_DISK.matcher(disk[2]).matches()) {
        operations += Long.parseLong(disk[7]);
        bytes += Long.parseLong(disk[9]) * SECTOR_BYTES;
        busy = Math.max(busy, Long.parseLong(disk[12]) / 1e3);
      }
    }
    return new Counters(System.nanoTime(), cpuSeconds(), written, bytes, operations, busy);
  }

  /**
   * With what those have used that it has started and seen end: else a child that Redis forks to
   * rewrite its file would be counted while it lives, and then taken back.
   */
  double cpuSeconds() throws IOException {
    double seconds = 0;
    for (long each : pids()) {
      var stat = Path.of("/proc/" + each + "/stat");
      seconds += readCpuSeconds(stat, 11) + readCpuSeconds(stat, 13);
    }
    return seconds;
  }

  /** Of the programs that this process has started and seen end. */
  static double cpuSecondsOfExitedChildren() throws IOException {
    return readCpuSeconds(Path.of("/proc/self/stat"), 13);
  }

  /** The most memory that each has had, added up, in MiB. */
  long peakMebibytes() throws IOException {
    return mebibytes(PEAK);
  }

  /** The memory they have now, in MiB. */
  long residentMebibytes() throws IOException {
    return mebibytes(RESIDENT);
  }

  private long mebibytes(Pattern pattern) throws IOException {
    long kilobytes = 0;
    for (long each : pids()) {
      kilobytes += readNumber(pattern, "/proc/" + each + "/status");
    }
    return kilobytes / 1024;
  }

  private List<Long> pids() {
    return processTree(
        pid,
        excludedPids,
        parent ->
            ProcessHandle.of(parent).stream()
                .flatMap(ProcessHandle::children)
                .map(ProcessHandle::pid)
                .toList());
  }

  /** A process and all below it, but the others and all below them. */
  static List<Long> processTree(
      long root, Set<Long> excludedPids, LongFunction<List<Long>> children) {
    var pids = new ArrayList<>(List.of(root));
    for (int i = 0; i < pids.size(); i++) {
      for (var child : children.apply(pids.get(i))) {
        if (!excludedPids.contains(child)) {
          pids.add(child);
        }
      }
    }
    return pids;
  }

  /** Bytes of the files below a folder that lie in the cache of the system. */
  static long cachedBytes(Path folder) throws IOException, InterruptedException {
    long pages = 0;
    try (Stream<Path> files = Files.walk(folder)) {
      for (var file : files.filter(Files::isRegularFile).toList()) {
        var fincore =
            new ProcessBuilder("fincore", "--noheadings", "--output", "PAGES", file.toString())
                .start();
        var output = new String(fincore.getInputStream().readAllBytes(), US_ASCII).strip();
        if (fincore.waitFor() == 0 && !output.isEmpty()) {
          pages += Long.parseLong(output);
        }
      }
    }
    return pages * PAGE_BYTES;
  }

  static long totalBytes(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      long bytes = 0;
      for (var file : files.filter(Files::isRegularFile).toList()) {
        bytes += Files.size(file);
      }
      return bytes;
    }
  }

  /** Seconds in user and system mode, from two fields after the name, which may hold anything. */
  private static double readCpuSeconds(Path stat, int first) throws IOException {
    var line = Files.readString(stat);
    var fields = line.substring(line.lastIndexOf(')') + 2).split(" ", -1);
    return (Long.parseLong(fields[first]) + Long.parseLong(fields[first + 1])) / TICKS_PER_SECOND;
  }

  private static long readNumber(Pattern pattern, String file) throws IOException {
    var found = pattern.matcher(Files.readString(Path.of(file)));
    return found.find() ? Long.parseLong(found.group(1)) : 0;
  }
}
