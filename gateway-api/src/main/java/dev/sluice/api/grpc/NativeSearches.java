package dev.sluice.api.grpc;

import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.port.TemplateStats.MinuteRange;
import dev.sluice.core.port.TemplateStats.SampleLog;
import dev.sluice.core.search.SemanticSearch;
import dev.sluice.core.search.SemanticSearch.Hit;
import dev.sluice.core.search.SemanticSearch.MatchReason;
import dev.sluice.core.search.SemanticSearch.Mode;
import dev.sluice.core.search.SemanticSearch.SearchQuery;
import dev.sluice.core.search.SemanticSearch.SearchResult;
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
  private final SemanticSearch search;
  private final MemoryBudget budget;

  /**
   * @param budget what answers count against until they are taken
   */
  NativeSearches(SemanticSearch search, MemoryBudget budget) {
    this.search = search;
    this.budget = budget;
  }

  void answer(RawMessage message, StreamObserver<SearchResponse> answer) {
    SearchQuery searchQuery;
    try {
      searchQuery =
          request(Question.parse(message, SearchRequest.parser(), "sluice.v1.SearchRequest"));
    } catch (Unanswerable e) {
      answer.onError(e.status());
      return;
    } catch (StatusException e) {
      answer.onError(e);
      return;
    }
    BlockingAnswer.of(
        "sluice-search", budget, answer, () -> response(searchQuery, search.search(searchQuery)));
  }

  private static SearchQuery request(SearchRequest asked) throws Unanswerable {
    var query = asked.getQuery();
    if (query.isBlank() || query.length() > SearchQuery.MAX_CHARACTERS) {
      throw new Unanswerable(
          "query",
          "has %d characters, must say something in at most %d"
              .formatted(query.length(), SearchQuery.MAX_CHARACTERS));
    }
    requireNothingElse(asked.getFilter());
    var searchQuery =
        new SearchQuery(
            query,
            mode(asked),
            NativeQueries.filter(asked.getFilter()),
            0,
            number("limit", asked.getLimit(), SearchQuery.DEFAULT_LIMIT, SearchQuery.MAX_RESULTS),
            number("samples", asked.getSamples(), 1, SearchQuery.MAX_LOGS_PER_TEMPLATE));
    try {
      return asked.getCursor().isEmpty() ? searchQuery : searchQuery.after(asked.getCursor());
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

  private static SearchResponse response(SearchQuery searchQuery, SearchResult answer) {
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
    if (answer.hasMore()) {
      response.setNextCursor(searchQuery.nextCursor());
    }
    if (answer.semanticUnavailableReason() != null) {
      response.setWithoutMeaning(answer.semanticUnavailableReason());
    }
    return response.build();
  }

  private static TemplateHit hit(Hit hit, SearchResult answer) {
    var template = hit.summary().template();
    var told =
        TemplateHit.newBuilder()
            .setTemplateId(NativeQueries.bytes(template.id()))
            .setScore(hit.score())
            .setCount(template.count())
            .putAllServices(template.services())
            .setSparklineFromUnixNano(MinuteRange.startNanos(answer.startMinute()))
            .setSparklineStepSeconds(answer.bucketMinutes() * 60)
            .addAllSparkline(hit.summary().bucketCounts());
    if (template.text() != null) {
      told.setTemplate(template.text());
    }
    template.severities().forEach((level, count) -> told.putSeverities(level.name(), count));
    hit.reasons().stream().sorted().map(NativeSearches::matched).forEach(told::addMatched);
    hit.summary().newestLogs().stream().map(NativeSearches::excerpt).forEach(told::addSamples);
    return told.build();
  }

  private static Matched matched(MatchReason why) {
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
