package dev.sluice.tools;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.NullNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * The work of {@code sluice eval}: sends log files through a gateway, and writes for each line the
 * template that the gateway assigned, next to the true template in the file; and for each search
 * query, if any, the templates of its result.
 *
 * <p>The true template, the field {@code template_id}, is not sent. A log is found by attributes
 * that this program adds: {@code eval.run}, {@code eval.file} and {@code eval.line}. Reads begin
 * when all files are stored, because later logs can change the templates of earlier logs.
 */
final class TemplateEvaluation {
  private static final String TRUTH = "template_id";
  private static final String RUN = "eval.run";
  private static final String FILE = "eval.file";
  private static final String LINE = "eval.line";

  /** The time to wait for one more log to be stored. */
  private static final Duration STORE_TIMEOUT = Duration.ofMinutes(1);

  private static final Duration POLL_INTERVAL = Duration.ofMillis(250);
  private static final int MAX_ATTEMPTS = 3;
  private static final JsonMapper JSON = new JsonMapper();

  private final String run = UUID.randomUUID().toString();
  private final GatewayClient gateway;
  private final @Nullable SearchEvaluation searchEvaluation;
  private final PrintStream out;
  private final PrintStream err;

  TemplateEvaluation(
      GatewayClient gateway,
      @Nullable SearchEvaluation searchEvaluation,
      PrintStream out,
      PrintStream err) {
    this.gateway = gateway;
    this.searchEvaluation = searchEvaluation;
    this.out = out;
    this.err = err;
  }

  /** Checks every line of a file before any is sent. */
  static void check(LogFile file) throws IOException, InterruptedException, UsageException {
    file.forEach((line, log) -> toEvent("", file, line, log));
  }

  /**
   * Runs the evaluation.
   *
   * @param results the directory for the results, which exists
   * @return 0 when every line is stored and has a template, else 1
   */
  int evaluate(List<LogFile> files, Path results)
      throws IOException, InterruptedException, UsageException {
    out.printf("the logs have the attribute %s=%s at %s%n", RUN, run, gateway.address());
    out.flush();
    var sender = new BatchSender(gateway, err);
    var loads = new ArrayList<LoadedFile>();
    for (var file : files) {
      loads.add(load(file, sender));
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

  private LoadedFile load(LogFile file, BatchSender sender)
      throws IOException, InterruptedException, UsageException {
    long sent = sender.sent();
    long accepted = sender.accepted();
    var lastLine = new AtomicInteger();
    file.forEach(
        (line, log) -> {
          sender.add(
              file.path().toString(), line, JSON.writeValueAsBytes(toEvent(run, file, line, log)));
          lastLine.set(line);
        });
    sender.flush();
    return new LoadedFile(
        file, Math.toIntExact(sender.sent() - sent), lastLine.get(), sender.accepted() - accepted);
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
