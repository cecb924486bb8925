package dev.sluice.tools;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.tools.ScriptedGateway.ScriptedResponse;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.json.JsonMapper;

class TemplateEvaluationTest {
  private static final JsonMapper JSON = new JsonMapper();

  @TempDir Path folder;

  private final ScriptedGateway gateway = new ScriptedGateway();
  private final ByteArrayOutputStream output = new ByteArrayOutputStream();

  TemplateEvaluationTest() throws IOException {}

  @AfterEach
  void stop() {
    gateway.close();
  }

  private Path write(String name, String... lines) throws IOException {
    return Files.write(
        Files.createDirectories(folder.resolve("logs")).resolve(name), List.of(lines));
  }

  private int run() {
    return run("--url", gateway.address(), folder.resolve("logs"), folder.resolve("out"));
  }

  private int run(Object... arguments) {
    var stream = new PrintStream(output, true, UTF_8);
    var texts = Stream.concat(Stream.of("eval"), Stream.of(arguments).map(Object::toString));
    return SluiceCommand.run(texts.toList(), InputStream.nullInputStream(), stream, stream);
  }

  private String output() {
    return output.toString(UTF_8);
  }

  private List<String> result(String name) throws IOException {
    return Files.readAllLines(folder.resolve("out").resolve(name));
  }

  @Test
  void run_files_writesALineForEachInOrder() throws Exception {
    write(
        "b.ndjson",
        "{\"template_id\":\"T/1\",\"body\":\"one 1\"}",
        "",
        "{\"template_id\":7,\"body\":\"two 1\",\"attributes\":{\"pid\":\"3\"}}",
        "{\"body\":\"one 2\",\"attributes\":null}");
    write("a.ndjson", "{\"template_id\":\"T/1\",\"body\":\"three\"}");

    assertThat(run()).as(output()).isZero();

    assertThat(result("b.ndjson"))
        .containsExactly(
            "{\"template_id\":\"T/1\",\"predicted\":\"one\"}",
            "{\"template_id\":7,\"predicted\":\"two\"}",
            "{\"template_id\":null,\"predicted\":\"one\"}");
    assertThat(result("a.ndjson"))
        .containsExactly("{\"template_id\":\"T/1\",\"predicted\":\"three\"}");
  }

  /** The results have the true templates of the lines, whatever the gateway calls its templates. */
  @Test
  void run_queries_haveTrueTemplatesAsResultsOnceAllHaveVectors() throws Exception {
    write(
        "a.ndjson",
        "{\"template_id\":\"T/1\",\"body\":\"one 1\"}",
        "{\"template_id\":\"T/2\",\"body\":\"one 2\"}",
        "{\"template_id\":\"T/2\",\"body\":\"one 3\"}",
        "{\"template_id\":\"T/3\",\"body\":\"two 1\"}");
    var queries =
        Files.write(
            folder.resolve("queries"),
            List.of(
                "{\"id\":\"q1\",\"query\":\"what of two\",\"kind\":\"symptom\"}",
                "{\"id\":\"q2\",\"query\":\"what of one\",\"service\":\"a\"}"));

    assertThat(
            run(
                "--queries",
                queries,
                "--url",
                gateway.address(),
                folder.resolve("logs"),
                folder.resolve("out")))
        .as(output())
        .isZero();

    assertThat(result("search.ndjson"))
        .containsExactly(
            "{\"id\":\"q1\",\"templates\":[\"T/3\",\"T/2\",\"T/1\"]}",
            "{\"id\":\"q2\",\"templates\":[\"T/2\",\"T/1\",\"T/3\"]}");
    assertThat(gateway.queries)
        .extracting(asked -> asked.path("query").asString())
        .containsExactly("anything", "anything", "what of two", "what of one");
    assertThat(gateway.queries.getLast().path("service").asString()).isEqualTo("a");
    assertThat(gateway.queries.get(2).has("service")).isFalse();
  }

  @Test
  void run_queryWithoutText_reportsTheLineAndSendsNothing() throws Exception {
    write("a.ndjson", "{\"body\":\"x\"}");
    var queries = Files.write(folder.resolve("queries"), List.of("{\"id\":\"q1\"}"));

    assertThat(
            run(
                "--queries",
                queries,
                "--url",
                gateway.address(),
                folder.resolve("logs"),
                folder.resolve("out")))
        .isEqualTo(2);

    assertThat(output()).startsWith(queries + ":1: has no id or no query");
    assertThat(gateway.posts).isEmpty();
  }

  @Test
  void run_logs_areSentUnchangedWithoutTheTrueTemplate() throws Exception {
    write(
        "a.ndjson",
        "{\"timestamp\":\"2005-12-04T04:47:44.000Z\",\"severity\":\"INFO\",\"host\":\"h\","
            + "\"attributes\":{\"pid\":\"3\"},\"body\":\"x\",\"template_id\":\"T/1\"}");

    run();

    var sent = JSON.readTree(gateway.posts.getFirst());
    assertThat(sent.propertyNames())
        .containsExactlyInAnyOrder("timestamp", "severity", "host", "attributes", "body");
    assertThat(sent.get("timestamp").asString()).isEqualTo("2005-12-04T04:47:44.000Z");
    var attributes = sent.get("attributes");
    assertThat(attributes.propertyNames())
        .containsExactlyInAnyOrder("pid", "eval.run", "eval.file", "eval.line");
    assertThat(attributes.get("eval.file").asString()).isEqualTo("a.ndjson");
    assertThat(attributes.get("eval.line").asString()).isEqualTo("1");
  }

  @Test
  void run_moreLinesThanOneRequest_areSentInSeveral() throws Exception {
    write(
        "a.ndjson",
        IntStream.rangeClosed(1, 1001)
            .mapToObj("{\"body\":\"x %d\"}"::formatted)
            .toArray(String[]::new));

    assertThat(run()).as(output()).isZero();

    assertThat(gateway.posts)
        .extracting(post -> post.lines().count())
        .containsExactly(500L, 500L, 1L);
    assertThat(gateway.keys).doesNotHaveDuplicates();
    assertThat(result("a.ndjson")).hasSize(1001);
  }

  @Test
  void run_unavailable_retriesUnderTheSameKey() throws Exception {
    write("a.ndjson", "{\"body\":\"x\"}");
    gateway.script.add(new ScriptedResponse(503, "{}"));
    gateway.script.add(new ScriptedResponse(409, "{}"));

    assertThat(run()).as(output()).isZero();

    assertThat(gateway.posts).hasSize(3).containsOnly(gateway.posts.getFirst());
    assertThat(gateway.keys).containsOnly(gateway.keys.getFirst());
  }

  @Test
  void run_allOfARequestRejected_reportsThemAndContinues() throws Exception {
    write("a.ndjson", "", "{\"severity\":\"nope\"}");
    write("b.ndjson", "{\"body\":\"x\"}");
    gateway.script.add(
        new ScriptedResponse(
            400,
            "{\"type\":\"/api/problems/nothing-accepted\","
                + "\"rejected\":[{\"index\":0,\"field\":\"severity\",\"reason\":\"is unknown\"}]}"));

    assertThat(run()).isEqualTo(1);

    assertThat(output())
        .contains("a.ndjson:2: rejected: severity is unknown", "not every line is stored");
    assertThat(result("a.ndjson")).containsExactly("{\"template_id\":null,\"predicted\":null}");
    assertThat(result("b.ndjson")).containsExactly("{\"template_id\":null,\"predicted\":\"x\"}");
  }

  @Test
  void run_manyRejected_reportsSomeAndCountsAll() throws Exception {
    write(
        "a.ndjson",
        IntStream.range(0, 30).mapToObj(_ -> "{\"severity\":\"nope\"}").toArray(String[]::new));
    gateway.script.add(
        new ScriptedResponse(
            400,
            IntStream.range(0, 30)
                .mapToObj(
                    "{\"index\":%d,\"field\":\"severity\",\"reason\":\"is unknown\"}"::formatted)
                .collect(
                    Collectors.joining(
                        ",",
                        "{\"type\":\"/api/problems/nothing-accepted\",\"rejected\":[",
                        "]}"))));

    assertThat(run()).isEqualTo(1);

    assertThat(output()).containsOnlyOnce("a.ndjson:20: rejected").doesNotContain("a.ndjson:21:");
    assertThat(output()).contains("30 lines were not accepted");
  }

  @Test
  void run_unexpectedStatus_failsWithIt() throws Exception {
    write("a.ndjson", "{\"body\":\"x\"}");
    gateway.script.add(new ScriptedResponse(404, "no resource has this path"));

    assertThat(run()).isEqualTo(1);

    assertThat(output()).contains("404: no resource has this path");
  }

  @Test
  void run_invalidJsonLine_reportsTheLineAndSendsNothing() throws Exception {
    write("a.ndjson", "{\"body\":\"x\"}");
    var bad = write("b.ndjson", "{\"body\":\"x\"}", "nope");

    assertThat(run()).isEqualTo(2);

    assertThat(output()).startsWith(bad + ":2: is not valid JSON");
    assertThat(gateway.posts).isEmpty();
  }

  @Test
  void run_invalidAttributes_reportsTheLineAndSendsNothing() throws Exception {
    var bad = write("a.ndjson", "{\"body\":\"x\",\"attributes\":[]}");

    assertThat(run()).isEqualTo(2);

    assertThat(output()).startsWith(bad + ":1: attributes is not an object");
    assertThat(gateway.posts).isEmpty();
  }

  @Test
  void run_noLogs_reportsTheReason() throws Exception {
    assertThat(run()).isEqualTo(2);

    assertThat(output()).startsWith(folder.resolve("logs") + " is not a directory");
  }

  @Test
  void run_sameDirectoryForResultsAndLogs_isRejected() throws Exception {
    var file = write("a.ndjson", "{\"body\":\"x\"}");

    assertThat(run(folder.resolve("logs"), folder.resolve("logs/../logs"))).isEqualTo(2);

    assertThat(output()).startsWith("OUT is LOGS");
    assertThat(file).hasContent("{\"body\":\"x\"}");
  }

  @Test
  void run_tooFewArguments_namesTheMissingOnes() throws Exception {
    assertThat(run(folder)).isEqualTo(2);

    assertThat(output()).startsWith("Missing required parameter: 'OUT'");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "localhost:8080",
        "127.0.0.1:8080",
        "http:",
        "http://",
        "httpx://host",
        "http://a b"
      })
  void run_invalidAddress_reportsIt(String address) throws Exception {
    write("a.ndjson", "{\"body\":\"x\"}");

    assertThat(run("--url", address, folder.resolve("logs"), folder.resolve("out"))).isEqualTo(2);

    assertThat(output())
        .startsWith("Invalid value for option '--url': '" + address + "'; it must be like http://");
  }

  @Test
  void run_commandThatStartsNoGateway_printsItsLogTailAndLeavesNothing() throws Exception {
    write("a.ndjson", "{\"body\":\"x\"}");
    var unusedAddress = gateway.address();
    gateway.close();

    assertThat(
            run(
                "--url",
                unusedAddress,
                folder.resolve("logs"),
                folder.resolve("out"),
                "--",
                "sh",
                "-c",
                "for a; do case $a in *wal.dir=*) echo I end in ${a#*=};; esac; done; exit 3",
                "sh"))
        .isEqualTo(1);

    var outputLines = output().lines().toList();
    assertThat(outputLines.getFirst()).startsWith("the gateway did not become ready");
    assertThat(Path.of(outputLines.get(1).substring("I end in ".length()))).doesNotExist();
  }
}
