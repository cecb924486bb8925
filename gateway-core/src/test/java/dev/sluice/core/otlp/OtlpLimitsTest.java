package dev.sluice.core.otlp;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.otlp.CopyingVisitor.RejectedRecord;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.ArrayValue;
import io.opentelemetry.proto.common.v1.InstrumentationScope;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.common.v1.KeyValueList;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.logs.v1.ResourceLogs;
import io.opentelemetry.proto.logs.v1.ScopeLogs;
import io.opentelemetry.proto.resource.v1.Resource;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the walker's rejections and their messages, at each limit and one beyond. */
class OtlpLimitsTest {
  /** Limits: body 20, attributes 3, key 5, value 12, name 7, nesting 3. */
  private static final Limits SMALL =
      new Limits(Integer.MAX_VALUE, 1, Integer.MAX_VALUE, 20, 3, 5, 12, 7, 3);

  private static final byte[] NOT_UTF8 = {'a', (byte) 0xFF};

  static Stream<Arguments> recordLimits() {
    return Stream.of(
        limit("body", 20, n -> log().setBody(string(n))),
        limit("body", 20, n -> log().setBody(bytes(n))),
        limit("body", 20, n -> log().setBody(list(n))),
        limit("body", 20, n -> log().setBody(map(n))),
        limit("attributes.key", 12, n -> log().addAttributes(pair("key", string(n)))),
        limit("attributes.key", 12, n -> log().addAttributes(pair("key", bytes(n)))),
        limit("attributes.key", 12, n -> log().addAttributes(pair("key", list(n)))),
        limit("attributes.key", 12, n -> log().addAttributes(pair("key", map(n)))),
        limit("attributes", 5, n -> log().addAttributes(pair("k".repeat(n), string(1)))),
        limit("attributes.map", 5, n -> log().addAttributes(pair("map", nestedKey(n)))),
        limit("severity_text", 7, n -> log().setSeverityText("s".repeat(n))),
        limit("event_name", 7, n -> log().setEventName("e".repeat(n))));
  }

  private static Arguments limit(String field, int limit, IntFunction<LogRecord.Builder> record) {
    return Arguments.of(field, limit, record);
  }

  @ParameterizedTest
  @MethodSource("recordLimits")
  void walk_atALimitAndOneBeyond_acceptsAndRejects(
      String field, int limit, IntFunction<LogRecord.Builder> record) throws Exception {
    var sink = walk(OtlpRequests.of(record.apply(limit).build(), record.apply(limit + 1).build()));

    assertThat(sink.ordinals).containsExactly(0);
    assertThat(sink.rejected)
        .containsExactly(
            new RejectedRecord(1, field, "has " + (limit + 1) + " bytes, limit " + limit));
  }

  @Test
  void walk_attributesAtTheLimitAndOneBeyond_acceptsAndRejects() throws Exception {
    var sink = walk(OtlpRequests.of(attributes(3).build(), attributes(4).build()));

    assertThat(sink.ordinals).containsExactly(0);
    assertThat(sink.rejected)
        .containsExactly(
            new RejectedRecord(1, "attributes", "more attributes than the limit of 3"));
  }

  @Test
  void walk_repeatedKeys_countEachTime() throws Exception {
    var atLimit = repeatedKeys(3, 3);
    var beyond = repeatedKeys(4, 3);
    var flood = repeatedKeys(100_000, 1);

    var sink = walk(OtlpRequests.of(atLimit, beyond, flood));

    assertThat(sink.ordinals).containsExactly(0);
    assertThat(sink.rejected)
        .containsExactly(
            new RejectedRecord(1, "attributes", "more attributes than the limit of 3"),
            new RejectedRecord(2, "attributes", "more attributes than the limit of 3"));
  }

  @Test
  void walk_repeatedKeysOfResourceAndScope_countEachTime() throws Exception {
    var repeated = repeatedKeys(4, 1).getAttributesList();
    var logs = ScopeLogs.newBuilder().addLogRecords(log());
    var request =
        ExportLogsServiceRequest.newBuilder()
            .addResourceLogs(
                ResourceLogs.newBuilder()
                    .setResource(Resource.newBuilder().addAllAttributes(repeated))
                    .addScopeLogs(logs))
            .addResourceLogs(
                ResourceLogs.newBuilder()
                    .addScopeLogs(
                        logs.clone()
                            .setScope(
                                InstrumentationScope.newBuilder().addAllAttributes(repeated))))
            .build();

    assertThat(walk(request).rejected)
        .containsExactly(
            new RejectedRecord(0, "resource.attributes", "more attributes than the limit of 3"),
            new RejectedRecord(1, "scope.attributes", "more attributes than the limit of 3"));
  }

  /** A release that did not count repeated keys may have accepted the record. */
  @Test
  void walk_repeatedKeysInAnAcceptedBatch_countOnceAndLastWins() throws Exception {
    var log = repeatedKeys(10_000, 20);

    var sink = CopyingVisitor.walk(Limits.TRUSTED, OtlpRequests.of(log).toByteArray());

    assertThat(sink.rejected).isEmpty();
    assertThat(sink.logs).isEqualTo(FlatLog.of(OtlpRequests.of(log)));
    assertThat(sink.logs.getFirst().attributes())
        .containsEntry("k1", AnyValue.newBuilder().setIntValue(9_981).build());
  }

  private static LogRecord repeatedKeys(int count, int distinct) {
    var log = log();
    for (int i = 0; i < count; i++) {
      log.addAttributes(pair("k" + i % distinct, AnyValue.newBuilder().setIntValue(i).build()));
    }
    return log.build();
  }

  @Test
  void walk_defaultNumberOfAttributes_keepsEachOfThem() throws Exception {
    var log = attributes(256).build();

    var sink = CopyingVisitor.walk(Limits.DEFAULT, OtlpRequests.of(log).toByteArray());

    assertThat(sink.logs).isEqualTo(FlatLog.of(OtlpRequests.of(log)));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3, 32, 64})
  void walk_nestingAtTheLimitAndOneBeyond_acceptsAndRejects(int limit) throws Exception {
    var limits =
        new Limits(Integer.MAX_VALUE, 9, Integer.MAX_VALUE, 1 << 20, 9, 99, 1 << 20, 99, limit);
    for (boolean lists : new boolean[] {true, false}) {
      var request =
          OtlpRequests.of(
              log().setBody(nested(limit, lists)).build(),
              log().setBody(nested(limit + 1, lists)).build(),
              log().addAttributes(pair("deep", nested(limit + 1, lists))).build(),
              log().addAttributes(pair("deep", nested(limit, lists))).build());

      var sink = CopyingVisitor.walk(limits, request.toByteArray());

      assertThat(sink.ordinals).containsExactly(0, 3);
      assertThat(sink.rejected)
          .containsExactly(
              new RejectedRecord(1, "body", "is nested deeper than the limit of " + limit),
              new RejectedRecord(
                  2, "attributes.deep", "is nested deeper than the limit of " + limit));
    }
  }

  /** Depths beyond the limit of protobuf-java, and beyond the capacity of a stack. */
  @ParameterizedTest
  @ValueSource(ints = {33, 1_000, 5_000})
  void walk_extremeNesting_rejectsOneRecord(int depth) throws Exception {
    var deep = new byte[0];
    var out = new ByteOutput(64);
    for (int i = 0; i < depth; i++) {
      out.clear();
      var writer = new OtlpWriter(out);
      int list = writer.beginMessage(OtlpFields.ANY_VALUE_ARRAY_VALUE);
      writer.writeBytes(OtlpFields.ARRAY_VALUE_VALUES, deep, 0, deep.length);
      writer.endMessage(list);
      deep = out.toByteArray();
    }
    out.clear();
    new OtlpWriter(out).writeBytes(OtlpFields.LOG_RECORD_BODY, deep, 0, deep.length);

    var sink = CopyingVisitor.walk(Limits.DEFAULT, OtlpRequests.ofRecord(out.toByteArray()));

    assertThat(sink.rejected)
        .containsExactly(new RejectedRecord(0, "body", "is nested deeper than the limit of 32"));
  }

  @ParameterizedTest
  @CsvSource({"0, true", "15, false", "16, true", "17, false", "32, false"})
  void walk_traceId_hasSixteenBytesOrNone(int length, boolean accepted) throws Exception {
    var log = log().setTraceId(ByteString.copyFrom(new byte[length])).build();

    expect(log, accepted, "trace_id", "has " + length + " bytes, must have 16 or none");
  }

  @ParameterizedTest
  @CsvSource({"0, true", "7, false", "8, true", "9, false", "16, false"})
  void walk_spanId_hasEightBytesOrNone(int length, boolean accepted) throws Exception {
    var log = log().setSpanId(ByteString.copyFrom(new byte[length])).build();

    expect(log, accepted, "span_id", "has " + length + " bytes, must have 8 or none");
  }

  @ParameterizedTest
  @CsvSource({"0, true", "1, true", "24, true", "25, false", "-1, false", "2147483647, false"})
  void walk_severityNumber_isZeroToTwentyFour(int number, boolean accepted) throws Exception {
    var log = log().setSeverityNumberValue(number).build();

    expect(log, accepted, "severity_number", "is " + number + ", must be from 0 to 24");
  }

  @ParameterizedTest
  @CsvSource({"0, true", "9223372036854775807, true", "-9223372036854775808, false", "-1, false"})
  void walk_time_isBeforeTheEndOfSignedNanoseconds(long nanos, boolean accepted) throws Exception {
    var reason = "is beyond 2262-04-11T23:47:16.854775807Z, the latest storable time";

    expect(log().setTimeUnixNano(nanos).build(), accepted, "time_unix_nano", reason);
    expect(
        log().setObservedTimeUnixNano(nanos).build(), accepted, "observed_time_unix_nano", reason);
  }

  private static void expect(LogRecord log, boolean accepted, String field, String reason)
      throws Exception {
    var sink = walk(OtlpRequests.of(log));

    assertThat(sink.ordinals).isEqualTo(accepted ? List.of(0) : List.of());
    assertThat(sink.rejected)
        .isEqualTo(accepted ? List.of() : List.of(new RejectedRecord(0, field, reason)));
  }

  static Stream<Arguments> notUtf8() {
    return Stream.of(
        Arguments.of(
            "severity_text",
            record(w -> w.writeBytes(OtlpFields.LOG_RECORD_SEVERITY_TEXT, NOT_UTF8, 0, 2))),
        Arguments.of(
            "event_name",
            record(w -> w.writeBytes(OtlpFields.LOG_RECORD_EVENT_NAME, NOT_UTF8, 0, 2))),
        Arguments.of(
            "body",
            record(
                w ->
                    notUtf8Inside(
                        w, OtlpFields.ANY_VALUE_STRING_VALUE, OtlpFields.LOG_RECORD_BODY))),
        Arguments.of(
            "body",
            record(
                w ->
                    notUtf8Inside(
                        w,
                        OtlpFields.ANY_VALUE_STRING_VALUE,
                        OtlpFields.LOG_RECORD_BODY,
                        OtlpFields.ANY_VALUE_ARRAY_VALUE,
                        OtlpFields.ARRAY_VALUE_VALUES))),
        Arguments.of(
            "body",
            record(
                w ->
                    notUtf8Inside(
                        w,
                        OtlpFields.KEY_VALUE_KEY,
                        OtlpFields.LOG_RECORD_BODY,
                        OtlpFields.ANY_VALUE_KVLIST_VALUE,
                        OtlpFields.KEY_VALUE_LIST_VALUES))),
        Arguments.of(
            "body",
            record(
                w ->
                    notUtf8Inside(
                        w,
                        OtlpFields.ANY_VALUE_STRING_VALUE,
                        OtlpFields.LOG_RECORD_BODY,
                        OtlpFields.ANY_VALUE_KVLIST_VALUE,
                        OtlpFields.KEY_VALUE_LIST_VALUES,
                        OtlpFields.KEY_VALUE_VALUE))),
        Arguments.of(
            "attributes",
            record(
                w -> notUtf8Inside(w, OtlpFields.KEY_VALUE_KEY, OtlpFields.LOG_RECORD_ATTRIBUTES))),
        Arguments.of(
            "attributes.",
            record(
                w ->
                    notUtf8Inside(
                        w,
                        OtlpFields.ANY_VALUE_STRING_VALUE,
                        OtlpFields.LOG_RECORD_ATTRIBUTES,
                        OtlpFields.KEY_VALUE_VALUE))));
  }

  @ParameterizedTest
  @MethodSource("notUtf8")
  void walk_textThatIsNotUtf8_rejectsTheRecordByField(String field, byte[] record)
      throws Exception {
    var sink = CopyingVisitor.walk(SMALL, OtlpRequests.ofRecord(record));

    assertThat(sink.rejected).containsExactly(new RejectedRecord(0, field, "is not valid UTF-8"));
  }

  private static byte[] record(Consumer<OtlpWriter> content) {
    var out = new ByteOutput(64);
    content.accept(new OtlpWriter(out));
    return out.toByteArray();
  }

  /** Writes a text field that is not UTF-8 into messages that are nested in the given fields. */
  private static void notUtf8Inside(OtlpWriter writer, int textField, int... fields) {
    var marks = new int[fields.length];
    for (int i = 0; i < fields.length; i++) {
      marks[i] = writer.beginMessage(fields[i]);
    }
    writer.writeBytes(textField, NOT_UTF8, 0, NOT_UTF8.length);
    for (int i = fields.length - 1; i >= 0; i--) {
      writer.endMessage(marks[i]);
    }
  }

  /** A rejection names the key even if it follows its value, but not if the key is invalid. */
  @Test
  void walk_keyAfterItsValue_isNamed() throws Exception {
    var record =
        record(
            w -> {
              int pair = w.beginMessage(OtlpFields.LOG_RECORD_ATTRIBUTES);
              int any = w.beginMessage(OtlpFields.KEY_VALUE_VALUE);
              w.writeString(OtlpFields.ANY_VALUE_STRING_VALUE, "x".repeat(13));
              w.endMessage(any);
              w.writeString(OtlpFields.KEY_VALUE_KEY, "late");
              w.endMessage(pair);
            });

    var sink = CopyingVisitor.walk(SMALL, OtlpRequests.ofRecord(record));

    assertThat(sink.rejected)
        .containsExactly(new RejectedRecord(0, "attributes.late", "has 13 bytes, limit 12"));
  }

  @Test
  void walk_severalViolations_reportsTheFirst() throws Exception {
    var log =
        log()
            .addAttributes(pair("one", string(13)))
            .addAttributes(pair("two", string(14)))
            .setTraceId(ByteString.copyFrom(new byte[3]))
            .build();

    assertThat(walk(OtlpRequests.of(log)).rejected)
        .containsExactly(new RejectedRecord(0, "attributes.one", "has 13 bytes, limit 12"));
  }

  static Stream<Arguments> invalidResources() {
    var good = ResourceLogs.newBuilder();
    return Stream.of(
        Arguments.of(
            "resource.attributes.key",
            good.clone().setResource(Resource.newBuilder().addAttributes(pair("key", string(13))))),
        Arguments.of(
            "resource.attributes",
            good.clone()
                .setResource(
                    Resource.newBuilder().addAllAttributes(attributes(4).getAttributesList()))),
        Arguments.of("resource.schema_url", good.clone().setSchemaUrl("s".repeat(8))));
  }

  @ParameterizedTest
  @MethodSource("invalidResources")
  void walk_invalidResource_rejectsExactlyItsRecords(String field, ResourceLogs.Builder invalid)
      throws Exception {
    var two = ScopeLogs.newBuilder().addLogRecords(log()).addLogRecords(log());
    var fine = ResourceLogs.newBuilder().addScopeLogs(two);
    var request =
        ExportLogsServiceRequest.newBuilder()
            .addResourceLogs(fine)
            .addResourceLogs(invalid.clone().addScopeLogs(two).addScopeLogs(two))
            .addResourceLogs(fine)
            .build();

    var sink = walk(request);

    assertThat(sink.ordinals).containsExactly(0, 1, 6, 7);
    assertThat(sink.rejected).extracting(RejectedRecord::ordinal).containsExactly(2, 3, 4, 5);
    assertThat(sink.rejected).extracting(RejectedRecord::field).containsOnly(field);
  }

  static Stream<Arguments> invalidScopes() {
    var scope = InstrumentationScope.newBuilder();
    return Stream.of(
        Arguments.of("scope.name", scopeLogs(scope.clone().setName("n".repeat(8)))),
        Arguments.of("scope.version", scopeLogs(scope.clone().setVersion("v".repeat(8)))),
        Arguments.of(
            "scope.attributes.key",
            scopeLogs(scope.clone().addAttributes(pair("key", string(13))))),
        Arguments.of(
            "scope.attributes",
            scopeLogs(scope.clone().addAllAttributes(attributes(4).getAttributesList()))),
        Arguments.of("scope.schema_url", scopeLogs(scope).setSchemaUrl("s".repeat(8))));
  }

  @ParameterizedTest
  @MethodSource("invalidScopes")
  void walk_invalidScope_rejectsExactlyItsRecords(String field, ScopeLogs.Builder invalid)
      throws Exception {
    var fine = ScopeLogs.newBuilder().addLogRecords(log());
    var logs =
        ResourceLogs.newBuilder()
            .addScopeLogs(fine)
            .addScopeLogs(invalid.clone().addLogRecords(log()).addLogRecords(log()))
            .addScopeLogs(fine);
    var request =
        ExportLogsServiceRequest.newBuilder()
            .addResourceLogs(logs)
            .addResourceLogs(ResourceLogs.newBuilder().addScopeLogs(fine))
            .build();

    var sink = walk(request);

    assertThat(sink.ordinals).containsExactly(0, 3, 4);
    assertThat(sink.rejected).extracting(RejectedRecord::ordinal).containsExactly(1, 2);
    assertThat(sink.rejected).extracting(RejectedRecord::field).containsOnly(field);
  }

  @Test
  void walk_namesOfResourceAndScopeAtTheLimit_areAccepted() throws Exception {
    var request =
        ExportLogsServiceRequest.newBuilder()
            .addResourceLogs(
                ResourceLogs.newBuilder()
                    .setSchemaUrl("s".repeat(7))
                    .setResource(
                        Resource.newBuilder().addAllAttributes(attributes(3).getAttributesList()))
                    .addScopeLogs(
                        scopeLogs(
                                InstrumentationScope.newBuilder()
                                    .setName("n".repeat(7))
                                    .setVersion("v".repeat(7))
                                    .addAllAttributes(attributes(3).getAttributesList()))
                            .setSchemaUrl("u".repeat(7))
                            .addLogRecords(log())))
            .build();

    assertThat(walk(request).rejected).isEmpty();
  }

  @Test
  void expandedBytes_sharedResource_countsWithEachAcceptedRecord() throws Exception {
    var resource = Resource.newBuilder().addAttributes(pair("r", string(9))).build();
    var scope = InstrumentationScope.newBuilder().setName("name").build();
    var good = log().setBody(string(7)).build();
    var bad = log().setSeverityNumberValue(99).build();
    var request =
        ExportLogsServiceRequest.newBuilder()
            .addResourceLogs(
                ResourceLogs.newBuilder()
                    .setResource(resource)
                    .addScopeLogs(
                        ScopeLogs.newBuilder()
                            .setScope(scope)
                            .addLogRecords(good)
                            .addLogRecords(bad)
                            .addLogRecords(good)))
            .addResourceLogs(
                ResourceLogs.newBuilder().addScopeLogs(ScopeLogs.newBuilder().addLogRecords(good)))
            .build()
            .toByteArray();
    var walker = new OtlpWalker(SMALL);

    walker.walk(request, 0, request.length, new CopyingVisitor(0, request.length));

    assertThat(walker.records()).isEqualTo(4);
    assertThat(walker.expandedBytes())
        .isEqualTo(
            3L * good.getSerializedSize()
                + 2L * (resource.getSerializedSize() + scope.getSerializedSize()));
  }

  @Property(tries = 500, shrinking = ShrinkingMode.OFF)
  void walk_trustedLimits_acceptsWhateverAnyLimitsAccepted(@ForAll long seed) throws Exception {
    var random = new SplittableRandom(seed);
    var limits =
        new Limits(
            Integer.MAX_VALUE,
            Integer.MAX_VALUE,
            Integer.MAX_VALUE,
            1 + random.nextInt(60),
            1 + random.nextInt(6),
            1 + random.nextInt(12),
            1 + random.nextInt(60),
            1 + random.nextInt(12),
            1 + random.nextInt(6));
    var bytes = RandomOtlp.request(random).toByteArray();

    var limited = CopyingVisitor.walk(limits, bytes);
    var again = CopyingVisitor.walk(Limits.TRUSTED, bytes);

    assertThat(again.ordinals).containsAll(limited.ordinals);
    for (int i = 0; i < limited.ordinals.size(); i++) {
      assertThat(again.logs.get(again.ordinals.indexOf(limited.ordinals.get(i))))
          .isEqualTo(limited.logs.get(i));
    }
  }

  private static CopyingVisitor walk(ExportLogsServiceRequest request)
      throws MalformedOtlpException {
    return CopyingVisitor.walk(SMALL, request.toByteArray());
  }

  private static LogRecord.Builder log() {
    return LogRecord.newBuilder();
  }

  private static ScopeLogs.Builder scopeLogs(InstrumentationScope.Builder scope) {
    return ScopeLogs.newBuilder().setScope(scope);
  }

  private static LogRecord.Builder attributes(int count) {
    var log = log();
    for (int i = 0; i < count; i++) {
      log.addAttributes(pair("k" + i, AnyValue.newBuilder().setIntValue(i).build()));
    }
    return log;
  }

  private static KeyValue pair(String key, AnyValue value) {
    return KeyValue.newBuilder().setKey(key).setValue(value).build();
  }

  private static AnyValue string(int length) {
    return AnyValue.newBuilder().setStringValue("x".repeat(length)).build();
  }

  private static AnyValue bytes(int length) {
    return AnyValue.newBuilder().setBytesValue(ByteString.copyFrom(new byte[length])).build();
  }

  /** Returns a list with an encoded size of {@code length} bytes. */
  private static AnyValue list(int length) {
    return AnyValue.newBuilder()
        .setArrayValue(ArrayValue.newBuilder().addValues(string(length - 4)))
        .build();
  }

  /** Returns a map with an encoded size of {@code length} bytes. */
  private static AnyValue map(int length) {
    return AnyValue.newBuilder()
        .setKvlistValue(KeyValueList.newBuilder().addValues(pair("", string(length - 6))))
        .build();
  }

  private static AnyValue nestedKey(int length) {
    return AnyValue.newBuilder()
        .setKvlistValue(
            KeyValueList.newBuilder().addValues(KeyValue.newBuilder().setKey("k".repeat(length))))
        .build();
  }

  private static AnyValue nested(int depth, boolean lists) {
    if (depth == 0) {
      return string(1);
    }
    var below = nested(depth - 1, lists);
    return lists
        ? AnyValue.newBuilder().setArrayValue(ArrayValue.newBuilder().addValues(below)).build()
        : AnyValue.newBuilder()
            .setKvlistValue(KeyValueList.newBuilder().addValues(pair("n", below)))
            .build();
  }
}
