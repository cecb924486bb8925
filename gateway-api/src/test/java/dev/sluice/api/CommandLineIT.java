package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.tools.SluiceCommand;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the commands of {@code bin/sluice} with real gateways, apart from {@code eval}. */
class CommandLineIT {
  private final String service = Gateway.service("command");
  private final ByteArrayOutputStream output = new ByteArrayOutputStream();

  @TempDir Path folder;

  private int run(String input, Object... arguments) {
    var stream = new PrintStream(output, true, UTF_8);
    return SluiceCommand.run(
        Stream.of(arguments).map(Object::toString).toList(),
        new ByteArrayInputStream(input.getBytes(UTF_8)),
        stream,
        stream);
  }

  private String output() {
    return output.toString(UTF_8);
  }

  @Test
  void send_lines_areStored() {
    var gateway = Gateway.shared();
    var lines = "WARN disk is full\nsystem boots\n";

    assertThat(run(lines, "send", "--service", service, "--url", gateway.http("/")))
        .as(output())
        .isZero();

    assertThat(gateway.awaitStored(service, 2))
        .extracting(row -> row.get("SeverityText").asString() + "|" + row.get("Body").asString())
        .containsExactlyInAnyOrder("WARN|WARN disk is full", "INFO|system boots");
  }

  @Test
  void send_rejectedLine_isReported() {
    var gateway = Gateway.shared();
    var lines = "{\"service\":\"%s\",\"body\":\"x\"}%n{\"severity\":\"nope\"}".formatted(service);

    assertThat(run(lines, "send", "--json", "--url", gateway.http("/"))).isEqualTo(1);

    assertThat(output())
        .contains("stdin:2: rejected: severity is unknown", "2 lines sent, 1 accepted");
    assertThat(gateway.awaitStored(service, 1)).hasSize(1);
  }

  @Test
  void walCat_runningGateway_printsWhatItAccepted() {
    var gateway = Gateway.walOnly();
    var lines = IntStream.range(0, 5).mapToObj(i -> "ERROR card %d declined%n".formatted(i));
    assertThat(
            run(
                String.join("", lines.toList()),
                "send",
                "--service",
                service,
                "--url",
                gateway.http("/")))
        .as(output())
        .isZero();
    output.reset();

    assertThat(run("", "wal", "cat", gateway.walDirectory())).as(output()).isZero();

    assertThat(output().lines().filter(line -> line.contains(" " + service + " ")))
        .hasSize(5)
        .allMatch(line -> line.matches("\\S+Z ERROR \\S+ ERROR card \\d declined"));
  }

  @Test
  void demo_files_areFoundByQuery() throws Exception {
    var gateway = Gateway.shared();
    var file =
        Files.write(
            folder.resolve(service + ".log"),
            IntStream.range(0, 100).mapToObj(i -> "INFO request " + i + " done").toList());

    assertThat(
            run(
                "",
                "demo",
                file,
                "--url",
                gateway.http("/"),
                "--otlp-url",
                gateway.otlp("/"),
                "--management-url",
                gateway.management("/")))
        .as(output())
        .isZero();

    assertThat(output()).contains("100 lines sent, 100 found by query");
    assertThat(gateway.awaitStored(service, 100)).hasSize(100);
  }
}
