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
final class Questions {
  /** In OUT. */
  static final String RESULTS = "search.ndjson";

  /** Templates of each answer: several of the gateway's may be one true one. */
  private static final int LIMIT = 50;

  private static final Duration PATIENCE = Duration.ofMinutes(2);
  private static final Duration POLL = Duration.ofMillis(500);
  private static final JsonMapper JSON = new JsonMapper();

  private final List<Question> questions;
  private final Map<String, Map<String, Integer>> truths = new HashMap<>();

  /**
   * @param service in whose logs; null for all
   */
  private record Question(String id, String text, @Nullable String service) {}

  private Questions(List<Question> questions) {
    this.questions = List.copyOf(questions);
  }

  /**
   * @param file JSON lines with {@code id}, {@code query} and perhaps {@code service}; what else
   *     they say is not looked at
   */
  static Questions in(Path file) throws IOException, InterruptedException, Unusable {
    var questions = new ArrayList<Question>();
    var lines = new LogFile(file);
    lines.forEach(
        (line, asked) -> {
          var id = asked.path("id").asString("");
          var text = asked.path("query").asString("");
          if (id.isEmpty() || text.isEmpty()) {
            throw lines.unusable(line, "has no id or no query");
          }
          var service = asked.path("service").asString("");
          questions.add(new Question(id, text, service.isEmpty() ? null : service));
        });
    return new Questions(questions);
  }

  /** A line of a file has this template, by the file and by the gateway. */
  void learn(@Nullable String truth, @Nullable String predicted) {
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
  void ask(GatewayClient gateway, Path results) throws IOException, InterruptedException {
    awaitVectors(gateway);
    try (var out = new BufferedOutputStream(Files.newOutputStream(results.resolve(RESULTS)))) {
      for (var question : questions) {
        var answer = gateway.search(question.text, question.service, LIMIT);
        var found = new LinkedHashSet<String>();
        for (var template : answer.path("templates")) {
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
    long least = Long.MAX_VALUE;
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (true) {
      long left = gateway.search("anything", null, 1).path("templates_without_vectors").asLong();
      if (left == 0) {
        return;
      }
      if (left < least) {
        least = left;
        deadline = System.nanoTime() + PATIENCE.toNanos();
      }
      if (System.nanoTime() > deadline) {
        throw new IOException(left + " templates have no vectors");
      }
      Thread.sleep(POLL);
    }
  }
}
