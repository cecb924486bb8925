package dev.sluice.api.grpc;

import com.google.protobuf.ByteString;
import dev.sluice.core.ingest.IngestService;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.port.LogReader;
import dev.sluice.core.port.LogReader.LogPage;
import dev.sluice.core.port.LogReader.Position;
import dev.sluice.core.port.LogReader.Query;
import dev.sluice.core.query.AttributeCondition;
import dev.sluice.core.query.LogFilter;
import dev.sluice.core.query.TextQuery;
import dev.sluice.proto.v1.Filter;
import dev.sluice.proto.v1.QueryRequest;
import dev.sluice.proto.v1.QueryResponse;
import dev.sluice.proto.v1.StoredLog;
import io.grpc.StatusException;
import io.grpc.stub.StreamObserver;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** {@code Query}: stored logs, newest first, page by page. */
final class NativeQueries {
  private static final int DEFAULT_LIMIT = 100;
  private static final int MAX_LIMIT = 10_000;
  private static final int MAX_SEVERITY = 24;

  /** Clients take answers of 4 MiB unless told otherwise; a page of large logs ends before. */
  static final int PAGE_BYTES = 3 << 20;

  private static final HexFormat HEX = HexFormat.of();

  private final LogReader reader;
  private final MemoryBudget budget;

  /**
   * @param budget what answers count against until they are taken
   */
  NativeQueries(LogReader reader, MemoryBudget budget) {
    this.reader = reader;
    this.budget = budget;
  }

  void answer(RawMessage message, StreamObserver<QueryResponse> answer) {
    Query query;
    try {
      query = query(Question.parse(message, QueryRequest.parser(), "sluice.v1.QueryRequest"));
    } catch (Unanswerable e) {
      answer.onError(e.status());
      return;
    } catch (StatusException e) {
      answer.onError(e);
      return;
    }
    BlockingAnswer.of("sluice-query", budget, answer, () -> page(reader.read(query)));
  }

  private static Query query(QueryRequest request) throws Unanswerable {
    int limit = request.getLimit();
    if (Integer.compareUnsigned(limit, MAX_LIMIT) > 0) {
      throw new Unanswerable("limit", "is not a number from 0 to " + MAX_LIMIT);
    }
    return new Query(
        filter(request.getFilter()),
        limit == 0 ? DEFAULT_LIMIT : limit,
        position(request.getCursor()));
  }

  static LogFilter filter(Filter filter) throws Unanswerable {
    for (int number : filter.getSeverityNumbersList()) {
      requireSeverity("filter.severity_numbers", number);
    }
    requireSeverity("filter.min_severity_number", filter.getMinSeverityNumber());
    var wanted =
        LogFilter.of(IngestService.DEFAULT_TENANT)
            .service(filter.getService().isEmpty() ? null : filter.getService())
            .severities(filter.getSeverityNumbersList())
            .minSeverity(filter.getMinSeverityNumber())
            .from(
                filter.hasFromUnixNano()
                    ? time("filter.from_unix_nano", filter.getFromUnixNano())
                    : null)
            .to(filter.hasToUnixNano() ? time("filter.to_unix_nano", filter.getToUnixNano()) : null)
            .traceId(id("filter.trace_id", filter.getTraceId(), 16))
            .spanId(id("filter.span_id", filter.getSpanId(), 8))
            .text(text(filter.getText()));
    for (int i = 0; i < filter.getAttributesCount(); i++) {
      wanted.attribute(condition("filter.attributes[" + i + "]", filter.getAttributes(i)));
    }
    for (int i = 0; i < filter.getResourceCount(); i++) {
      wanted.resource(condition("filter.resource[" + i + "]", filter.getResource(i)));
    }
    for (int i = 0; i < filter.getTemplateIdsCount(); i++) {
      wanted.template(uuid("filter.template_ids[" + i + "]", filter.getTemplateIds(i)));
    }
    if (!filter.getResourceId().isEmpty()) {
      wanted.resourceId(uuid("filter.resource_id", filter.getResourceId()));
    }
    try {
      return wanted.build();
    } catch (IllegalArgumentException e) {
      throw new Unanswerable("filter", "has " + e.getMessage());
    }
  }

  private static void requireSeverity(String field, int number) throws Unanswerable {
    if (number < 0 || number > MAX_SEVERITY) {
      throw new Unanswerable(field, "is " + number + ", known are 0 to " + MAX_SEVERITY);
    }
  }

  private static long time(String field, long nanos) throws Unanswerable {
    if (nanos < 0) {
      throw new Unanswerable(
          field, "is beyond 2262-04-11T23:47:16.854775807Z, the last that can be stored");
    }
    return nanos;
  }

  private static @Nullable String id(String field, ByteString id, int length) throws Unanswerable {
    if (id.isEmpty()) {
      return null;
    }
    if (id.size() != length) {
      throw new Unanswerable(
          field, "has " + id.size() + " bytes, must have " + length + " or none");
    }
    return HEX.formatHex(id.toByteArray());
  }

  private static UUID uuid(String field, ByteString id) throws Unanswerable {
    if (id.size() != 2 * Long.BYTES) {
      throw new Unanswerable(field, "has " + id.size() + " bytes, must have 16");
    }
    var halves = id.asReadOnlyByteBuffer();
    return new UUID(halves.getLong(), halves.getLong());
  }

  private static @Nullable TextQuery text(String text) throws Unanswerable {
    if (text.isEmpty()) {
      return null;
    }
    try {
      return TextQuery.parse(text);
    } catch (IllegalArgumentException e) {
      throw new Unanswerable("filter.text", "has " + e.getMessage());
    }
  }

  private static AttributeCondition condition(
      String field, dev.sluice.proto.v1.AttributeCondition condition) throws Unanswerable {
    var operator =
        switch (condition.getOperator()) {
          case OPERATOR_UNSPECIFIED, OPERATOR_EQUAL -> AttributeCondition.Operator.EQUAL;
          case OPERATOR_NOT_EQUAL -> AttributeCondition.Operator.NOT_EQUAL;
          case OPERATOR_PREFIX -> AttributeCondition.Operator.PREFIX;
          case OPERATOR_EXISTS -> AttributeCondition.Operator.EXISTS;
          case OPERATOR_IN -> AttributeCondition.Operator.IN;
          case UNRECOGNIZED -> throw new Unanswerable(field + ".operator", "is unknown");
        };
    try {
      return new AttributeCondition(
          condition.getKey(), operator, List.copyOf(condition.getValuesList()));
    } catch (IllegalArgumentException e) {
      throw new Unanswerable(field + ".values", "has " + e.getMessage());
    }
  }

  private static @Nullable Position position(String cursor) throws Unanswerable {
    if (cursor.isEmpty()) {
      return null;
    }
    try {
      return Position.ofCursor(cursor);
    } catch (IllegalArgumentException _) {
      throw new Unanswerable("cursor", "is none that was given out");
    }
  }

  private static QueryResponse page(LogPage page) {
    var response = QueryResponse.newBuilder();
    var next = page.next();
    int bytes = 0;
    for (var log : page.logs()) {
      var stored = log(log);
      bytes += stored.getSerializedSize();
      if (bytes > PAGE_BYTES && response.getLogsCount() > 0) {
        var last = page.logs().get(response.getLogsCount() - 1);
        next = new Position(last.timeNanos(), last.id());
        break;
      }
      response.addLogs(stored);
    }
    return next == null ? response.build() : response.setNextCursor(next.toCursor()).build();
  }

  static StoredLog log(LogReader.StoredLog log) {
    return StoredLog.newBuilder()
        .setId(bytes(log.id().high(), log.id().low()))
        .setTimeUnixNano(log.timeNanos())
        .setObservedTimeUnixNano(log.observedNanos())
        .setReceivedTimeUnixNano(log.receivedNanos())
        .setSeverityNumber(log.severityNumber())
        .setSeverityText(log.severityText())
        .setService(log.service())
        .setBody(log.body())
        .setTraceId(id(log.traceId()))
        .setSpanId(id(log.spanId()))
        .setFlags((int) log.flags())
        .setEventName(log.eventName())
        .putAllAttributes(log.attributes())
        .setDroppedAttributesCount((int) log.droppedAttributes())
        .putAllResource(log.resource())
        .setResourceSchemaUrl(log.resourceSchemaUrl())
        .setScopeName(log.scopeName())
        .setScopeVersion(log.scopeVersion())
        .putAllScopeAttributes(log.scope())
        .setScopeSchemaUrl(log.scopeSchemaUrl())
        .setTemplateId(bytes(log.templateId()))
        .setResourceId(bytes(log.resourceId()))
        .build();
  }

  static ByteString bytes(@Nullable UUID id) {
    return id == null
        ? ByteString.EMPTY
        : bytes(id.getMostSignificantBits(), id.getLeastSignificantBits());
  }

  static ByteString bytes(long high, long low) {
    return ByteString.copyFrom(
        ByteBuffer.allocate(2 * Long.BYTES).putLong(high).putLong(low).flip());
  }

  /** Rows that others wrote may have anything where an id should be. */
  private static ByteString id(String hex) {
    try {
      return ByteString.copyFrom(HEX.parseHex(hex));
    } catch (IllegalArgumentException _) {
      return ByteString.EMPTY;
    }
  }
}
