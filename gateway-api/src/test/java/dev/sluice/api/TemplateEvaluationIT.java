package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.testkit.SharedEngines;
import dev.sluice.tools.SluiceCommand;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** Tests {@code sluice eval} with real gateways: one that is running, and one that it starts. */
@Timeout(180)
class TemplateEvaluationIT {
  private static final Pattern TEMPORARY_GATEWAY =
      Pattern.compile("temporary gateway at \\S+, data in (\\S+)");
  private static final int ROUNDS = 40;

  @TempDir Path folder;

  private final Gateway gateway = Gateway.shared();
  private final String service = Gateway.service("eval");
  private final ByteArrayOutputStream output = new ByteArrayOutputStream();
  private Path logs;
  private Path results;

  @BeforeEach
  void folders() throws IOException {
    logs = Files.createDirectory(folder.resolve("logs"));
    results = folder.resolve("results");
  }

  /** Returns a log line with a time in 2005; the lines are not in time order. */
  private String line(int i, String truth, String body) {
    return """
        {"timestamp":"2005-%02d-%02dT04:47:44.000Z","severity":"WARN","service":"%s","host":"h-1",\
        "body":"%s","attributes":{"pid":"%d"},"template_id":"%s"}"""
        .formatted(12 - i % 12, 1 + i % 28, service, body, i, truth);
  }

  private List<String> lines() {
    var lines = new ArrayList<String>();
    for (int i = 0; i < ROUNDS; i++) {
      lines.add(line(i, "truth-of-disks", "disk sd" + i + " is full, " + i * 7 + " bytes wanted"));
      lines.add(line(i, "truth-of-mails", "mail for " + i + "@example.org was returned"));
      lines.add(line(i, "truth-of-boots", "system boots"));
    }
    return lines;
  }

  private int run(Object... options) {
    var stream = new PrintStream(output, true, UTF_8);
    var arguments = Stream.concat(Stream.of("eval", logs, results), Stream.of(options));
    return SluiceCommand.run(
        arguments.map(Object::toString).toList(), InputStream.nullInputStream(), stream, stream);
  }

  private List<JsonNode> results(String name) throws IOException {
    return Files.readAllLines(results.resolve(name)).stream().map(Gateway::json).toList();
  }

  /**
   * Asserts that lines have the same predicted template exactly when they have the same true
   * template.
   */
  private static void assertSameGroups(List<JsonNode> results) {
    var found = new HashMap<String, Set<String>>();
    for (var result : results) {
      found
          .computeIfAbsent(result.get("template_id").asString(), _ -> new HashSet<>())
          .add(result.get("predicted").asString());
    }
    assertThat(found.values()).allSatisfy(group -> assertThat(group).hasSize(1));
    assertThat(new HashSet<>(found.values())).hasSameSizeAs(found.keySet());
  }

  @Test
  void run_runningGateway_findsTheTemplates() throws Exception {
    Files.write(logs.resolve("a.ndjson"), lines());
    Files.write(logs.resolve("b.ndjson"), lines().reversed());

    assertThat(run("--url", gateway.http("/"))).as(output.toString(UTF_8)).isZero();

    assertThat(results("a.ndjson"))
        .extracting(result -> result.get("template_id").asString())
        .startsWith("truth-of-disks", "truth-of-mails", "truth-of-boots")
        .hasSize(3 * ROUNDS);
    assertSameGroups(
        Stream.of(results("a.ndjson"), results("b.ndjson")).flatMap(List::stream).toList());
  }

  @Test
  void run_storedLogs_matchTheFileWithoutGroundTruth() throws Exception {
    Files.write(logs.resolve("a.ndjson"), lines());
    double unknown = unknownFields();

    run("--url", gateway.http("/"));

    // this metric shows that the true template was not sent, as the gateway ignores unknown fields
    assertThat(unknownFields()).isEqualTo(unknown);
    var rows = gateway.storedRows(service);
    assertThat(rows).hasSize(3 * ROUNDS);
    var boot = rows.getLast();
    assertThat(boot.get("Body").asString()).isEqualTo("system boots");
    assertThat(boot.get("SeverityText").asString()).isEqualTo("WARN");
    assertThat(boot.get("ResourceAttributes").get("host.name").asString()).isEqualTo("h-1");
    assertThat(boot.get("LogAttributes").propertyNames())
        .containsExactlyInAnyOrder("pid", "eval.run", "eval.file", "eval.line");
    assertThat(boot.get("Timestamp").asLong())
        .isBetween(1_104_537_600_000_000_000L, 1_136_073_600_000_000_000L);
  }

  private double unknownFields() {
    double count = gateway.meter("sluice_ingest_unknown_fields_total{protocol=\"http-ndjson\"}");
    return Double.isNaN(count) ? 0 : count; // the counter is created with the first unknown field
  }

  private String queryLine(String id, String query) {
    return "{\"id\":\"%s\",\"query\":\"%s\",\"service\":\"%s\",\"relevant\":[]}"
        .formatted(id, query, service);
  }

  @Test
  void run_searchQueries_rankTrueTemplatesFirst() throws Exception {
    Files.write(logs.resolve("a.ndjson"), lines());
    var queries = folder.resolve("queries");
    Files.write(
        queries,
        List.of(queryLine("one", "storage exhausted"), queryLine("two", "bounced e-mail message")));

    assertThat(run("--queries", queries, "--url", gateway.http("/")))
        .as(output.toString(UTF_8))
        .isZero();

    assertThat(output.toString(UTF_8)).contains("2 queries sent");
    var answers = results("search.ndjson");
    assertThat(answers)
        .extracting(result -> result.get("id").asString())
        .containsExactly("one", "two");
    assertThat(answers)
        .extracting(result -> result.path("templates").path(0).asString(""))
        .containsExactly("truth-of-disks", "truth-of-mails");
    assertThat(answers)
        .allSatisfy(
            result ->
                assertThat(result.get("templates"))
                    .map(JsonNode::asString)
                    .containsExactlyInAnyOrder(
                        "truth-of-disks", "truth-of-mails", "truth-of-boots"));
  }

  @Test
  void run_emptySearchQuery_sendsNothing() throws Exception {
    Files.write(logs.resolve("a.ndjson"), lines());
    var queries = folder.resolve("queries");
    Files.write(queries, List.of(queryLine("one", "storage exhausted"), queryLine("two", "")));

    assertThat(run("--queries", queries, "--url", gateway.http("/"))).isEqualTo(2);

    assertThat(output.toString(UTF_8)).contains("queries:2: has no id or no query");
    assertThat(gateway.count(service)).isZero();
  }

  @Test
  void run_rejectedLine_isReportedAndHasNoTemplate() throws Exception {
    var lines = new ArrayList<>(lines());
    lines.add(1, line(1, "truth-of-mails", "x").replace("\"WARN\"", "\"nope\""));
    Files.write(logs.resolve("a.ndjson"), lines);

    assertThat(run("--url", gateway.http("/"))).isEqualTo(1);

    assertThat(output.toString(UTF_8))
        .contains(
            "a.ndjson:2: rejected: severity is unknown", "a.ndjson: 1 lines were not accepted");
    var results = results("a.ndjson");
    assertThat(results).hasSize(3 * ROUNDS + 1);
    assertThat(results.get(1).get("predicted").isNull()).isTrue();
    assertThat(results).filteredOn(result -> result.get("predicted").isNull()).hasSize(1);
  }

  @Test
  void run_noGateway_startsOneAndCleansUp() throws Exception {
    Files.write(logs.resolve("a.ndjson"), lines());

    assertThat(run(startGateway().toArray())).as(output.toString(UTF_8)).isZero();

    assertSameGroups(results("a.ndjson"));
    var own = TEMPORARY_GATEWAY.matcher(output.toString(UTF_8));
    assertThat(own.find()).isTrue();
    assertThat(Path.of(own.group(1))).doesNotExist();
    assertThat(ProcessHandle.current().descendants().map(process -> process.info().commandLine()))
        .noneMatch(command -> command.orElse("").contains(own.group(1)));
  }

  @Test
  void terminate_whileItsGatewayRuns_cleansUp() throws Exception {
    Files.write(logs.resolve("a.ndjson"), lines());
    var command =
        new ArrayList<>(List.of(java(), "-cp", classPath(), "dev.sluice.tools.SluiceCommand"));
    command.addAll(List.of("eval", logs.toString(), results.toString()));
    command.addAll(startGateway());
    command.add("--sluice.roles=ingest"); // no log is ever stored, so the evaluation waits
    var builder = new ProcessBuilder(command).redirectErrorStream(true);
    // a gateway with these variables would not become ready
    builder
        .environment()
        .putAll(Map.of("SLUICE_SPOOL", "redis", "SLUICE_REDIS_URL", "redis://x:1"));
    var tool = builder.start();
    try (BufferedReader out = tool.inputReader(UTF_8)) {
      var own = TEMPORARY_GATEWAY.matcher("");
      for (String line; !own.find() && (line = out.readLine()) != null; ) {
        own.reset(line);
      }
      var processes = tool.descendants().toList();
      assertThat(processes).isNotEmpty();

      tool.destroy();

      assertThat(tool.waitFor(60, TimeUnit.SECONDS)).isTrue();
      assertThat(Path.of(own.group(1))).doesNotExist();
      await()
          .atMost(Duration.ofSeconds(10))
          .until(() -> processes.stream().noneMatch(ProcessHandle::isAlive));
    } finally {
      tool.destroyForcibly();
    }
  }

  private static String java() {
    return Path.of(System.getProperty("java.home"), "bin", "java").toString();
  }

  private static String classPath() {
    return System.getProperty("java.class.path");
  }

  /** Returns the options for a gateway that has to be started, as none responds at the URL. */
  private static List<String> startGateway() {
    return List.of(
        "--url=http://127.0.0.1:1",
        "--",
        java(),
        "-Xmx512m",
        "--enable-native-access=ALL-UNNAMED",
        "--sun-misc-unsafe-memory-access=allow",
        "-cp",
        classPath(),
        "dev.sluice.api.config.GatewayApplication",
        "--sluice.engines.cache-dir=" + SharedEngines.cacheDirectory());
  }
}
