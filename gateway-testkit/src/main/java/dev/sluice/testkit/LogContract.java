package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.LogStore;
import dev.sluice.core.port.LogStore.StoreResult;
import dev.sluice.query.filter.AttributeCondition;
import dev.sluice.query.filter.AttributeCondition.Operator;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.filter.TextQuery;
import dev.sluice.query.port.LogReader;
import dev.sluice.query.port.LogReader.Position;
import dev.sluice.query.port.LogReader.Query;
import dev.sluice.query.port.LogReader.StoredLog;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.ArrayValue;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.common.v1.KeyValueList;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.logs.v1.ResourceLogs;
import io.opentelemetry.proto.logs.v1.ScopeLogs;
import io.opentelemetry.proto.resource.v1.Resource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Timeout;

/** Fixtures and assertions that the contracts of log stores and log readers share. */
@Timeout(120)
abstract class LogContract {
  static final long SECOND = 1_000_000_000L;
  static final long DAY = 86_400L * SECOND;

  /** 2026-01-15T08:00:00Z in nanoseconds since 1970. */
  static final long BASE_NANOS = 1_768_464_000L * SECOND;

  static final String TRACE = "0102030405060708090a0b0c0d0e0f10";

  static final AtomicInteger TOKENS = new AtomicInteger();

  /** Returns the store, the same within a test. */
  protected abstract LogStore store();

  /** Returns the reader of the logs in {@link #store}. */
  protected abstract LogReader reader();

  final void store(LogBatch... batches) throws InterruptedException {
    assertThat(store().store(token(), List.of(batches))).isEqualTo(new StoreResult.Stored());
  }

  static String token() {
    return "token-" + TOKENS.incrementAndGet();
  }

  final List<StoredLog> allLogs() throws InterruptedException {
    return read(query());
  }

  final List<StoredLog> read(QueryBuilder query) throws InterruptedException {
    return reader().read(query.build()).logs();
  }

  final List<Long> timesOf(QueryBuilder query) throws InterruptedException {
    return read(query).stream().map(StoredLog::timeNanos).toList();
  }

  final List<Integer> offsets(QueryBuilder query) throws InterruptedException {
    return read(query).stream().map(log -> (int) (BASE_NANOS - log.timeNanos())).toList();
  }

  final List<StoredLog> readAllPages(QueryBuilder query, int limit) throws InterruptedException {
    var logs = new ArrayList<StoredLog>();
    Position after = null;
    do {
      var page = reader().read(query.limit(limit).after(after).build());
      logs.addAll(page.logs());
      after = page.next();
    } while (after != null);
    return logs;
  }

  static QueryBuilder query() {
    return new QueryBuilder();
  }

  static final class QueryBuilder {
    private String tenant = "default";
    private @Nullable String service;
    private List<Integer> severities = List.of();
    private @Nullable Long from;
    private @Nullable Long to;
    private @Nullable String trace;
    private @Nullable String text;
    private int minSeverity;
    private @Nullable String span;
    private final List<AttributeCondition> attributes = new ArrayList<>();
    private final List<AttributeCondition> resource = new ArrayList<>();
    private final List<UUID> templates = new ArrayList<>();
    private @Nullable UUID resourceId;
    private int limit = 1000;
    private @Nullable Position after;

    QueryBuilder tenant(String name) {
      tenant = name;
      return this;
    }

    QueryBuilder service(String name) {
      service = name;
      return this;
    }

    QueryBuilder severities(Integer... numbers) {
      severities = List.of(numbers);
      return this;
    }

    QueryBuilder from(long nanos) {
      from = nanos;
      return this;
    }

    QueryBuilder to(long nanos) {
      to = nanos;
      return this;
    }

    QueryBuilder trace(String id) {
      trace = id;
      return this;
    }

    QueryBuilder text(String words) {
      text = words;
      return this;
    }

    QueryBuilder attributes(Map<String, String> required) {
      required.forEach((key, value) -> attributes.add(AttributeCondition.equal(key, value)));
      return this;
    }

    QueryBuilder attribute(String key, Operator operator, String... values) {
      attributes.add(new AttributeCondition(key, operator, List.of(values)));
      return this;
    }

    QueryBuilder resource(String key, Operator operator, String... values) {
      resource.add(new AttributeCondition(key, operator, List.of(values)));
      return this;
    }

    QueryBuilder minSeverity(int number) {
      minSeverity = number;
      return this;
    }

    QueryBuilder span(String id) {
      span = id;
      return this;
    }

    QueryBuilder template(UUID id) {
      templates.add(id);
      return this;
    }

    QueryBuilder resourceId(UUID id) {
      resourceId = id;
      return this;
    }

    QueryBuilder limit(int logs) {
      limit = logs;
      return this;
    }

    QueryBuilder after(@Nullable Position position) {
      after = position;
      return this;
    }

    Query build() {
      var filter =
          LogFilter.of(tenant)
              .service(service)
              .severities(severities)
              .minSeverity(minSeverity)
              .from(from)
              .to(to)
              .traceId(trace)
              .spanId(span)
              .resourceId(resourceId)
              .text(text == null ? null : TextQuery.parse(text));
      attributes.forEach(filter::attribute);
      resource.forEach(filter::resource);
      templates.forEach(filter::template);
      return new Query(filter.build(), limit, after);
    }
  }

  static LogBatch batchAt(List<Long> times) {
    return batchOf(
        times.stream()
            .map(time -> LogRecord.newBuilder().setTimeUnixNano(time).build())
            .toArray(LogRecord[]::new));
  }

  static LogRecord log(int nanosBefore) {
    return LogRecord.newBuilder().setTimeUnixNano(BASE_NANOS - nanosBefore).build();
  }

  static LogRecord logWithBody(int nanosBefore, String body) {
    return log(nanosBefore).toBuilder().setBody(string(body)).build();
  }

  static LogBatch batchOf(LogRecord... logs) {
    return LogBatches.of(request(Resource.getDefaultInstance(), Arrays.asList(logs)));
  }

  static byte[] request(Resource resource, List<LogRecord> logs) {
    return ExportLogsServiceRequest.newBuilder()
        .addResourceLogs(
            ResourceLogs.newBuilder()
                .setResource(resource)
                .addScopeLogs(ScopeLogs.newBuilder().addAllLogRecords(logs)))
        .build()
        .toByteArray();
  }

  static ByteString bytes(String hex) {
    return ByteString.copyFrom(HexFormat.of().parseHex(hex));
  }

  static KeyValue pair(String key, AnyValue value) {
    return KeyValue.newBuilder().setKey(key).setValue(value).build();
  }

  static AnyValue string(String value) {
    return AnyValue.newBuilder().setStringValue(value).build();
  }

  static AnyValue number(long value) {
    return AnyValue.newBuilder().setIntValue(value).build();
  }

  static AnyValue decimal(double value) {
    return AnyValue.newBuilder().setDoubleValue(value).build();
  }

  static AnyValue bool(boolean value) {
    return AnyValue.newBuilder().setBoolValue(value).build();
  }

  static AnyValue binary(byte[] value) {
    return AnyValue.newBuilder().setBytesValue(ByteString.copyFrom(value)).build();
  }

  static AnyValue list(AnyValue... values) {
    return AnyValue.newBuilder()
        .setArrayValue(ArrayValue.newBuilder().addAllValues(Arrays.asList(values)))
        .build();
  }

  static AnyValue map(KeyValue... pairs) {
    return AnyValue.newBuilder()
        .setKvlistValue(KeyValueList.newBuilder().addAllValues(Arrays.asList(pairs)))
        .build();
  }
}
