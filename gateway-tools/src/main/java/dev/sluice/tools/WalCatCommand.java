package dev.sluice.tools;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdException;
import com.github.luben.zstd.ZstdInputStream;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import java.util.zip.GZIPInputStream;
import org.jspecify.annotations.NullUnmarked;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * {@code sluice wal cat}: prints the logs of a write-ahead log. It reads the segments by their
 * documented format, takes no lock and writes nothing, so the gateway may run meanwhile.
 */
@Command(
    name = "cat",
    header = "Prints the logs in a write-ahead log, delivered or not.",
    description = {
      "The segments are printed in their order. An unreadable frame ends its segment.",
      "The gateway may run meanwhile. bin/wal-reader verifies the files."
    })
@NullUnmarked // picocli fills the fields
final class WalCatCommand implements Callable<Integer> {
  private static final Pattern SEGMENT = Pattern.compile("seg-[0-9]{6,9}\\.wal\\.(zst|gz)");
  private static final JsonMapper JSON = new JsonMapper();

  private final PrintStream out;
  private final PrintStream err;

  @Parameters(
      paramLabel = "PATH",
      arity = "1..*",
      description = "A log.wal directory, the directory of a node or of a day, or a segment.")
  private List<Path> paths;

  @Option(
      names = "--json",
      description =
          "Print each line as JSON: the log as OTLP after its batch, control characters escaped.")
  private boolean json;

  WalCatCommand(PrintStream out, PrintStream err) {
    this.out = out;
    this.err = err;
  }

  @Override
  public Integer call() throws IOException, UsageException {
    boolean complete = true;
    for (var path : paths) {
      for (var segment : segments(path)) {
        complete &= print(segment);
        if (out.checkError()) { // the reader of a pipe has enough
          return 0;
        }
      }
    }
    return complete ? 0 : 1;
  }

  /** Returns the segments below a path, sorted by node, day and number. */
  private static List<Path> segments(Path path) throws IOException, UsageException {
    if (!Files.exists(path)) {
      throw new UsageException(path + " does not exist");
    }
    try (var files = Files.walk(path)) {
      var segments =
          files
              .filter(file -> SEGMENT.matcher(String.valueOf(file.getFileName())).matches())
              .sorted()
              .toList();
      if (segments.isEmpty()) {
        throw new UsageException(path + " has no segment of a write-ahead log");
      }
      return segments;
    }
  }

  /** Prints a segment up to its end or its first unreadable frame; whether it was its end. */
  private boolean print(Path segment) throws IOException {
    var bytes = Files.readAllBytes(segment);
    boolean gzip = segment.toString().endsWith(".gz");
    long logs = 0;
    try {
      for (int at = 0, length; at < bytes.length; at += length) {
        length = gzip ? bytes.length : zstdFrameLength(bytes, at);
        var frame = new ByteArrayInputStream(bytes, at, length);
        try (var lines =
            new BufferedReader(
                new InputStreamReader(
                    gzip ? new GZIPInputStream(frame) : new ZstdInputStream(frame), UTF_8))) {
          for (String line; (line = lines.readLine()) != null; logs++) {
            out.println(escape(json ? line : format(JSON.readTree(line))));
          }
        }
      }
      return true;
    } catch (IOException | ZstdException | JacksonException e) {
      err.println(
          escape("%s: unreadable after %d logs: %s".formatted(segment, logs, e.getMessage())));
      return false;
    }
  }

  /** Frames are read one by one: an incomplete frame hides none of the frames before it. */
  private static int zstdFrameLength(byte[] segment, int at) {
    return Math.toIntExact(Zstd.findFrameCompressedSize(segment, at));
  }

  /** Returns time, severity, service and body of a line. */
  private static String format(JsonNode line) {
    var resource = line.path("resourceLogs").path(0);
    var log = resource.path("scopeLogs").path(0).path("logRecords").path(0);
    long nanos = log.path("timeUnixNano").asLong(0);
    if (nanos == 0) {
      nanos = log.path("observedTimeUnixNano").asLong(0);
    }
    var service = "-";
    for (var attribute : resource.path("resource").path("attributes")) {
      if (attribute.path("key").asString("").equals("service.name")) {
        service = attribute.path("value").path("stringValue").asString("-");
      }
    }
    var body = log.path("body");
    return "%s %-5s %s %s"
        .formatted(
            Instant.ofEpochSecond(0, nanos),
            log.path("severityText").asString("-"),
            service,
            body.path("stringValue").asString(body.toString()));
  }

  /**
   * Escapes the control characters of a client, so that a log is one line and cannot act on the
   * terminal. The escapes are valid in JSON, whose strings may contain DEL and C1 as they are.
   */
  private static String escape(String line) {
    var text = new StringBuilder(line.length());
    line.chars()
        .forEach(
            c -> {
              if (c == '\n') {
                text.append("\\n");
              } else if (Character.isISOControl(c) && c != '\t') {
                text.append("\\u%04x".formatted(c));
              } else {
                text.append((char) c);
              }
            });
    return text.toString();
  }
}
