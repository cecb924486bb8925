package dev.sluice.tools;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdException;
import com.github.luben.zstd.ZstdInputStream;
import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
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
  private static final int MIN_BUFFER_BYTES = 1 << 20;

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

  /** The number of logs that are printed of the current segment. */
  private long logs;

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
    logs = 0;
    try (var file = Files.newInputStream(segment)) {
      if (segment.toString().endsWith(".gz")) {
        print(new GZIPInputStream(new BufferedInputStream(file, MIN_BUFFER_BYTES)));
      } else {
        printZstdFrames(file);
      }
      return true;
    } catch (IOException | ZstdException | JacksonException e) {
      err.println(
          escape("%s: unreadable after %d logs: %s".formatted(segment, logs, e.getMessage())));
      return false;
    }
  }

  /** Prints frames one by one: an incomplete frame hides none of the frames before it. */
  private void printZstdFrames(InputStream file) throws IOException {
    byte[] buffer = new byte[MIN_BUFFER_BYTES];
    int from = 0;
    int to = file.readNBytes(buffer, 0, buffer.length);
    while (from < to) {
      int length = zstdFrameLength(buffer, from, to);
      if (length > 0) {
        print(new ZstdInputStream(new ByteArrayInputStream(buffer, from, length)));
        from += length;
        continue;
      }
      // the frame is incomplete: moves it to the start of the buffer, which grows if it is full
      byte[] target = from > 0 ? buffer : new byte[Math.multiplyExact(2, buffer.length)];
      System.arraycopy(buffer, from, target, 0, to - from);
      buffer = target;
      int kept = to - from;
      from = 0;
      to = kept + file.readNBytes(buffer, kept, buffer.length - kept);
      if (to == kept) {
        throw new EOFException("the last frame is incomplete");
      }
    }
  }

  /** Returns the length of a frame in bytes; 0 when it does not end in the buffer. */
  private static int zstdFrameLength(byte[] buffer, int from, int to) {
    try {
      return Math.toIntExact(Zstd.findFrameCompressedSize(buffer, from, to - from));
    } catch (ZstdException e) {
      if (e.getErrorCode() == Zstd.errSrcSizeWrong()) {
        return 0;
      }
      throw e;
    }
  }

  private void print(InputStream frame) throws IOException {
    try (var lines = new BufferedReader(new InputStreamReader(frame, UTF_8))) {
      for (String line; (line = lines.readLine()) != null; logs++) {
        out.println(escape(json ? line : format(JSON.readTree(line))));
      }
    }
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
