package dev.sluice.tools;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.github.luben.zstd.Zstd;
import dev.sluice.tools.ScriptedGateway.ScriptedResponse;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class SluiceCommandTest {
  private static final JsonMapper JSON = new JsonMapper();

  @TempDir Path folder;

  private final ScriptedGateway gateway = new ScriptedGateway();
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final ByteArrayOutputStream err = new ByteArrayOutputStream();

  SluiceCommandTest() throws IOException {}

  @AfterEach
  void stop() {
    gateway.close();
  }

  private int run(Object... arguments) {
    return runWithInput("", arguments);
  }

  private int runWithInput(String input, Object... arguments) {
    return SluiceCommand.run(
        Stream.of(arguments).map(Object::toString).toList(),
        new ByteArrayInputStream(input.getBytes(UTF_8)),
        new PrintStream(out, true, UTF_8),
        new PrintStream(err, true, UTF_8));
  }

  private String out() {
    return out.toString(UTF_8);
  }

  private String err() {
    return err.toString(UTF_8);
  }

  private List<JsonNode> sentLogs() {
    return gateway.posts.stream().flatMap(String::lines).map(JSON::readTree).toList();
  }

  @Test
  void enginesPassword_generated_isPrinted() throws IOException {
    for (var file :
        List.of("clickhouse/reader-password", "clickhouse/password", "redis/password")) {
      Files.createDirectories(folder.resolve(file).getParent());
      Files.writeString(folder.resolve(file), "secret of " + file + "\n");
    }

    assertThat(run("engines", "password", "--data-dir", folder)).isZero();
    assertThat(run("engines", "password", "gateway", "--data-dir", folder)).isZero();
    assertThat(run("engines", "password", "redis", "--data-dir", folder)).isZero();

    assertThat(out().lines())
        .containsExactly(
            "secret of clickhouse/reader-password",
            "secret of clickhouse/password",
            "secret of redis/password");
  }

  @Test
  void enginesPassword_none_namesTheFile() {
    assertThat(run("engines", "password", "--data-dir", folder)).isOne();
    assertThat(run("engines", "password", "nobody", "--data-dir", folder)).isEqualTo(2);

    assertThat(out()).isEmpty();
    assertThat(err()).contains("no file " + folder.resolve("clickhouse/reader-password"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "send", "wal", "wal cat", "eval", "demo", "engines", "engines password"})
  void help_anyCommand_printsItsUsage(String command) {
    var arguments = Stream.concat(Arrays.stream(command.split(" ")), Stream.of("--help"));

    assertThat(run(arguments.filter(each -> !each.isEmpty()).toArray())).isZero();

    assertThat(out()).contains(("Usage: sluice " + command).strip());
    assertThat(err()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "nope",
        "wal",
        "wal cat",
        "eval",
        "eval logs",
        "send --nope",
        "send --url localhost:8080",
        "send missing.log",
        "wal cat missing",
        "demo missing.log"
      })
  void arguments_invalid_exitWith2AndNameTheReason(String arguments) {
    assertThat(run((Object[]) arguments.strip().split(" "))).isEqualTo(2);

    assertThat(err()).isNotBlank().doesNotContain("\tat ");
    assertThat(gateway.posts).isEmpty();
  }

  @Test
  void send_file_sendsItsLines() throws Exception {
    var file = Files.writeString(folder.resolve("shop.log"), "ERROR card declined\n\nok\n");

    assertThat(run("send", "--url", gateway.address(), file)).as(err()).isZero();

    assertThat(out()).isEqualTo("2 lines sent, 2 accepted\n");
    assertThat(sentLogs())
        .extracting(log -> log.get("service").asString() + "|" + log.get("severity").asString())
        .containsExactly("shop|ERROR", "shop|INFO");
    assertThat(sentLogs().getFirst().get("body").asString()).isEqualTo("ERROR card declined");
  }

  @Test
  void send_standardInput_isTheDefault() {
    assertThat(runWithInput("one\ntwo", "send", "--service=web", "--url", gateway.address()))
        .as(err())
        .isZero();

    assertThat(sentLogs())
        .extracting(log -> log.get("service").asString() + " " + log.get("body").asString())
        .containsExactly("web one", "web two");
  }

  @Test
  void send_json_keepsTheFields() {
    var log = "{\"service\":\"a\",\"body\":\"x\",\"attributes\":{\"n\":1}}";

    assertThat(runWithInput(log, "send", "--json", "--url", gateway.address())).isZero();

    assertThat(sentLogs()).containsExactly(JSON.readTree(log));
  }

  @Test
  void send_invalidJson_namesTheLine() {
    assertThat(runWithInput("\n[1]", "send", "--json", "--url", gateway.address())).isEqualTo(2);

    assertThat(err()).startsWith("stdin:2: is not a JSON object");
    assertThat(gateway.posts).isEmpty();
  }

  @Test
  void send_rejectedLine_isReportedAndExitsWith1() {
    gateway.script.add(
        new ScriptedResponse(
            202,
            "{\"accepted\":1,\"rejected\":"
                + "[{\"index\":1,\"field\":\"severity\",\"reason\":\"is unknown\"}]}"));
    var lines = "{\"body\":\"x\"}\n{\"severity\":\"nope\"}";

    assertThat(runWithInput(lines, "send", "--json", "--url", gateway.address())).isEqualTo(1);

    assertThat(err()).isEqualTo("stdin:2: rejected: severity is unknown\n");
    assertThat(out()).isEqualTo("2 lines sent, 1 accepted\n");
  }

  @ParameterizedTest
  @ValueSource(strings = {"send", "demo"})
  void send_noGateway_saysSo(String command) throws Exception {
    var file = Files.writeString(folder.resolve("x.log"), "x");
    gateway.close();

    assertThat(run(command, "--url", gateway.address(), file)).isEqualTo(1);

    assertThat(err()).startsWith("no gateway responds at " + gateway.address());
  }

  private static String walLine(int number, String body) {
    return """
        {"v":1,"append":"a","id":"%032x","resourceLogs":[{"resource":{"attributes":[{"key":"host.name",\
        "value":{"stringValue":"h"}},{"key":"service.name","value":{"stringValue":"web"}}]},"scopeLogs":[\
        {"logRecords":[{"timeUnixNano":"%d","severityText":"WARN","body":%s}]}]}]}
        """
        .formatted(number, 1_750_000_000_000_000_000L + number, body);
  }

  private static byte[] gzip(String text) throws IOException {
    var bytes = new ByteArrayOutputStream();
    try (var gzip = new GZIPOutputStream(bytes)) {
      gzip.write(text.getBytes(UTF_8));
    }
    return bytes.toByteArray();
  }

  private Path writeSegment(String name, byte[]... frames) throws IOException {
    var day = Files.createDirectories(folder.resolve("log.wal/node-a/2025-06-15"));
    var bytes = new ByteArrayOutputStream();
    for (var frame : frames) {
      bytes.writeBytes(frame);
    }
    Files.writeString(day.resolve(name.substring(0, 14) + ".idx"), "{}");
    return Files.write(day.resolve(name), bytes.toByteArray());
  }

  private static byte[] zstd(String text) {
    return Zstd.compress(text.getBytes(UTF_8));
  }

  @Test
  void walCat_directory_printsTheLogsOfAllSegmentsInOrder() throws Exception {
    writeSegment("seg-000002.wal.gz", gzip(walLine(3, "{\"intValue\":\"7\"}")));
    writeSegment(
        "seg-000001.wal.zst",
        zstd(walLine(1, "{\"stringValue\":\"one\\ntwo\\u001b[2J\"}")),
        zstd(walLine(2, "{\"stringValue\":\"three\"}")));

    assertThat(run("wal", "cat", folder.resolve("log.wal"))).as(err()).isZero();

    assertThat(out())
        .isEqualTo(
            """
            2025-06-15T15:06:40.000000001Z WARN  web one\\ntwo\\u001b[2J
            2025-06-15T15:06:40.000000002Z WARN  web three
            2025-06-15T15:06:40.000000003Z WARN  web {"intValue":"7"}
            """);
  }

  @Test
  void walCat_controlCharactersOfAClient_areEscapedInEachColumn() throws Exception {
    var line =
        walLine(1, "{\"stringValue\":\"b\u007f\"}")
            .replace("\"WARN\"", "\"W\\u001b[2J\"")
            .replace("\"web\"", "\"w\u009b2J\\nx\"");
    var segment = writeSegment("seg-000001.wal.zst", zstd(line));

    assertThat(run("wal", "cat", segment)).as(err()).isZero();
    assertThat(run("wal", "cat", "--json", segment)).as(err()).isZero();

    assertThat(out())
        .isEqualTo(
            "2025-06-15T15:06:40.000000001Z W\\u001b[2J w\\u009b2J\\nx b\\u007f\n"
                + line.replace("\u007f", "\\u007f").replace("\u009b", "\\u009b"));
  }

  @Test
  void walCat_json_printsTheLinesAsTheyAre() throws Exception {
    var line = walLine(1, "{\"stringValue\":\"one\"}");
    var segment = writeSegment("seg-000001.wal.zst", zstd(line));

    assertThat(run("wal", "cat", "--json", segment)).isZero();

    assertThat(out()).isEqualTo(line);
  }

  @ParameterizedTest
  @ValueSource(strings = {"zst", "gz"})
  void walCat_truncatedFrame_printsTheFramesBeforeAndExitsWith1(String suffix) throws Exception {
    var first = walLine(1, "{\"stringValue\":\"one\"}");
    var second = walLine(2, "{\"stringValue\":\"two\"}");
    byte[] last = suffix.equals("gz") ? gzip(second) : zstd(second);
    writeSegment(
        "seg-000001.wal." + suffix,
        suffix.equals("gz") ? gzip(first) : zstd(first),
        Arrays.copyOf(last, last.length / 2));
    writeSegment("seg-000002.wal.zst", zstd(walLine(3, "{\"stringValue\":\"three\"}")));

    assertThat(run("wal", "cat", folder)).isEqualTo(1);

    assertThat(out()).contains("web one\n").contains("web three\n");
    assertThat(err()).contains("seg-000001.wal." + suffix + ": unreadable after 1 logs: ");
  }

  /** The size of the segment is more than an array can have. */
  @ParameterizedTest
  @ValueSource(strings = {"zst", "gz"})
  void walCat_segmentLargerThanAnyArray_printsItsFirstFrame(String suffix) throws Exception {
    var line = walLine(1, "{\"stringValue\":\"one\"}");
    var segment =
        writeSegment("seg-000001.wal." + suffix, suffix.equals("gz") ? gzip(line) : zstd(line));
    try (var file = new RandomAccessFile(segment.toFile(), "rw")) {
      file.setLength(3L << 30); // a hole, which takes no space on the disk
    }

    assertThat(run("wal", "cat", segment)).isEqualTo(suffix.equals("gz") ? 0 : 1);

    assertThat(out()).isEqualTo("2025-06-15T15:06:40.000000001Z WARN  web one\n");
  }

  @Test
  void walCat_framesOfManySizes_arePrinted() throws Exception {
    var random = new Random(1);
    var bodies = new ArrayList<String>();
    for (int size : new int[] {1, 700_000, 3_000_000, 1, 700_000, 400_000}) {
      var bytes = new byte[size / 2];
      random.nextBytes(bytes);
      bodies.add(HexFormat.of().formatHex(bytes));
    }
    writeSegment(
        "seg-000001.wal.zst",
        bodies.stream()
            .map(body -> zstd(walLine(1, "{\"stringValue\":\"" + body + "\"}")))
            .toArray(byte[][]::new));

    assertThat(run("wal", "cat", folder)).as(err()).isZero();

    assertThat(out().lines().map(line -> line.substring(line.lastIndexOf(' ') + 1)))
        .containsExactlyElementsOf(bodies);
  }

  @Test
  void walCat_noSegments_exitsWith2() {
    assertThat(run("wal", "cat", folder)).isEqualTo(2);

    assertThat(err()).contains("has no segment of a write-ahead log");
  }
}
