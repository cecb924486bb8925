package dev.sluice.api.grpc;

import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.port.TemplateStats.MinuteRange;
import dev.sluice.core.port.TemplateStats.SampleLog;
import dev.sluice.core.search.SearchLogs;
import dev.sluice.core.search.SearchLogs.Answer;
import dev.sluice.core.search.SearchLogs.Hit;
import dev.sluice.core.search.SearchLogs.Mode;
import dev.sluice.core.search.SearchLogs.Request;
import dev.sluice.core.search.SearchLogs.Why;
import dev.sluice.proto.v1.Filter;
import dev.sluice.proto.v1.LogExcerpt;
import dev.sluice.proto.v1.Matched;
import dev.sluice.proto.v1.SearchRequest;
import dev.sluice.proto.v1.SearchResponse;
import dev.sluice.proto.v1.TemplateHit;
import io.grpc.StatusException;
import io.grpc.stub.StreamObserver;

/** {@code Search}: what logs mean, by a question in anybody's words. */
final class NativeSearches {
  private final SearchLogs search;
  private final MemoryBudget budget;

  /**
   * @param budget what answers count against until they are taken
   */
  NativeSearches(SearchLogs search, MemoryBudget budget) {
    this.search = search;
    this.budget = budget;
  }

  void answer(RawMessage message, StreamObserver<SearchResponse> answer) {
    Request request;
    try {
      request = request(Question.parse(message, SearchRequest.parser(), "sluice.v1.SearchRequest"));
    } catch (Unanswerable e) {
      answer.onError(e.status());
      return;
    } catch (StatusException e) {
      answer.onError(e);
      return;
    }
    BlockingAnswer.of(
        "sluice-search", budget, answer, () -> response(request, search.search(request)));
  }

  private static Request request(SearchRequest asked) throws Unanswerable {
    var query = asked.getQuery();
    if (query.isBlank() || query.length() > Request.MOST_CHARACTERS) {
      throw new Unanswerable(
          "query",
          "has %d characters, must say something in at most %d"
              .formatted(query.length(), Request.MOST_CHARACTERS));
    }
    requireNothingElse(asked.getFilter());
    var request =
        new Request(
            query,
            mode(asked),
            NativeQueries.filter(asked.getFilter()),
            0,
            number("limit", asked.getLimit(), Request.USUAL, Request.MOST),
            number("samples", asked.getSamples(), 1, Request.MOST_NEWEST));
    try {
      return asked.getCursor().isEmpty() ? request : request.after(asked.getCursor());
    } catch (IllegalArgumentException e) {
      throw new Unanswerable("cursor", String.valueOf(e.getMessage()));
    }
  }

  /** What templates cannot be told by. */
  private static void requireNothingElse(Filter filter) throws Unanswerable {
    boolean other =
        !filter.getTraceId().isEmpty()
            || !filter.getSpanId().isEmpty()
            || !filter.getText().isEmpty()
            || filter.getResourceCount() > 0
            || filter.getTemplateIdsCount() > 0
            || !filter.getResourceId().isEmpty();
    if (other) {
      throw new Unanswerable("filter", "has more than service, severities, times and attributes");
    }
  }

  private static Mode mode(SearchRequest asked) throws Unanswerable {
    return switch (asked.getMode()) {
      case SEARCH_MODE_UNSPECIFIED, SEARCH_MODE_HYBRID -> Mode.HYBRID;
      case SEARCH_MODE_SEMANTIC -> Mode.SEMANTIC;
      case SEARCH_MODE_KEYWORD -> Mode.KEYWORD;
      case UNRECOGNIZED -> throw new Unanswerable("mode", "is unknown");
    };
  }

  private static int number(String field, int value, int otherwise, int most) throws Unanswerable {
    if (Integer.compareUnsigned(value, most) > 0) {
      throw new Unanswerable(field, "is not a number from 0 to " + most);
    }
    return value == 0 ? otherwise : value;
  }

  private static SearchResponse response(Request request, Answer answer) {
    var response = SearchResponse.newBuilder().setTemplatesWithoutVectors(answer.backlog());
    int bytes = 0;
    for (var hit : answer.hits()) {
      var told = hit(hit, answer);
      if (bytes + told.getSerializedSize() > NativeQueries.PAGE_BYTES) {
        told = told.toBuilder().clearSamples().build(); // clients take no more
      }
      bytes += told.getSerializedSize();
      response.addTemplates(told);
    }
    for (var log : answer.logs()) {
      var stored = NativeQueries.log(log);
      bytes += stored.getSerializedSize();
      if (bytes > NativeQueries.PAGE_BYTES) {
        break; // clients take no more; Query has them all
      }
      response.addLogs(stored);
    }
    if (answer.more()) {
      response.setNextCursor(request.next());
    }
    if (answer.withoutMeaning() != null) {
      response.setWithoutMeaning(answer.withoutMeaning());
    }
    return response.build();
  }

  private static TemplateHit hit(Hit hit, Answer answer) {
    var template = hit.portrait().template();
    var told =
        TemplateHit.newBuilder()
            .setTemplateId(NativeQueries.bytes(template.id()))
            .setScore(hit.score())
            .setCount(template.count())
            .putAllServices(template.services())
            .setSparklineFromUnixNano(MinuteRange.startNanos(answer.begins()))
            .setSparklineStepSeconds(answer.width() * 60)
            .addAllSparkline(hit.portrait().spans());
    if (template.text() != null) {
      told.setTemplate(template.text());
    }
    template.severities().forEach((level, count) -> told.putSeverities(level.name(), count));
    hit.why().stream().sorted().map(NativeSearches::matched).forEach(told::addMatched);
    hit.portrait().newest().stream().map(NativeSearches::excerpt).forEach(told::addSamples);
    return told.build();
  }

  private static Matched matched(Why why) {
    return switch (why) {
      case WORDS -> Matched.MATCHED_WORDS;
      case MEANING -> Matched.MATCHED_MEANING;
      case VALUE -> Matched.MATCHED_VALUE;
    };
  }

  private static LogExcerpt excerpt(SampleLog log) {
    return LogExcerpt.newBuilder()
        .setId(NativeQueries.bytes(log.id().high(), log.id().low()))
        .setTimeUnixNano(log.timeNanos())
        .setSeverityNumber(log.severityNumber())
        .setService(log.service())
        .setBody(log.body())
        .build();
  }
}
