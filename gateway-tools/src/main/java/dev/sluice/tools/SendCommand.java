package dev.sluice.tools;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.NullUnmarked;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** {@code sluice send}: sends the lines of files or of the standard input to a gateway. */
@Command(
    name = "send",
    header = "Sends lines as logs to a gateway.",
    description = {
      "Returns when the gateway has accepted all lines.",
      "A request to which the gateway is unavailable (503) is repeated for two minutes; its logs"
          + " are stored once."
    })
@NullUnmarked // picocli fills the fields
final class SendCommand implements Callable<Integer> {
  private static final Path STANDARD_INPUT = Path.of("-");
  private static final JsonMapper JSON = new JsonMapper();

  private final InputStream in;
  private final PrintStream out;
  private final PrintStream err;

  @Parameters(
      paramLabel = "FILE",
      description = "The files, in UTF-8; - is the standard input, which is also the default.")
  private List<Path> files = List.of(STANDARD_INPUT);

  @Option(
      names = "--url",
      paramLabel = "URL",
      defaultValue = "${env:SLUICE_URL:-http://127.0.0.1:8080}",
      description = "The gateway; by default $SLUICE_URL or http://127.0.0.1:8080.")
  private URI url;

  @Option(
      names = "--service",
      paramLabel = "NAME",
      description = "The service of plain lines; by default the name of the file.")
  private @Nullable String service;

  @Option(
      names = "--json",
      description =
          "Each line is a log as POST /api/v1/logs takes it. Without this option a line is the"
              + " body, and its severity is the first severity name near its start.")
  private boolean json;

  SendCommand(InputStream in, PrintStream out, PrintStream err) {
    this.in = in;
    this.out = out;
    this.err = err;
  }

  @Override
  public Integer call() throws IOException, InterruptedException, UsageException {
    for (var file : files) {
      if (!file.equals(STANDARD_INPUT) && (!Files.isReadable(file) || Files.isDirectory(file))) {
        throw new UsageException(file + " is not a readable file");
      }
    }
    var sender = new BatchSender(new GatewayClient(url), err);
    try {
      for (var file : files) {
        boolean standardInput = file.equals(STANDARD_INPUT);
        try (var lines = Line.reader(standardInput ? in : Files.newInputStream(file))) {
          send(standardInput ? "stdin" : file.toString(), lines, file, sender);
        }
      }
    } finally {
      out.printf("%d lines sent, %d accepted%n", sender.sent(), sender.accepted());
    }
    return sender.accepted() == sender.sent() ? 0 : 1;
  }

  private void send(String source, BufferedReader lines, Path file, BatchSender sender)
      throws IOException, InterruptedException, UsageException {
    var name = service == null ? Line.serviceOf(Path.of(source)) : service;
    int number = 0;
    for (String text; (text = lines.readLine()) != null; ) {
      number++;
      if (!text.isBlank()) {
        var log = json ? parse(source, number, text) : Line.of(name, text).toJson();
        sender.add(source, number, JSON.writeValueAsBytes(log));
      }
      if (file.equals(STANDARD_INPUT) && !lines.ready()) {
        sender.flush(); // the next line of a pipe may come much later
      }
    }
    sender.flush();
  }

  private static ObjectNode parse(String source, int line, String text) throws UsageException {
    try {
      if (JSON.readTree(text.getBytes(UTF_8)) instanceof ObjectNode log) {
        return log;
      }
    } catch (JacksonException e) {
      throw new UsageException(
          "%s:%d: is not valid JSON: %s".formatted(source, line, e.getOriginalMessage()));
    }
    throw new UsageException("%s:%d: is not a JSON object".formatted(source, line));
  }
}
