package dev.sluice.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.LongFunction;
import java.util.regex.Pattern;

/**
 * The resource use of a process and its descendants, except those that are measured separately:
 * embedded engines are children of the gateway, and their cost is not the gateway's.
 */
final class ProcessStats {
  /** The clock ticks per second in the times of {@code /proc}. */
  static final double TICKS_PER_SECOND = 100;

  private static final Pattern PEAK = Pattern.compile("VmHWM:\\s+(\\d+) kB");
  private static final Pattern RESIDENT = Pattern.compile("VmRSS:\\s+(\\d+) kB");

  private final long pid;
  private final Set<Long> excludedPids;

  /**
   * Creates the statistics of a process.
   *
   * @param excludedPids the processes that are excluded with all their descendants
   */
  ProcessStats(long pid, Set<Long> excludedPids) {
    this.pid = pid;
    this.excludedPids = excludedPids;
  }

  /**
   * Returns the CPU seconds, including those of exited children. Without them, a child that Redis
   * forks to rewrite its file would count while it is alive, and its CPU would disappear at its
   * end.
   */
  double cpuSeconds() throws IOException {
    double seconds = 0;
    for (long each : pids()) {
      var stat = Path.of("/proc/" + each + "/stat");
      seconds += readCpuSeconds(stat, 11) + readCpuSeconds(stat, 13);
    }
    return seconds;
  }

  /** Returns the CPU seconds of the exited children of this process. */
  static double cpuSecondsOfExitedChildren() throws IOException {
    return readCpuSeconds(Path.of("/proc/self/stat"), 13);
  }

  /** Returns the sum of the peaks of resident memory, in MiB. */
  long peakMebibytes() throws IOException {
    return mebibytes(PEAK);
  }

  /** Returns the current resident memory, in MiB. */
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

  /**
   * Returns a process and its descendants, without the excluded processes and their descendants.
   */
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

  /**
   * Reads the seconds in user and system mode from two adjacent fields after the process name,
   * which can contain any character.
   */
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
