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
 * How long does a search take among many logs of many templates, by how it asks and by how many ask
 * at the same time? And what does it cost to embed the templates?
 *
 * <p>Run by {@code make bench-search}; in the environment {@code LOGS}, 10,000,000 by default,
 * {@code TEMPLATES}, 5,000, {@code CLIENTS}, {@code 1 16}, {@code SECONDS_EACH}, 15, {@code
 * WARM_UP}, 60 by sixteen clients before the first, {@code SHARE} of a core that embeds the
 * templates, 1, {@code OUT}, a folder for the report, and {@code JAVA_OPTS}. Each client asks the
 * next question as soon as it has an answer; many of them also as people do, one question a second
 * each, whatever is answered. Questions come again after some thousand others; of an answer nothing
 * is remembered but the vectors and texts of templates. Ends with status 1 when a question is not
 * answered.
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
   * @param clients how many, and how they ask
   * @param gatewayMillis of CPU for each answer
   * @param clickHouseMillis the same of ClickHouse
   */
  private record Row(
      String title,
      String clients,
      LoadResult load,
      double gatewayMillis,
      double clickHouseMillis) {}

  /**
   * Of all templates.
   *
   * @param millis of the gateway's and ClickHouse's CPU for each
   */
  private record EmbeddingCost(double seconds, double millis, long bytes) {}

  public static void main(String[] arguments) throws Exception {
    Locale.setDefault(Locale.ROOT); // what is written is read by programs too
    System.exit(new SearchReport().run() ? 0 : 1);
  }

  /** Where it all runs, and what it runs on. */
  private record TestBed(
      BenchEngines engines, Gateway gateway, Path folder, List<String> values, Instant end) {}

  private boolean run() throws IOException, InterruptedException {
    var folder = WorkDir.create();
    System.out.println(WorkDir.describeMachine(folder));
    try (var engines = new BenchEngines(folder, "256mb")) {
      try (var _ = gateway(engines, folder)) {
        // makes the tables
      }
      var end = dataset.load(engines.database(), folder);
      System.out.printf("%,d logs are there%n", dataset.logs());
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
    if (complete) { // else what is there says why
      WorkDir.delete(folder);
    }
    return complete;
  }

  private void measure(int clients, TestBed testBed) throws IOException, InterruptedException {
    var all = List.of(QueryKind.values());
    for (boolean paced : clients == 1 ? List.of(false) : List.of(true, false)) {
      rows.add(measure("of all kinds", all, clients, paced, seconds, testBed));
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
    var watched = List.of(gateway.processStats(), engines.clickHouseStats());
    long begun = System.nanoTime();
    double before = cpuSeconds(watched);
    var sql =
        """
        SELECT count() FROM log_templates WHERE TemplateId NOT IN (
          SELECT TemplateId FROM %s)"""
            .formatted(VECTOR_TABLE);
    while (engines.database().queryLong("EXISTS TABLE " + VECTOR_TABLE) == 0
        || engines.database().queryLong(sql) > 0) {
      if (System.nanoTime() - begun > EMBEDDING_TIMEOUT.toNanos()) {
        throw new IOException("there are templates without vectors");
      }
      Thread.sleep(500);
    }
    long templates =
        engines.database().queryLong("SELECT uniqExact(TemplateId) FROM " + VECTOR_TABLE);
    return new EmbeddingCost(
        (System.nanoTime() - begun) / 1e9,
        (cpuSeconds(watched) - before) * 1e3 / templates,
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
   * @param paced each client asks once a second, and not as soon as it has an answer
   */
  private Row measure(
      String title, List<QueryKind> kinds, int clients, boolean paced, int seconds, TestBed testBed)
      throws IOException, InterruptedException {
    round++;
    var questions = TemplateDataset.queryBodies(kinds, round, testBed.values, testBed.end);
    var source = questions.iterator();
    var url = "http://127.0.0.1:" + testBed.gateway.port() + "/api/v1/logs/search";
    var generator =
        paced
            ? new Vegeta(
                RequestBodies.writeVegetaTargets(
                    testBed.folder, url, JSON, source::next, questions.size()),
                clients)
            : new Wrk(
                url,
                RequestBodies.writeBodies(testBed.folder, source::next, questions.size()),
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
            paced ? clients + ", once a second" : String.valueOf(clients),
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
            "questions",
            "clients",
            "answers/s",
            "p50 ms",
            "p95 ms",
            "p99 ms",
            "gateway, ms of CPU",
            "ClickHouse, ms of CPU",
            "not answered");
    var lines = new ArrayList<List<String>>();
    lines.add(head);
    lines.add(head.stream().map(_ -> "---").toList());
    rows.forEach(row -> lines.add(cells(row)));
    var table = new StringBuilder();
    lines.forEach(line -> table.append("| ").append(String.join(" | ", line)).append(" |\n"));
    return """
        # Searching

        Written by `make bench-search`: %,d logs of an hour and %,d templates on the embedded engines, all on the machine of the
        load generator (%s). After %d s of warming up by sixteen clients, each client asks the next question as soon as it has
        an answer, or, where it is said, once a second, and then its time counts from when the question was due; answers have ten
        templates with counts, sparkline and newest log.

        %s; gateway %s, %s; %s.

        %s
        All templates were embedded in %.0f s by a process whose share of a core was %s, at %.1f ms of CPU each, the gateway's start and
        ClickHouse's part among it; their vectors are %,d bytes each. The gateway's resident memory is %d MiB, %d MiB at most.
        """
        .formatted(
            dataset.logs(),
            dataset.templates(),
            Environment.text("GENERATORS", "wrk"),
            warmUp,
            WorkDir.describeMachine(testBed.folder),
            Environment.text("COMMIT", "not known"),
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
