package dev.sluice.bench;

import dev.sluice.bench.TemplateDataset.QueryKind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;

/**
 * The search report: search latency over many logs and templates, by kind of query and by number of
 * clients, and the cost of embedding the templates.
 *
 * <p>Run by {@code make bench-search}. Environment variables: {@code LOGS}, 10,000,000 by default;
 * {@code TEMPLATES}, 5,000; {@code CLIENTS}, {@code 1 16}; {@code SECONDS_EACH}, 15; {@code
 * WARM_UP}, 60 seconds with sixteen clients before the first measurement; {@code SHARE}, the share
 * of a core that embeds the templates, 1; {@code OUT}, the directory of the report; and {@code
 * JAVA_OPTS}. Each client sends the next query when it has a response. More than one client also
 * send as people do: one query per second each, whether earlier queries have a response or not.
 * Queries repeat after some thousand others; the gateway caches no results, only the vectors and
 * texts of templates. The exit status is 1 when a query has no success response.
 */
public final class SearchReport {
  private static final int WARM_UP_CLIENTS = 16;
  private static final String JSON = "application/json";
  private static final Pattern CLIENTS = Pattern.compile("\\s+");
  private static final Duration EMBEDDING_TIMEOUT = Duration.ofMinutes(10);
  private static final String VECTOR_TABLE = "log_template_vectors_384";

  private final int seconds = Environment.number("SECONDS_EACH", 15);
  private final int warmUp = Environment.number("WARM_UP", 60);
  private final String cpuShare = Environment.text("SHARE", "1");
  private final TemplateDataset dataset =
      new TemplateDataset(
          Environment.number("TEMPLATES", 5_000), Environment.number("LOGS", 10_000_000));
  private final List<Row> rows = new ArrayList<>();
  private int round;

  private SearchReport() {}

  /**
   * One row of the table.
   *
   * @param clients the number of clients, and their pace
   * @param gatewayMillis milliseconds of CPU of the gateway per response
   * @param clickHouseMillis milliseconds of CPU of ClickHouse per response
   */
  private record Row(
      String title,
      String clients,
      LoadResult load,
      double gatewayMillis,
      double clickHouseMillis) {}

  /**
   * The cost of embedding all templates.
   *
   * @param seconds the duration
   * @param millis milliseconds of CPU of gateway and ClickHouse per template
   * @param bytes the average size of the vectors of a template
   */
  private record EmbeddingCost(double seconds, double millis, long bytes) {}

  public static void main(String[] arguments) throws Exception {
    Locale.setDefault(Locale.ROOT); // programs parse the report too
    System.exit(new SearchReport().run() ? 0 : 1);
  }

  /** The engines, the gateway and the data of a run. */
  private record TestBed(
      BenchEngines engines, Gateway gateway, Path folder, List<String> values, Instant end) {}

  private boolean run() throws IOException, InterruptedException {
    var folder = WorkDir.create();
    System.out.println(WorkDir.describeMachine(folder));
    try (var engines = new BenchEngines(folder, "256mb")) {
      try (var _ = gateway(engines, folder)) {
        // creates the tables
      }
      var end = dataset.load(engines.database(), folder);
      System.out.printf("%,d logs are loaded%n", dataset.logs());
      try (var gateway = gateway(engines, folder)) {
        var embedding = measureEmbedding(engines, gateway);
        System.out.println(embedding);
        var testBed =
            new TestBed(engines, gateway, folder, dataset.values(engines.database()), end);
        var all = List.of(QueryKind.values());
        measure("warming up", all, WARM_UP_CLIENTS, false, warmUp, testBed);
        for (var clients : CLIENTS.split(Environment.text("CLIENTS", "1 16"))) {
          measure(Integer.parseInt(clients), testBed);
        }
        var text = text(testBed, embedding);
        System.out.println(text);
        var out = Environment.text("OUT", "");
        if (!out.isEmpty()) {
          Files.writeString(Files.createDirectories(Path.of(out)).resolve("search.md"), text);
        }
      }
    }
    boolean complete = rows.stream().allMatch(row -> row.load.failed() == 0);
    if (complete) { // otherwise the logs in it show the reason
      WorkDir.delete(folder);
    }
    return complete;
  }

  private void measure(int clients, TestBed testBed) throws IOException, InterruptedException {
    var all = List.of(QueryKind.values());
    for (boolean paced : clients == 1 ? List.of(false) : List.of(true, false)) {
      rows.add(measure("all kinds", all, clients, paced, seconds, testBed));
      for (var kind : QueryKind.values()) {
        rows.add(measure(kind.title, List.of(kind), clients, paced, seconds, testBed));
      }
    }
  }

  private Gateway gateway(BenchEngines engines, Path folder)
      throws IOException, InterruptedException {
    var settings = new ArrayList<>(List.of(engines.settings()));
    settings.add("--sluice.embeddings.cpu-share=" + cpuShare);
    return new Gateway(folder.resolve("gateway"), settings.toArray(String[]::new));
  }

  private static EmbeddingCost measureEmbedding(BenchEngines engines, Gateway gateway)
      throws IOException, InterruptedException {
    var processes = List.of(gateway.processStats(), engines.clickHouseStats());
    long startNanos = System.nanoTime();
    double before = cpuSeconds(processes);
    var sql =
        """
        SELECT count() FROM log_templates WHERE TemplateId NOT IN (
          SELECT TemplateId FROM %s)"""
            .formatted(VECTOR_TABLE);
    while (engines.database().queryLong("EXISTS TABLE " + VECTOR_TABLE) == 0
        || engines.database().queryLong(sql) > 0) {
      if (System.nanoTime() - startNanos > EMBEDDING_TIMEOUT.toNanos()) {
        throw new IOException("some templates have no vectors yet");
      }
      Thread.sleep(500);
    }
    long templates =
        engines.database().queryLong("SELECT uniqExact(TemplateId) FROM " + VECTOR_TABLE);
    return new EmbeddingCost(
        (System.nanoTime() - startNanos) / 1e9,
        (cpuSeconds(processes) - before) * 1e3 / templates,
        engines
            .database()
            .queryLong(
                "SELECT toUInt64(avg(length(Tokens) + 4 * length(Vector))) FROM " + VECTOR_TABLE));
  }

  private static double cpuSeconds(List<ProcessStats> processes) throws IOException {
    double sum = 0;
    for (var each : processes) {
      sum += each.cpuSeconds();
    }
    return sum;
  }

  /**
   * Measures queries of some kinds.
   *
   * @param paced whether each client sends one query per second instead of waiting for the response
   */
  private Row measure(
      String title, List<QueryKind> kinds, int clients, boolean paced, int seconds, TestBed testBed)
      throws IOException, InterruptedException {
    round++;
    var queries = TemplateDataset.queryBodies(kinds, round, testBed.values, testBed.end);
    var source = queries.iterator();
    var url = "http://127.0.0.1:" + testBed.gateway.port() + "/api/v1/logs/search";
    var generator =
        paced
            ? new Vegeta(
                RequestBodies.writeVegetaTargets(
                    testBed.folder, url, JSON, source::next, queries.size()),
                clients)
            : new Wrk(
                url,
                RequestBodies.writeBodies(testBed.folder, source::next, queries.size()),
                JSON,
                "",
                clients);
    var gateway = testBed.gateway.processStats();
    var clickHouse = testBed.engines.clickHouseStats();
    double gatewayBefore = gateway.cpuSeconds();
    double clickHouseBefore = clickHouse.cpuSeconds();
    var load = generator.send(seconds);
    var row =
        new Row(
            title,
            paced ? clients + ", one query per second each" : String.valueOf(clients),
            load,
            (gateway.cpuSeconds() - gatewayBefore) * 1e3 / load.succeeded(),
            (clickHouse.cpuSeconds() - clickHouseBefore) * 1e3 / load.succeeded());
    System.out.println(cells(row));
    return row;
  }

  private static List<String> cells(Row row) {
    return List.of(
        row.title,
        row.clients,
        "%.0f".formatted(row.load.succeeded() / row.load.seconds()),
        "%.1f".formatted(row.load.latency().p50()),
        "%.1f".formatted(row.load.latency().p95()),
        "%.1f".formatted(row.load.latency().p99()),
        "%.1f".formatted(row.gatewayMillis),
        "%.1f".formatted(row.clickHouseMillis),
        String.valueOf(row.load.failed()));
  }

  private String text(TestBed testBed, EmbeddingCost embedding)
      throws IOException, InterruptedException {
    var processStats = testBed.gateway.processStats();
    var head =
        List.of(
            "queries",
            "clients",
            "responses/s",
            "p50 ms",
            "p95 ms",
            "p99 ms",
            "gateway CPU ms",
            "ClickHouse CPU ms",
            "failed");
    var lines = new ArrayList<List<String>>();
    lines.add(head);
    lines.add(head.stream().map(_ -> "---").toList());
    rows.forEach(row -> lines.add(cells(row)));
    var table = new StringBuilder();
    lines.forEach(line -> table.append("| ").append(String.join(" | ", line)).append(" |\n"));
    return """
        # Search

        Written by `make bench-search`: %,d logs of one hour and %,d templates on the embedded engines. Gateway, engines and load
        generator (%s) share the machine. The warm-up takes %d s with sixteen clients.

        Each client sends its next query when it has a response. Where the table says so, each client sends one query per second
        instead, and latency counts from the moment when the query was due. A response has ten templates with counts, sparkline
        and newest log. CPU is in milliseconds per response.

        %s; gateway %s, %s; %s.

        %s
        The gateway embedded all templates in %.0f s with a CPU share of %s core, at %.1f ms of CPU per template, including the start
        of the gateway and ClickHouse's part. The vectors of a template have %,d bytes on average. The gateway's resident memory is
        %d MiB, at most %d MiB.
        """
        .formatted(
            dataset.logs(),
            dataset.templates(),
            Environment.text("GENERATORS", "wrk"),
            warmUp,
            WorkDir.describeMachine(testBed.folder),
            Environment.text("COMMIT", "unknown"),
            String.join(" ", JavaProcess.options()),
            testBed.engines.versions(),
            table,
            embedding.seconds,
            cpuShare,
            embedding.millis,
            embedding.bytes,
            processStats.residentMebibytes(),
            processStats.peakMebibytes());
  }
}
