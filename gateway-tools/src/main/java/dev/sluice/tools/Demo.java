package dev.sluice.tools;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;

/**
 * The program of {@code make demo}: sends the lines of files to a running gateway, half through the
 * OpenTelemetry SDK and half as NDJSON, waits until they can be queried, and prints the counts.
 *
 * <p>The exit status is 1 when fewer lines can be queried than were sent.
 */
public final class Demo {
  private static final Duration READ_TIMEOUT = Duration.ofSeconds(20);
  private static final int MAX_LINES = 20_000;

  private Demo() {}

  /**
   * Runs the demo and exits.
   *
   * @param arguments the paths of text files
   */
  public static void main(String[] arguments) throws IOException, InterruptedException {
    var gateway = new GatewayClient(address("SLUICE_URL", "http://localhost:8080"));
    var otlp = address("SLUICE_OTLP_URL", "http://localhost:4318");
    var management = address("SLUICE_MANAGEMENT_URL", "http://localhost:8081");
    if (!gateway.isReachable()) {
      System.err.println("No gateway responds at " + gateway.address() + "; start one: make run");
      System.exit(1);
    }
    var lines = read(arguments);
    if (lines.isEmpty()) {
      System.err.println("No lines to send; name a file: make demo LOGS=/var/log/syslog");
      System.exit(1);
    }

    var run = UUID.randomUUID().toString();
    var halves = new ArrayList<List<Line>>(List.of(new ArrayList<>(), new ArrayList<>()));
    for (int i = 0; i < lines.size(); i++) {
      halves.get(i % 2).add(lines.get(i));
    }
    long start = System.nanoTime();
    OtlpSender.send(otlp, run, halves.get(0));
    long sentOtlp = System.nanoTime();
    gateway.sendNdjson(run, halves.get(1));
    long sentNdjson = System.nanoTime();
    var found = awaitAll(gateway, run, lines.size());
    long readable = System.nanoTime();

    print(found);
    System.out.printf("%nDurations%n");
    printDuration("sent by the OpenTelemetry SDK", halves.get(0).size(), sentOtlp - start);
    printDuration("sent as NDJSON", halves.get(1).size(), sentNdjson - sentOtlp);
    printDuration("until all lines were queryable", lines.size(), readable - sentNdjson);
    new GatewayClient(management).metrics().forEach(line -> System.out.println("  " + line));
    int count = found.values().stream().mapToInt(Integer::intValue).sum();
    System.out.printf("%n%d lines sent, %d found by query%n", lines.size(), count);
    System.exit(count == lines.size() ? 0 : 1);
  }

  private static URI address(String variable, String defaultValue) {
    return URI.create(System.getenv().getOrDefault(variable, defaultValue));
  }

  private static List<Line> read(String[] files) throws IOException {
    var lines = new ArrayList<Line>();
    for (var file : files) {
      var path = Path.of(file);
      if (!Files.isReadable(path)) {
        System.err.println("cannot read " + path);
        continue;
      }
      System.out.println("reading " + path);
      lines.addAll(Line.read(path, MAX_LINES - lines.size()));
    }
    return lines;
  }

  private static Map<String, Integer> awaitAll(GatewayClient gateway, String run, int expected)
      throws IOException, InterruptedException {
    long deadline = System.nanoTime() + READ_TIMEOUT.toNanos();
    while (true) {
      var found = gateway.count(run);
      int count = found.values().stream().mapToInt(Integer::intValue).sum();
      if (count >= expected || System.nanoTime() > deadline) {
        return found;
      }
      Thread.sleep(Duration.ofMillis(200));
    }
  }

  private static void print(Map<String, Integer> found) {
    System.out.printf("%n%-40s %-10s %8s%n", "service", "severity", "logs");
    new TreeMap<>(found)
        .forEach(
            (key, count) -> {
              var parts = key.split("\t", -1);
              System.out.printf("%-40s %-10s %8d%n", parts[0], parts[1], count);
            });
  }

  private static void printDuration(String what, int logs, long nanos) {
    System.out.printf("  %-34s %8d logs %8.0f ms%n", what, logs, nanos / 1e6);
  }
}
