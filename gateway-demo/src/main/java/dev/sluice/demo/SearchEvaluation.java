package dev.sluice.demo;

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
 * Asks a gateway questions, and writes for each which true templates it answered with: those of the
 * lines that have the templates it found, in their order.
 */
final class SearchEvaluation {
  /** In OUT. */
  static final String RESULTS = "search.ndjson";

  /** Templates of each answer: several of the gateway's may be one true one. */
  private static final int LIMIT = 50;

  private static final Duration EMBEDDING_TIMEOUT = Duration.ofMinutes(2);
  private static final Duration POLL_INTERVAL = Duration.ofMillis(500);
  private static final JsonMapper JSON = new JsonMapper();

  private final List<SearchQuestion> questions;
  private final Map<String, Map<String, Integer>> truths = new HashMap<>();

  /**
   * @param service in whose logs; null for all
   */
  private record SearchQuestion(String id, String text, @Nullable String service) {}

  private SearchEvaluation(List<SearchQuestion> questions) {
    this.questions = List.copyOf(questions);
  }

  /**
   * @param file JSON lines with {@code id}, {@code query} and perhaps {@code service}; what else
   *     they say is not looked at
   */
  static SearchEvaluation read(Path file) throws IOException, InterruptedException, UsageException {
    var questions = new ArrayList<SearchQuestion>();
    var lines = new LogFile(file);
    lines.forEach(
        (line, json) -> {
          var id = json.path("id").asString("");
          var text = json.path("query").asString("");
          if (id.isEmpty() || text.isEmpty()) {
            throw lines.invalidLine(line, "has no id or no query");
          }
          var service = json.path("service").asString("");
          questions.add(new SearchQuestion(id, text, service.isEmpty() ? null : service));
        });
    return new SearchEvaluation(questions);
  }

  /** A line of a file has this template, by the file and by the gateway. */
  void recordPrediction(@Nullable String truth, @Nullable String predicted) {
    if (truth != null && predicted != null) {
      truths.computeIfAbsent(predicted, _ -> new HashMap<>()).merge(truth, 1, Integer::sum);
    }
  }

  int size() {
    return questions.size();
  }

  /**
   * Waits until every template has its vectors, and asks.
   *
   * @throws IOException when the gateway cannot answer, or templates still have none after a while
   */
  void run(GatewayClient gateway, Path results) throws IOException, InterruptedException {
    awaitVectors(gateway);
    try (var out = new BufferedOutputStream(Files.newOutputStream(results.resolve(RESULTS)))) {
      for (var question : questions) {
        var response = gateway.search(question.text, question.service, LIMIT);
        var found = new LinkedHashSet<String>();
        for (var template : response.path("templates")) {
          found.addAll(truths(template.path("template_id").asString()));
        }
        var result = JSON.createObjectNode().put("id", question.id);
        var templates = result.putArray("templates");
        found.forEach(templates::add);
        out.write((result + "\n").getBytes(UTF_8));
      }
    }
  }

  /** Those of most lines first. */
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
