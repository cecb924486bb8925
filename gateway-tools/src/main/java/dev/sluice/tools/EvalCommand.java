package dev.sluice.tools;

import java.io.IOException;
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

/** {@code sluice eval}: evaluates the templates and the search of a gateway. */
@Command(
    name = "eval",
    header = "Evaluates the templates and the search of a gateway.",
    description = {
      "Sends the lines of LOGS/*.ndjson, each a log as POST /api/v1/logs takes it, and reads them"
          + " back. OUT gets a file of the same name, with the true template of each line, its"
          + " field template_id, which is not sent, and the template of the gateway.",
      "Templates that the gateway has mined before influence the result.",
      "The status is 0 when every line is stored and has a template."
    })
@NullUnmarked // picocli fills the fields
final class EvalCommand implements Callable<Integer> {
  private final PrintStream out;
  private final PrintStream err;

  @Parameters(index = "0", paramLabel = "LOGS", description = "The directory of the logs.")
  private Path logs;

  @Parameters(index = "1", paramLabel = "OUT", description = "The directory for the results.")
  private Path results;

  @Parameters(
      index = "2..*",
      paramLabel = "START",
      description =
          "After --, a command that starts a gateway, when none responds at the URL. It gets"
              + " engines, ports and a directory of its own, all removed at the end.")
  private List<String> start = List.of();

  @Option(
      names = "--url",
      paramLabel = "URL",
      defaultValue = "http://127.0.0.1:8080",
      description = "The gateway, ${DEFAULT-VALUE} by default.")
  private URI url;

  @Option(
      names = "--queries",
      paramLabel = "FILE",
      description =
          "JSON lines with id, query and optionally service. Each query is a search, and"
              + " OUT/search.ndjson gets the true templates of the results, best first.")
  private @Nullable Path queries;

  EvalCommand(PrintStream out, PrintStream err) {
    this.out = out;
    this.err = err;
  }

  @Override
  public Integer call() throws IOException, InterruptedException, UsageException {
    var files = LogFile.list(logs);
    Files.createDirectories(results);
    if (Files.isSameFile(results, logs)) {
      throw new UsageException("OUT is LOGS; the results would replace the logs");
    }
    for (var file : files) {
      TemplateEvaluation.check(file);
    }
    var search = queries == null ? null : SearchEvaluation.read(queries);
    var gateway = new GatewayClient(url);
    if (start.isEmpty() || gateway.isReachable()) {
      return new TemplateEvaluation(gateway, search, out, err).evaluate(files, results);
    }
    try (var temporaryGateway = TemporaryGateway.start(start)) {
      out.printf(
          "temporary gateway at %s, data in %s%n",
          temporaryGateway.address(), temporaryGateway.folder());
      out.flush();
      var own = new GatewayClient(temporaryGateway.address());
      return new TemplateEvaluation(own, search, out, err).evaluate(files, results);
    }
  }
}
