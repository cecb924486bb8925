package dev.sluice.tools;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.PrintStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.Callable;
import org.jspecify.annotations.NullUnmarked;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * {@code sluice demo}: sends the lines of files to a running gateway, half through the
 * OpenTelemetry SDK and half as NDJSON, waits until they can be queried, and prints the counts.
 */
@Command(
    name = "demo",
    header = "Sends the lines of files to a gateway and reads them back.",
    description = {
      "Half of the lines go through the OpenTelemetry SDK, half are sent as NDJSON. Prints counts"
          + " and durations.",
      "The status is 1 when fewer lines can be queried than were sent."
    })
@NullUnmarked // picocli fills the fields
final class DemoCommand implements Callable<Integer> {
  private static final Duration READ_TIMEOUT = Duration.ofSeconds(20);
  private static final int MAX_LINES = 20_000;

  private final PrintStream out;
  private final PrintStream err;

  @Parameters(
      paramLabel = "FILE",
      defaultValue = "data/gateway.log",
      description = "The files; by default ${DEFAULT-VALUE}, the log of the gateway.")
  private List<Path> files;

  @Option(
      names = "--url",
      paramLabel = "URL",
      defaultValue = "${env:SLUICE_URL:-http://127.0.0.1:8080}",
      description = "The gateway; by default $SLUICE_URL or http://127.0.0.1:8080.")
  private URI url;

  @Option(
      names = "--otlp-url",
      paramLabel = "URL",
      defaultValue = "${env:SLUICE_OTLP_URL:-http://127.0.0.1:4318}",
      description = "Its OTLP port; by default $SLUICE_OTLP_URL or http://127.0.0.1:4318.")
  private URI otlpUrl;

  @Option(
      names = "--management-url",
      paramLabel = "URL",
      defaultValue = "${env:SLUICE_MANAGEMENT_URL:-http://127.0.0.1:8081}",
      description =
          "Its management port; by default $SLUICE_MANAGEMENT_URL or" + " http://127.0.0.1:8081.")
  private URI managementUrl;

  DemoCommand(PrintStream out, PrintStream err) {
    this.out = out;
    this.err = err;
  }

  @Override
  public Integer call() throws IOException, InterruptedException, UsageException {
    var lines = read();
    if (lines.isEmpty()) {
      throw new UsageException("no lines to send; name a file: make demo LOGS=/var/log/syslog");
    }
    var gateway = new GatewayClient(url);
    var run = UUID.randomUUID().toString();
    var halves = new ArrayList<List<Line>>(List.of(new ArrayList<>(), new ArrayList<>()));
    for (int i = 0; i < lines.size(); i++) {
      halves.get(i % 2).add(lines.get(i));
    }
    long start = System.nanoTime();
    sendNdjson(gateway, run, halves.get(0));
    long sentNdjson = System.nanoTime();
    OtlpSender.send(otlpUrl, run, halves.get(1));
    long sentOtlp = System.nanoTime();
    var found = awaitAll(gateway, run, lines.size());
    long readable = System.nanoTime();

    print(found);
    out.printf("%nDurations%n");
    printDuration("sent as NDJSON", halves.get(0).size(), sentNdjson - start);
    printDuration("sent by the OpenTelemetry SDK", halves.get(1).size(), sentOtlp - sentNdjson);
    printDuration("until all lines were queryable", lines.size(), readable - sentOtlp);
    new GatewayClient(managementUrl).metrics().forEach(line -> out.println("  " + line));
    int count = found.values().stream().mapToInt(Integer::intValue).sum();
    out.printf("%n%d lines sent, %d found by query%n", lines.size(), count);
    return count == lines.size() ? 0 : 1;
  }

  private void sendNdjson(GatewayClient gateway, String run, List<Line> lines)
      throws IOException, InterruptedException {
    var sender = new BatchSender(gateway, err);
    for (int i = 0; i < lines.size(); i++) {
      var log = lines.get(i).toJson();
      log.putObject("attributes").put(OtlpSender.RUN.getKey(), run);
      sender.add("line", i + 1, log.toString().getBytes(UTF_8));
    }
    sender.flush();
  }

  private List<Line> read() throws IOException {
    var lines = new ArrayList<Line>();
    for (var file : files) {
      if (Files.isReadable(file)) {
        out.println("reading " + file);
        lines.addAll(Line.read(file, MAX_LINES - lines.size()));
      } else {
        err.println("cannot read " + file);
      }
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

  private void print(Map<String, Integer> found) {
    out.printf("%n%-40s %-10s %8s%n", "service", "severity", "logs");
    new TreeMap<>(found)
        .forEach(
            (key, count) -> {
              var parts = key.split("\t", -1);
              out.printf("%-40s %-10s %8d%n", parts[0], parts[1], count);
            });
  }

  private void printDuration(String what, int logs, long nanos) {
    out.printf("  %-34s %8d logs %8.0f ms%n", what, logs, nanos / 1e6);
  }
}
