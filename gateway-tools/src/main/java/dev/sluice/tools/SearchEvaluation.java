package dev.sluice.tools;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;

/**
 * Sends search queries to a gateway, and writes for each query the true templates of the result:
 * the templates that the file assigns to the lines of the found templates, in the order of the
 * result.
 */
final class SearchEvaluation {
  /** The name of the result file in OUT. */
  static final String RESULTS = "search.ndjson";

  /**
   * The maximum number of templates of each response; several templates of the gateway can be one
   * true template.
   */
  private static final int LIMIT = 50;

  private static final Duration EMBEDDING_TIMEOUT = Duration.ofMinutes(2);
  private static final Duration POLL_INTERVAL = Duration.ofMillis(500);
  private static final JsonMapper JSON = new JsonMapper();

  private final List<EvaluationQuery> queries;
  private final Map<String, Map<String, Integer>> truths = new HashMap<>();

  /**
   * A search query.
   *
   * @param id the id of the query in the file
   * @param text the text of the query
   * @param service the service whose logs are searched; null for all
   */
  private record EvaluationQuery(String id, String text, @Nullable String service) {}

  private SearchEvaluation(List<EvaluationQuery> queries) {
    this.queries = List.copyOf(queries);
  }

  /**
   * Reads the queries from a file.
   *
   * @param file JSON lines with {@code id}, {@code query} and optionally {@code service}; other
   *     fields are ignored
   */
  static SearchEvaluation read(Path file) throws IOException, InterruptedException, UsageException {
    var queries = new ArrayList<EvaluationQuery>();
    var lines = new LogFile(file);
    lines.forEach(
        (line, json) -> {
          var id = json.path("id").asString("");
          var text = json.path("query").asString("");
          if (id.isEmpty() || text.isEmpty()) {
            throw lines.invalidLine(line, "has no id or no query");
          }
          var service = json.path("service").asString("");
          queries.add(new EvaluationQuery(id, text, service.isEmpty() ? null : service));
        });
    return new SearchEvaluation(queries);
  }

  /** Records the true template and the predicted template of one line. */
  void recordPrediction(@Nullable String truth, @Nullable String predicted) {
    if (truth != null && predicted != null) {
      truths.computeIfAbsent(predicted, _ -> new HashMap<>()).merge(truth, 1, Integer::sum);
    }
  }

  int size() {
    return queries.size();
  }

  /**
   * Waits until every template has vectors, then runs the queries and writes the results.
   *
   * @throws IOException when the gateway returns an error, or templates have no vectors in time
   */
  void run(GatewayClient gateway, Path results) throws IOException, InterruptedException {
    awaitVectors(gateway);
    try (var out = new BufferedOutputStream(Files.newOutputStream(results.resolve(RESULTS)))) {
      for (var query : queries) {
        var response = gateway.search(query.text, query.service, LIMIT);
        var found = new LinkedHashSet<String>();
        for (var template : response.path("templates")) {
          found.addAll(truths(template.path("template_id").asString()));
        }
        var result = JSON.createObjectNode().put("id", query.id);
        var templates = result.putArray("templates");
        found.forEach(templates::add);
        out.write((result + "\n").getBytes(UTF_8));
      }
    }
  }

  /** Returns the true templates of a predicted template, those with most lines first. */
  private List<String> truths(String predicted) {
    return truths.getOrDefault(predicted, Map.of()).entrySet().stream()
        .sorted(
            Map.Entry.<String, Integer>comparingByValue(Comparator.reverseOrder())
                .thenComparing(Map.Entry.comparingByKey()))
        .map(Map.Entry::getKey)
        .toList();
  }

  private void awaitVectors(GatewayClient gateway) throws IOException, InterruptedException {
    long fewest = Long.MAX_VALUE;
    long deadline = System.nanoTime() + EMBEDDING_TIMEOUT.toNanos();
    while (true) {
      long remaining =
          gateway.search("anything", null, 1).path("templates_without_vectors").asLong();
      if (remaining == 0) {
        return;
      }
      if (remaining < fewest) {
        fewest = remaining;
        deadline = System.nanoTime() + EMBEDDING_TIMEOUT.toNanos();
      }
      if (System.nanoTime() > deadline) {
        throw new IOException(remaining + " templates have no vectors");
      }
      Thread.sleep(POLL_INTERVAL);
    }
  }
}
