package dev.sluice.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * The logging report: the machine's cost of events that a gateway keeps in its write-ahead log,
 * compared with the same events logged to a file by Logback at level info, which drops nine of ten,
 * and at level debug. The gateway has no Redis and delivers nothing, because a log file is not
 * delivered either. Each variant receives the same number of events per second; events that it
 * cannot accept are missing in the measured rate. Written bytes are those of the process; the disk
 * figures are those of all processes.
 *
 * <p>Run by {@code make bench-logging}. Environment variables: {@code EVENTS} per second, 20,000 by
 * default, and {@code SECONDS_EACH}, 30.
 */
public final class LoggingReport {
  private static final int LOGS = 500;
  private static final int BODIES = 400;
  private static final int CONNECTIONS = 4;
  private static final String LINE = "%-22s %8s %8s %9s %10s %10s %10s %10s %8s %7s%n";

  private LoggingReport() {}

  public static void main(String[] arguments) throws Exception {
    int events = Integer.parseInt(System.getenv().getOrDefault("EVENTS", "20000"));
    int seconds = Integer.parseInt(System.getenv().getOrDefault("SECONDS_EACH", "30"));
    var folder = WorkDir.create();
    System.out.println(WorkDir.describeMachine(folder));
    System.out.printf("%d events per second for %d s, one in ten at level info%n", events, seconds);
    System.out.printf(
        LINE,
        "",
        "events/s",
        "CPU %",
        "memory MB",
        "files MB",
        "cached MB",
        "written MB",
        "disk MB",
        "writes/s",
        "busy %");
    runPlainLogging("Logback, info", folder.resolve("info"), "INFO", events, seconds);
    runPlainLogging("Logback, debug", folder.resolve("debug"), "DEBUG", events, seconds);
    runGateway("Sluice, accepted", folder.resolve("accepted"), "accepted", events, seconds);
    runGateway("Sluice, durable", folder.resolve("durable"), "durable", events, seconds);
    var list = Files.writeString(folder.resolve("list"), Events.INFO_MESSAGE + "\n");
    runGateway(
        "Sluice, filtered",
        folder.resolve("filtered"),
        "durable",
        events,
        seconds,
        "--sluice.filter.allowlist-file=" + list);
    WorkDir.delete(folder);
  }

  private static void runPlainLogging(
      String name, Path folder, String level, int events, int seconds)
      throws IOException, InterruptedException {
    Files.createDirectories(folder);
    var process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx1g",
                "-XX:+UseParallelGC",
                "-cp",
                System.getProperty("java.class.path"),
                PlainLogging.class.getName(),
                folder.resolve("plain.log").toString(),
                level,
                Integer.toString(events),
                Integer.toString(seconds + 5))
            .inheritIO()
            .start();
    try {
      Thread.sleep(3_000); // until the process has started
      var processStats = new ProcessStats(process.pid(), Set.of());
      var before = processStats.counters();
      Thread.sleep(seconds * 1_000L);
      print(name, events, processStats, before, folder);
    } finally {
      process.destroy();
      process.waitFor();
    }
  }

  private static void runGateway(
      String name, Path folder, String level, int events, int seconds, String... settings)
      throws IOException, InterruptedException {
    var all = new ArrayList<>(List.of(settings));
    all.add("--sluice.roles=ingest");
    // Redis is unreachable, so that all logs go to the WAL; no role of the gateway uses ClickHouse
    all.add("--sluice.redis.url=redis://127.0.0.1:1");
    all.add("--sluice.clickhouse.url=http://127.0.0.1:1");
    try (var gateway = new Gateway(folder, all.toArray(String[]::new))) {
      var sender = new Sender(gateway.port(), bodies(), "sluice-ack: " + level + "\r\n");
      double requests = (double) events / LOGS;
      var _ = sender.send(CONNECTIONS, 10, requests); // for the JIT
      var processStats = gateway.processStats();
      var before = processStats.counters();
      var sendResult = sender.send(CONNECTIONS, seconds, requests);
      print(
          name, sendResult.succeeded() * LOGS / sendResult.seconds(), processStats, before, folder);
    }
  }

  private static List<byte[]> bodies() {
    var bodies = new ArrayList<byte[]>();
    for (int i = 0; i < BODIES; i++) {
      bodies.add(Events.body((long) i * LOGS, LOGS));
    }
    return bodies;
  }

  private static void print(
      String name,
      double rate,
      ProcessStats processStats,
      ProcessStats.Counters before,
      Path folder)
      throws IOException, InterruptedException {
    var after = processStats.counters();
    if (ProcessStats.totalBytes(folder) == 0) {
      throw new IOException(name + " has written nothing");
    }
    double seconds = (after.nanos() - before.nanos()) / 1e9;
    System.out.printf(
        LINE,
        name,
        "%.0f".formatted(rate),
        "%.1f".formatted(100 * (after.cpuSeconds() - before.cpuSeconds()) / seconds),
        processStats.peakMebibytes(),
        ProcessStats.totalBytes(folder) >> 20,
        ProcessStats.cachedBytes(folder) >> 20,
        after.writtenBytes() - before.writtenBytes() >> 20,
        after.diskBytes() - before.diskBytes() >> 20,
        "%.0f".formatted((after.diskOperations() - before.diskOperations()) / seconds),
        "%.1f".formatted(100 * (after.diskBusySeconds() - before.diskBusySeconds()) / seconds));
  }
}
