package dev.sluice.api.protocol.protobuf;

import com.google.protobuf.ByteString;
import dev.sluice.api.grpc.BlockingUnaryCall;
import dev.sluice.api.grpc.InvalidArgument;
import dev.sluice.api.grpc.QueryRequestParser;
import dev.sluice.api.grpc.RawMessage;
import dev.sluice.api.grpc.RequestContextInterceptor;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.ingest.RequestContext;
import dev.sluice.proto.v1.Filter;
import dev.sluice.proto.v1.QueryRequest;
import dev.sluice.proto.v1.QueryResponse;
import dev.sluice.proto.v1.StoredLog;
import dev.sluice.query.filter.AttributeCondition;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.filter.TextQuery;
import dev.sluice.query.port.LogReader;
import dev.sluice.query.port.LogReader.LogPage;
import dev.sluice.query.port.LogReader.Position;
import dev.sluice.query.port.LogReader.Query;
import io.grpc.StatusException;
import io.grpc.stub.StreamObserver;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The calls of {@code Query}: stored logs, newest first, in pages. */
final class NativeQueryCalls {
  private static final int DEFAULT_LIMIT = 100;
  private static final int MAX_LIMIT = 10_000;
  private static final int MAX_SEVERITY = 24;

  private static final HexFormat HEX = HexFormat.of();

  private final LogReader reader;
  private final MemoryBudget budget;

  /**
   * @param reader the reader of stored logs
   * @param budget the memory budget of responses
   */
  NativeQueryCalls(LogReader reader, MemoryBudget budget) {
    this.reader = reader;
    this.budget = budget;
  }

  void handle(RawMessage message, StreamObserver<QueryResponse> responseObserver) {
    Query query;
    try {
      query =
          query(QueryRequestParser.parse(message, QueryRequest.parser(), "sluice.v1.QueryRequest"));
    } catch (StatusException e) {
      responseObserver.onError(e);
      return;
    }
    BlockingUnaryCall.start(
        "sluice-query", budget, responseObserver, () -> toResponse(reader.read(query)));
  }

  private static Query query(QueryRequest request) throws StatusException {
    int limit = request.getLimit();
    if (Integer.compareUnsigned(limit, MAX_LIMIT) > 0) {
      throw InvalidArgument.field("limit", "is not a number from 0 to " + MAX_LIMIT);
    }
    return new Query(
        filter(RequestContextInterceptor.contextOfCall(), request.getFilter()),
        limit == 0 ? DEFAULT_LIMIT : limit,
        position(request.getCursor()));
  }

  static LogFilter filter(RequestContext context, Filter filter) throws StatusException {
    for (int number : filter.getSeverityNumbersList()) {
      requireSeverity("filter.severity_numbers", number);
    }
    requireSeverity("filter.min_severity_number", filter.getMinSeverityNumber());
    var builder =
        LogFilter.of(context.tenant())
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
      builder.attribute(condition("filter.attributes[" + i + "]", filter.getAttributes(i)));
    }
    for (int i = 0; i < filter.getResourceCount(); i++) {
      builder.resource(condition("filter.resource[" + i + "]", filter.getResource(i)));
    }
    for (int i = 0; i < filter.getTemplateIdsCount(); i++) {
      builder.template(uuid("filter.template_ids[" + i + "]", filter.getTemplateIds(i)));
    }
    if (!filter.getResourceId().isEmpty()) {
      builder.resourceId(uuid("filter.resource_id", filter.getResourceId()));
    }
    try {
      return builder.build();
    } catch (IllegalArgumentException e) {
      throw InvalidArgument.field("filter", "has " + e.getMessage());
    }
  }

  private static void requireSeverity(String field, int number) throws StatusException {
    if (number < 0 || number > MAX_SEVERITY) {
      throw InvalidArgument.field(field, "is " + number + ", must be from 0 to " + MAX_SEVERITY);
    }
  }

  private static long time(String field, long nanos) throws StatusException {
    if (nanos < 0) {
      throw InvalidArgument.field(
          field, "is beyond 2262-04-11T23:47:16.854775807Z, the latest storable time");
    }
    return nanos;
  }

  private static @Nullable String id(String field, ByteString id, int length)
      throws StatusException {
    if (id.isEmpty()) {
      return null;
    }
    if (id.size() != length) {
      throw InvalidArgument.field(
          field, "has " + id.size() + " bytes, must have " + length + " or none");
    }
    return HEX.formatHex(id.toByteArray());
  }

  private static UUID uuid(String field, ByteString id) throws StatusException {
    if (id.size() != 2 * Long.BYTES) {
      throw InvalidArgument.field(field, "has " + id.size() + " bytes, must have 16");
    }
    var halves = id.asReadOnlyByteBuffer();
    return new UUID(halves.getLong(), halves.getLong());
  }

  private static @Nullable TextQuery text(String text) throws StatusException {
    if (text.isEmpty()) {
      return null;
    }
    try {
      return TextQuery.parse(text);
    } catch (IllegalArgumentException e) {
      throw InvalidArgument.field("filter.text", "has " + e.getMessage());
    }
  }

  private static AttributeCondition condition(
      String field, dev.sluice.proto.v1.AttributeCondition condition) throws StatusException {
    var operator =
        switch (condition.getOperator()) {
          case OPERATOR_UNSPECIFIED, OPERATOR_EQUAL -> AttributeCondition.Operator.EQUAL;
          case OPERATOR_NOT_EQUAL -> AttributeCondition.Operator.NOT_EQUAL;
          case OPERATOR_PREFIX -> AttributeCondition.Operator.PREFIX;
          case OPERATOR_EXISTS -> AttributeCondition.Operator.EXISTS;
          case OPERATOR_IN -> AttributeCondition.Operator.IN;
          case UNRECOGNIZED -> throw InvalidArgument.field(field + ".operator", "is unknown");
        };
    try {
      return new AttributeCondition(
          condition.getKey(), operator, List.copyOf(condition.getValuesList()));
    } catch (IllegalArgumentException e) {
      throw InvalidArgument.field(field + ".values", "has " + e.getMessage());
    }
  }

  private static @Nullable Position position(String cursor) throws StatusException {
    if (cursor.isEmpty()) {
      return null;
    }
    try {
      return Position.ofCursor(cursor);
    } catch (IllegalArgumentException _) {
      throw InvalidArgument.field("cursor", "is not a next_cursor of this API");
    }
  }

  private static QueryResponse toResponse(LogPage page) {
    var response = QueryResponse.newBuilder();
    var next = page.next();
    int bytes = 0;
    for (var log : page.logs()) {
      var stored = toProto(log);
      bytes += stored.getSerializedSize();
      if (bytes > BlockingUnaryCall.MAX_PAGE_BYTES && response.getLogsCount() > 0) {
        var last = page.logs().get(response.getLogsCount() - 1);
        next = new Position(last.timeNanos(), last.id());
        break;
      }
      response.addLogs(stored);
    }
    return next == null ? response.build() : response.setNextCursor(next.toCursor()).build();
  }

  static StoredLog toProto(LogReader.StoredLog log) {
    return StoredLog.newBuilder()
        .setId(toBytes(log.id().high(), log.id().low()))
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
        .setTemplateId(toBytes(log.templateId()))
        .setResourceId(toBytes(log.resourceId()))
        .build();
  }

  static ByteString toBytes(@Nullable UUID id) {
    return id == null
        ? ByteString.EMPTY
        : toBytes(id.getMostSignificantBits(), id.getLeastSignificantBits());
  }

  static ByteString toBytes(long high, long low) {
    return ByteString.copyFrom(
        ByteBuffer.allocate(2 * Long.BYTES).putLong(high).putLong(low).flip());
  }

  /** Parses an id; empty when invalid, which is possible in rows that other programs inserted. */
  private static ByteString id(String hex) {
    try {
      return ByteString.copyFrom(HEX.parseHex(hex));
    } catch (IllegalArgumentException _) {
      return ByteString.EMPTY;
    }
  }
}
