package dev.sluice.tools;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.NullNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * The program of {@code make eval}: sends log files through a gateway, and writes for each line the
 * template that the gateway assigned, next to the true template in the file; and for each search
 * query, if any, the templates of its result.
 *
 * <p>The true template, the field {@code template_id}, is not sent. A log is found by attributes
 * that this program adds: {@code eval.run}, {@code eval.file} and {@code eval.line}. Reads begin
 * when all files are stored, because later logs can change the templates of earlier logs.
 */
public final class TemplateEvaluation {
  private static final String TRUTH = "template_id";
  private static final String RUN = "eval.run";
  private static final String FILE = "eval.file";
  private static final String LINE = "eval.line";

  private static final int REQUEST_LINES = 500;

  /** The request size in bytes from which a request gets no more lines. */
  private static final int REQUEST_BYTES = 8 << 20;

  /** The time to wait for one more log to be stored. */
  private static final Duration STORE_TIMEOUT = Duration.ofMinutes(1);

  private static final Duration POLL_INTERVAL = Duration.ofMillis(250);
  private static final int MAX_ATTEMPTS = 3;
  private static final int MAX_REPORTED_REJECTIONS = 20;
  private static final JsonMapper JSON = new JsonMapper();

  private final String run = UUID.randomUUID().toString();
  private final GatewayClient gateway;
  private final @Nullable SearchEvaluation searchEvaluation;
  private final PrintStream out;
  private final PrintStream err;
  private int requests;
  private int reportedRejections;

  private TemplateEvaluation(
      GatewayClient gateway,
      @Nullable SearchEvaluation searchEvaluation,
      PrintStream out,
      PrintStream err) {
    this.gateway = gateway;
    this.searchEvaluation = searchEvaluation;
    this.out = out;
    this.err = err;
  }

  /**
   * Runs the evaluation and exits with the status of {@link #run}.
   *
   * @param arguments the command line of {@link #run}
   */
  public static void main(String[] arguments) throws InterruptedException {
    System.exit(run(List.of(arguments), System.out, System.err));
  }

  /**
   * Runs the evaluation.
   *
   * @param commandLine optionally {@code --queries} and a file of queries; then the directory of
   *     the logs, the directory for the results, and the address of the gateway, or instead of an
   *     address the command that starts a gateway, which is stopped at the end
   * @param out the stream for progress and results
   * @param err the stream for errors
   * @return 0 when every line is stored and has a template, 1 when not, 2 when the arguments or the
   *     files are invalid; then nothing was sent
   */
  public static int run(List<String> commandLine, PrintStream out, PrintStream err)
      throws InterruptedException {
    try {
      boolean hasQueries = commandLine.size() > 1 && commandLine.getFirst().equals("--queries");
      var arguments = commandLine.subList(hasQueries ? 2 : 0, commandLine.size());
      if (arguments.size() < 3) {
        throw new UsageException("LOGS, OUT and a gateway are needed: make eval LOGS=dir OUT=dir");
      }
      var files = LogFile.list(Path.of(arguments.get(0)));
      var results = Files.createDirectories(Path.of(arguments.get(1)));
      if (Files.isSameFile(results, Path.of(arguments.get(0)))) {
        throw new UsageException("OUT is LOGS; the results would replace the logs");
      }
      for (var file : files) {
        file.forEach((line, log) -> toEvent("", file, line, log));
      }
      var searchEvaluation = hasQueries ? SearchEvaluation.read(Path.of(commandLine.get(1))) : null;
      if (arguments.size() == 3) {
        var gateway = new GatewayClient(address(arguments.get(2)));
        return new TemplateEvaluation(gateway, searchEvaluation, out, err).evaluate(files, results);
      }
      try (var temporaryGateway = TemporaryGateway.start(arguments.subList(2, arguments.size()))) {
        out.printf(
            "temporary gateway at %s, data in %s%n",
            temporaryGateway.address(), temporaryGateway.folder());
        var gateway = new GatewayClient(temporaryGateway.address());
        return new TemplateEvaluation(gateway, searchEvaluation, out, err).evaluate(files, results);
      }
    } catch (UsageException e) {
      err.println(e.getMessage());
      return 2;
    } catch (IOException | JacksonException e) {
      err.println(e.getMessage() == null ? e.toString() : e.getMessage());
      return 1;
    }
  }

  private static URI address(String text) throws UsageException {
    try {
      var address = URI.create(text);
      if (address.getHost() != null && address.getScheme().matches("https?")) {
        return address;
      }
    } catch (IllegalArgumentException _) {
      // the exception below has the message
    }
    throw new UsageException("URL is " + text + "; it must be like http://127.0.0.1:8080");
  }

  private int evaluate(List<LogFile> files, Path results)
      throws IOException, InterruptedException, UsageException {
    out.printf("the logs have the attribute %s=%s at %s%n", RUN, run, gateway.address());
    var loads = new ArrayList<LoadedFile>();
    for (var file : files) {
      loads.add(new FileLoader(file).loadAll());
    }
    long accepted = loads.stream().mapToLong(LoadedFile::accepted).sum();
    long stored = awaitStored(accepted);
    if (stored < accepted) {
      err.printf("%d of %d logs were not stored in time%n", accepted - stored, accepted);
    }
    out.printf("%n%-30s %9s %9s %9s %9s%n", "file", "lines", "read", "templated", "templates");
    boolean complete = true;
    for (var load : loads) {
      var file = load.file();
      if (load.accepted() < load.lines()) {
        err.printf("%s: %d lines were not accepted%n", file.path(), load.lines() - load.accepted());
      }
      var predictions = read(load);
      write(file, predictions, results);
      out.printf(
          "%-30s %9d %9d %9d %9d%n",
          file.name(),
          load.lines(),
          predictions.readCount(),
          predictions.templatedCount(),
          predictions.templateCount());
      complete &= predictions.templatedCount() == load.lines();
    }
    if (searchEvaluation != null) {
      searchEvaluation.run(gateway, results);
      out.printf("%n%d queries sent%n", searchEvaluation.size());
    }
    if (!complete) {
      err.println("not every line is stored and has a template");
    }
    return complete ? 0 : 1;
  }

  /** Returns the log to send for a line. It is {@code log} itself, which is changed. */
  private static ObjectNode toEvent(String run, LogFile file, int line, ObjectNode log)
      throws UsageException {
    log.remove(TRUTH);
    var attributes = log.path("attributes");
    if (attributes.isMissingNode() || attributes.isNull()) {
      attributes = log.putObject("attributes");
    }
    if (!(attributes instanceof ObjectNode own)) {
      throw file.invalidLine(line, "attributes is not an object");
    }
    own.put(RUN, run).put(FILE, file.name()).put(LINE, Integer.toString(line));
    return log;
  }

  /**
   * A file that has been sent.
   *
   * @param lines the number of lines with a log
   * @param lastLine the number of the last line with a log, 0 when there is none
   * @param accepted the number of logs that the gateway accepted
   */
  private record LoadedFile(LogFile file, int lines, int lastLine, long accepted) {}

  /** Sends a file in requests of several lines. */
  private final class FileLoader implements LogFile.Visitor {
    private final LogFile file;
    private final ByteArrayOutputStream request = new ByteArrayOutputStream();
    private final List<Integer> requestLines = new ArrayList<>();
    private int lines;
    private int lastLine;
    private long accepted;

    FileLoader(LogFile file) {
      this.file = file;
    }

    LoadedFile loadAll() throws IOException, InterruptedException, UsageException {
      file.forEach(this);
      if (!requestLines.isEmpty()) {
        send();
      }
      return new LoadedFile(file, lines, lastLine, accepted);
    }

    @Override
    public void visit(int line, ObjectNode log)
        throws IOException, InterruptedException, UsageException {
      request.writeBytes(JSON.writeValueAsBytes(toEvent(run, file, line, log)));
      request.write('\n');
      requestLines.add(line);
      lines++;
      lastLine = line;
      if (requestLines.size() == REQUEST_LINES || request.size() >= REQUEST_BYTES) {
        send();
      }
    }

    private void send() throws IOException, InterruptedException {
      var response = gateway.post(request.toByteArray(), run + "-" + requests++);
      accepted += response.path("accepted").asInt(0);
      int filtered = response.path("filtered").asInt(0);
      if (filtered > 0) {
        err.printf("%s: %d lines are not on the allowlist of the gateway%n", file.path(), filtered);
      }
      response.path("rejected").forEach(this::reportRejection);
      request.reset();
      requestLines.clear();
    }

    private void reportRejection(JsonNode rejected) {
      if (reportedRejections++ < MAX_REPORTED_REJECTIONS) {
        err.printf(
            "%s:%d: rejected: %s %s%n",
            file.path(),
            requestLines.get(rejected.path("index").asInt()),
            rejected.path("field").asString(),
            rejected.path("reason").asString());
      }
    }
  }

  /**
   * Waits until all accepted logs are stored, or until no log has been stored for {@link
   * #STORE_TIMEOUT}. Returns the number of stored logs.
   */
  private long awaitStored(long accepted) throws IOException, InterruptedException {
    long stored = 0;
    long deadline = System.nanoTime() + STORE_TIMEOUT.toNanos();
    while (true) {
      try {
        long now = gateway.count(Map.of(RUN, run));
        if (now > stored) {
          stored = now;
          deadline = System.nanoTime() + STORE_TIMEOUT.toNanos();
        }
      } catch (IOException e) {
        if (System.nanoTime() > deadline) {
          throw e;
        }
      }
      if (stored >= accepted || System.nanoTime() > deadline) {
        return stored;
      }
      Thread.sleep(POLL_INTERVAL);
    }
  }

  /** Reads the predictions of a file; an interrupted read starts over. */
  private Predictions read(LoadedFile load) throws IOException, InterruptedException {
    for (int i = 1; ; i++) {
      var predictions = new Predictions(load.lastLine());
      try {
        gateway.export(
            Map.of(RUN, run, FILE, load.file().name()),
            log ->
                predictions.put(
                    Integer.parseInt(log.path("attributes").path(LINE).asString()),
                    log.path("template_id").asStringOpt().orElse(null)));
        return predictions;
      } catch (IOException e) {
        if (i == MAX_ATTEMPTS) {
          throw e;
        }
        Thread.sleep(POLL_INTERVAL);
      }
    }
  }

  /** Writes one result per line of the file, in file order. */
  private void write(LogFile file, Predictions predictions, Path results)
      throws IOException, InterruptedException, UsageException {
    try (var out = new BufferedOutputStream(Files.newOutputStream(results.resolve(file.name())))) {
      file.forEach(
          (line, log) -> {
            var result = JSON.createObjectNode();
            result.set(TRUTH, Objects.requireNonNullElse(log.get(TRUTH), NullNode.getInstance()));
            result.put("predicted", predictions.template(line));
            if (searchEvaluation != null) {
              searchEvaluation.recordPrediction(
                  log.path(TRUTH).asStringOpt().orElse(null), predictions.template(line));
            }
            out.write((result + "\n").getBytes(UTF_8));
          });
    }
  }
}
