package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/**
 * Runs the examples of {@code docs/clients.md} unchanged, except for the ports. Examples in Python
 * and Go run when {@code sluice.clients} names the directory of their toolchains: {@code make
 * clients}.
 */
class ClientsIT {
  private static final Path PAGE = Path.of("../docs/clients.md");
  private static final Pattern EXAMPLE =
      Pattern.compile("<!-- example: (\\S+) -->\\n```(\\w+)\\n(.*?)```", Pattern.DOTALL);
  private static final Set<String> NEED_TOOLS = Set.of("python", "telemetrygen");

  private final Gateway gateway = Gateway.shared();
  private final Map<String, Example> examples = new LinkedHashMap<>();

  @TempDir Path folder;

  private record Example(String language, String code) {}

  ClientsIT() throws IOException {
    var found = EXAMPLE.matcher(Files.readString(PAGE));
    while (found.find()) {
      examples.put(found.group(1), new Example(found.group(2), pointToGateway(found.group(3))));
    }
  }

  /** Replaces the default ports by those of the gateway of this test. */
  private String pointToGateway(String code) {
    return code.replace("localhost:8080", "127.0.0.1:" + gateway.httpPort())
        .replace("localhost:4318", "127.0.0.1:" + gateway.otlpPort())
        .replace("localhost:4317", "127.0.0.1:" + gateway.grpcPort())
        .replace("\"localhost\", 4317", "\"127.0.0.1\", " + gateway.grpcPort());
  }

  @Test
  void page_everyCodeBlock_isARunExample() throws IOException {
    var blocks = Pattern.compile("^```\\w+$", Pattern.MULTILINE).matcher(Files.readString(PAGE));

    assertThat(examples.keySet())
        .containsExactlyInAnyOrder(
            "curl",
            "curl-read",
            "curl-once",
            "LogbackExample",
            "GrpcExample",
            "python",
            "telemetrygen")
        .hasSize((int) blocks.results().count());
  }

  @TestFactory
  Stream<DynamicTest> examples_run_theirLogsAreStored() {
    boolean tools = System.getProperty("sluice.clients") != null;
    return Stream.of("curl", "curl-once", "LogbackExample", "GrpcExample", "python", "telemetrygen")
        .filter(name -> tools || !NEED_TOOLS.contains(name))
        .map(name -> DynamicTest.dynamicTest(name, () -> check(name)));
  }

  private void check(String name) throws Exception {
    run(name);
    switch (name) {
      case "curl" -> {
        assertThat(bodies("curl-example", 5))
            .containsExactly(
                "a line", "another", "from OTLP", "from curl", "{\"what\":\"any value\"}");
        assertThat(run("curl-read")).contains("any value", "from curl", "a line", "\"total\":5");
      }
      case "curl-once" -> assertThat(bodies("curl-once-example", 1)).containsExactly("paid");
      case "LogbackExample" -> {
        var rows = gateway.awaitStored("logback-example", 2);
        assertThat(rows.stream().map(row -> row.get("SeverityText").asString()))
            .containsExactly("ERROR", "WARN");
        assertThat(rows.getFirst().get("LogAttributes").get("exception.message").asString())
            .isEqualTo("card declined");
        assertThat(rows.getLast().get("Body").asString()).isEqualTo("payment took 1500 ms");
        assertThat(rows.getLast().get("LogAttributes").get("order").asString()).isEqualTo("4711");
      }
      case "GrpcExample" -> assertThat(bodies("grpc-example", 1)).containsExactly("card declined");
      case "python" -> {
        var rows = gateway.awaitStored("python-example", 2);
        assertThat(rows.getFirst().get("LogAttributes").get("order").asString()).isEqualTo("4711");
        assertThat(rows.getLast().get("LogAttributes").get("exception.type").asString())
            .isEqualTo("ZeroDivisionError");
      }
      default -> assertThat(bodies("telemetrygen-example", 100)).containsOnly("from Go");
    }
  }

  private List<String> bodies(String service, int rows) {
    return gateway.awaitStored(service, rows).stream()
        .map((JsonNode row) -> row.get("Body").asString())
        .toList();
  }

  private String run(String name) throws Exception {
    var example = examples.get(name);
    return switch (example.language()) {
      case "java" -> java(name, example.code());
      case "python" -> command(List.of("bash", "-c", "exec python -c \"$0\"", example.code()));
      default -> command(List.of("bash", "-euo", "pipefail", "-c", example.code()));
    };
  }

  private String command(List<String> command) throws Exception {
    var output = folder.resolve("output");
    var builder = new ProcessBuilder(command).redirectErrorStream(true);
    var tools = System.getProperty("sluice.clients");
    if (tools != null) {
      builder.environment().merge("PATH", tools, (path, first) -> first + ":" + path);
    }
    var process = builder.redirectOutput(output.toFile()).start();
    try {
      assertThat(process.waitFor(60, TimeUnit.SECONDS)).as("the example exits").isTrue();
    } finally {
      process.destroyForcibly();
    }
    var text = Files.readString(output, UTF_8);
    assertThat(process.exitValue()).as(text).isZero();
    return text;
  }

  private String java(String name, String code) throws Exception {
    var source = Files.writeString(folder.resolve(name + ".java"), code);
    int result =
        ToolProvider.getSystemJavaCompiler()
            .run(null, null, null, "-proc:none", "-d", folder.toString(), source.toString());
    assertThat(result).as("the example compiles").isZero();
    try (var loader =
        new URLClassLoader(
            new URL[] {folder.toUri().toURL()}, Thread.currentThread().getContextClassLoader())) {
      loader.loadClass(name).getMethod("main", String[].class).invoke(null, (Object) new String[0]);
    } catch (InvocationTargetException e) {
      throw new AssertionError(e.getCause());
    }
    return "";
  }
}
