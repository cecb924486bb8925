package dev.sluice.api.protocol.protobuf;

import dev.sluice.api.grpc.BlockingUnaryCall;
import dev.sluice.api.grpc.InvalidArgument;
import dev.sluice.api.grpc.QueryRequestParser;
import dev.sluice.api.grpc.RawMessage;
import dev.sluice.api.grpc.RequestContextInterceptor;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.proto.v1.Filter;
import dev.sluice.proto.v1.LogExcerpt;
import dev.sluice.proto.v1.Matched;
import dev.sluice.proto.v1.SearchRequest;
import dev.sluice.proto.v1.SearchResponse;
import dev.sluice.proto.v1.TemplateHit;
import dev.sluice.query.port.TemplateStats.MinuteRange;
import dev.sluice.query.port.TemplateStats.SampleLog;
import dev.sluice.query.search.SearchQuery;
import dev.sluice.query.search.SearchQuery.Mode;
import dev.sluice.query.search.SearchResult;
import dev.sluice.query.search.SearchResult.Hit;
import dev.sluice.query.search.SearchResult.MatchReason;
import dev.sluice.query.search.SemanticSearch;
import io.grpc.StatusException;
import io.grpc.stub.StreamObserver;

/** The calls of {@code Search}, the search by meaning. */
final class NativeSearchCalls {
  private final SemanticSearch search;
  private final MemoryBudget budget;

  /**
   * @param search the semantic search
   * @param budget the memory budget of responses
   */
  NativeSearchCalls(SemanticSearch search, MemoryBudget budget) {
    this.search = search;
    this.budget = budget;
  }

  void handle(RawMessage message, StreamObserver<SearchResponse> responseObserver) {
    SearchQuery searchQuery;
    try {
      searchQuery =
          request(
              QueryRequestParser.parse(message, SearchRequest.parser(), "sluice.v1.SearchRequest"));
    } catch (StatusException e) {
      responseObserver.onError(e);
      return;
    }
    BlockingUnaryCall.start(
        "sluice-search",
        budget,
        responseObserver,
        () -> toResponse(searchQuery, search.search(searchQuery)));
  }

  private static SearchQuery request(SearchRequest searchRequest) throws StatusException {
    var query = searchRequest.getQuery();
    if (query.isBlank() || query.length() > SearchQuery.MAX_CHARACTERS) {
      throw InvalidArgument.field(
          "query",
          "has %d characters, must have 1 to %d, not only white space"
              .formatted(query.length(), SearchQuery.MAX_CHARACTERS));
    }
    requireSupportedFilter(searchRequest.getFilter());
    var searchQuery =
        new SearchQuery(
            query,
            mode(searchRequest),
            NativeQueryCalls.filter(
                RequestContextInterceptor.contextOfCall(), searchRequest.getFilter()),
            0,
            number(
                "limit",
                searchRequest.getLimit(),
                SearchQuery.DEFAULT_LIMIT,
                SearchQuery.MAX_RESULTS),
            number("samples", searchRequest.getSamples(), 1, SearchQuery.MAX_LOGS_PER_TEMPLATE));
    try {
      return searchRequest.getCursor().isEmpty()
          ? searchQuery
          : searchQuery.after(searchRequest.getCursor());
    } catch (IllegalArgumentException e) {
      throw InvalidArgument.field("cursor", String.valueOf(e.getMessage()));
    }
  }

  /** Rejects conditions that templates do not support. */
  private static void requireSupportedFilter(Filter filter) throws StatusException {
    boolean other =
        !filter.getTraceId().isEmpty()
            || !filter.getSpanId().isEmpty()
            || !filter.getText().isEmpty()
            || filter.getResourceCount() > 0
            || filter.getTemplateIdsCount() > 0
            || !filter.getResourceId().isEmpty();
    if (other) {
      throw InvalidArgument.field(
          "filter", "has more than service, severities, times and attributes");
    }
  }

  private static Mode mode(SearchRequest searchRequest) throws StatusException {
    return switch (searchRequest.getMode()) {
      case SEARCH_MODE_UNSPECIFIED, SEARCH_MODE_HYBRID -> Mode.HYBRID;
      case SEARCH_MODE_SEMANTIC -> Mode.SEMANTIC;
      case SEARCH_MODE_KEYWORD -> Mode.KEYWORD;
      case UNRECOGNIZED -> throw InvalidArgument.field("mode", "is unknown");
    };
  }

  private static int number(String field, int value, int defaultValue, int max)
      throws StatusException {
    if (Integer.compareUnsigned(value, max) > 0) {
      throw InvalidArgument.field(field, "is not a number from 0 to " + max);
    }
    return value == 0 ? defaultValue : value;
  }

  private static SearchResponse toResponse(SearchQuery searchQuery, SearchResult result) {
    var response = SearchResponse.newBuilder().setTemplatesWithoutVectors(result.backlog());
    int bytes = 0;
    for (var hit : result.hits()) {
      var templateHit = toTemplateHit(hit, result);
      if (bytes + templateHit.getSerializedSize() > BlockingUnaryCall.MAX_PAGE_BYTES) {
        templateHit = templateHit.toBuilder().clearSamples().build(); // limit of clients
      }
      bytes += templateHit.getSerializedSize();
      response.addTemplates(templateHit);
    }
    for (var log : result.logs()) {
      var stored = NativeQueryCalls.toProto(log);
      bytes += stored.getSerializedSize();
      if (bytes > BlockingUnaryCall.MAX_PAGE_BYTES) {
        break; // limit of clients; Query returns all logs
      }
      response.addLogs(stored);
    }
    if (result.hasMore()) {
      response.setNextCursor(searchQuery.nextCursor());
    }
    if (result.semanticUnavailableReason() != null) {
      response.setWithoutMeaning(result.semanticUnavailableReason());
    }
    return response.build();
  }

  private static TemplateHit toTemplateHit(Hit hit, SearchResult result) {
    var template = hit.summary().template();
    var builder =
        TemplateHit.newBuilder()
            .setTemplateId(NativeQueryCalls.toBytes(template.id()))
            .setScore(hit.score())
            .setCount(template.count())
            .putAllServices(template.services())
            .setSparklineFromUnixNano(MinuteRange.startNanos(result.startMinute()))
            .setSparklineStepSeconds(result.bucketMinutes() * 60)
            .addAllSparkline(hit.summary().bucketCounts());
    if (template.text() != null) {
      builder.setTemplate(template.text());
    }
    template.severities().forEach((level, count) -> builder.putSeverities(level.name(), count));
    hit.reasons().stream().sorted().map(NativeSearchCalls::toMatched).forEach(builder::addMatched);
    hit.summary().newestLogs().stream()
        .map(NativeSearchCalls::toExcerpt)
        .forEach(builder::addSamples);
    return builder.build();
  }

  private static Matched toMatched(MatchReason reason) {
    return switch (reason) {
      case WORDS -> Matched.MATCHED_WORDS;
      case MEANING -> Matched.MATCHED_MEANING;
      case VALUE -> Matched.MATCHED_VALUE;
    };
  }

  private static LogExcerpt toExcerpt(SampleLog log) {
    return LogExcerpt.newBuilder()
        .setId(NativeQueryCalls.toBytes(log.id().high(), log.id().low()))
        .setTimeUnixNano(log.timeNanos())
        .setSeverityNumber(log.severityNumber())
        .setService(log.service())
        .setBody(log.body())
        .build();
  }
}
