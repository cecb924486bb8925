package dev.sluice.api.protocol.legacy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.domain.Rejection;
import dev.sluice.core.domain.Severity;
import dev.sluice.core.ingest.DecodeException;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.proto.logs.IngestLogsRequest;
import dev.sluice.proto.logs.LogEntry;
import dev.sluice.proto.logs.LogEntryBatch;
import dev.sluice.proto.logs.LogEntryInput;
import dev.sluice.proto.logs.LogLevel;
import dev.sluice.query.port.LogReader.StoredLog;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.logs.v1.LogRecord;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class LegacyLogDecoderTest {
  private static final String HEX = "5b8efff798038103d269b633813fc60c";
  private static final String GOOD =
      "{\"app_id\":\"a\",\"level\":\"INFO\",\"message\":\"m\",\"source\":\"s\"}";

  private static final LogEntry EVERYTHING =
      LogEntry.newBuilder()
          .setId("id-1")
          .setAppId("cart")
          .setTimestamp(1_700_000_000_123L)
          .setLevel(LogLevel.FATAL)
          .setMessage("out of \"café\" \\")
          .setSource("web-1")
          .setEnvironment("staging")
          .putMetadata("region", "eu")
          .putMetadata("source", "theirs")
          .setTraceId(HEX)
          .setUserId("u-1")
          .build();

  private static OtlpPayload json(String body) {
    return LegacyLogDecoder.ofJson(body.getBytes(UTF_8), Limits.DEFAULT);
  }

  /** Returns a valid row with an additional member, or with another value for a member. */
  private static String row(String member) {
    return GOOD.replace("}", "," + member + "}");
  }

  private static ExportLogsServiceRequest otlp(OtlpPayload payload) {
    try {
      return ExportLogsServiceRequest.parseFrom(
          ByteString.copyFrom(payload.bytes(), 0, payload.length()));
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalArgumentException(e);
    }
  }

  private static LogRecord record(OtlpPayload payload) {
    assertThat(payload.rejections()).isEmpty();
    return otlp(payload).getResourceLogs(0).getScopeLogs(0).getLogRecords(0);
  }

  private static Map<String, AnyValue> attributes(OtlpPayload payload) {
    var attributes = new TreeMap<String, AnyValue>();
    record(payload)
        .getAttributesList()
        .forEach(
            pair ->
                assertThat(attributes.put(pair.getKey(), pair.getValue()))
                    .as(pair.getKey())
                    .isNull());
    return attributes;
  }

  private static AnyValue attribute(OtlpPayload payload, String key) {
    return attributes(payload).getOrDefault(key, AnyValue.getDefaultInstance());
  }

  private static String text(OtlpPayload payload, String attribute) {
    return attribute(payload, attribute).getStringValue();
  }

  private static String traceId(OtlpPayload payload) {
    return HexFormat.of().formatHex(record(payload).getTraceId().toByteArray());
  }

  private static void assertEverything(OtlpPayload payload) {
    var request = otlp(payload);
    var resource = request.getResourceLogs(0).getResource().getAttributesList();
    assertThat(resource).singleElement().extracting(a -> a.getKey()).isEqualTo("service.name");
    assertThat(resource.getFirst().getValue().getStringValue()).isEqualTo("cart");
    var log = record(payload);
    assertThat(log.getTimeUnixNano()).isEqualTo(1_700_000_000_123_000_000L);
    assertThat(log.getSeverityNumberValue()).isEqualTo(21);
    assertThat(log.getSeverityText()).isEqualTo("FATAL");
    assertThat(log.getBody().getStringValue()).isEqualTo("out of \"café\" \\");
    assertThat(traceId(payload)).isEqualTo(HEX);
    var attributes = attributes(payload);
    assertThat(attributes.keySet())
        .containsExactly("environment", "id", "metadata.source", "region", "source", "user_id");
    assertThat(attributes.values())
        .extracting(AnyValue::getStringValue)
        .containsExactly("staging", "id-1", "theirs", "eu", "web-1", "u-1");
  }

  @Test
  void ofJson_everyField_isMappedToOtlp() {
    assertEverything(
        json(
            """
            {"id":"id-1","app_id":"cart","timestamp":"2023-11-14T22:13:20.123Z","level":"FATAL",
             "message":"out of \\"café\\" \\\\","source":"web-1","environment":"staging",
             "metadata":{"region":"eu","source":"theirs"},"trace_id":"%s","user_id":"u-1"}"""
                .formatted(HEX)));
  }

  @Test
  void ofProtobuf_everyField_isTheSameOtlp() {
    assertEverything(LegacyLogDecoder.ofProtobuf(EVERYTHING.toByteArray(), Limits.DEFAULT));
  }

  @Test
  void ofProtobufBatch_everyField_isTheSameOtlp() {
    var batch = LogEntryBatch.newBuilder().addEntries(EVERYTHING).build();

    assertEverything(LegacyLogDecoder.ofProtobufBatch(batch.toByteArray(), Limits.DEFAULT));
  }

  @Test
  void ofIngestLogsRequest_everyField_isMappedToOtlp() {
    var input =
        LogEntryInput.newBuilder()
            .setAppId("cart")
            .setLevel(" fatal ")
            .setMessage("m")
            .setSource("web-1")
            .setEnvironment("staging")
            .putMetadata("region", "eu")
            .setTraceId(HEX)
            .setUserId("u-1")
            .build();

    var payload =
        LegacyLogDecoder.ofIngestLogsRequest(
            IngestLogsRequest.newBuilder().addLogs(input).build().toByteArray(), Limits.DEFAULT);

    var log = record(payload);
    assertThat(log.getTimeUnixNano()).isZero();
    assertThat(log.getSeverityNumberValue()).isEqualTo(21);
    assertThat(log.getSeverityText()).isEqualTo(" fatal ");
    assertThat(log.getBody().getStringValue()).isEqualTo("m");
    assertThat(traceId(payload)).isEqualTo(HEX);
    assertThat(attributes(payload).keySet())
        .containsExactly("environment", "region", "source", "user_id");
  }

  @ParameterizedTest
  @CsvSource({
    "DEBUG, 5",
    "info, 9",
    "'  Warn ', 13",
    "ERROR, 17",
    "fatal, 21",
    "TRACE, 1",
    "warning, 13",
    "INFO3, 11",
  })
  void ofJson_level_isSeverityNumberAndTheSentText(String level, int number) {
    var log = record(json(row("\"level\":\"" + level + "\"")));

    assertThat(log.getSeverityNumberValue()).isEqualTo(number);
    assertThat(log.getSeverityText()).isEqualTo(level);
  }

  @Test
  void ofProtobuf_zeroLevelAndTimestamp_isDebugAtTheTimeOfReceipt() {
    var entry =
        LogEntry.newBuilder()
            .setAppId("a")
            .setMessage("m")
            .setSource("s")
            .setLevel(LogLevel.DEBUG)
            .setTimestamp(0)
            .build();

    var log = record(LegacyLogDecoder.ofProtobuf(entry.toByteArray(), Limits.DEFAULT));

    assertThat(log.getSeverityNumberValue()).isEqualTo(5);
    assertThat(log.getSeverityText()).isEqualTo("DEBUG");
    assertThat(log.getTimeUnixNano()).isZero();
  }

  @Test
  void ofProtobuf_fewMilliseconds_areMillisecondsNotSeconds() {
    var entry = EVERYTHING.toBuilder().setTimestamp(1_700_000_000).build();

    assertThat(
            record(LegacyLogDecoder.ofProtobuf(entry.toByteArray(), Limits.DEFAULT))
                .getTimeUnixNano())
        .isEqualTo(1_700_000_000_000_000L);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "\"environment\":null", "\"environment\":\"\""})
  void ofJson_noEnvironment_isProd(String member) {
    assertThat(text(json(member.isEmpty() ? GOOD : row(member)), "environment")).isEqualTo("prod");
  }

  @ParameterizedTest
  @CsvSource({
    HEX + ", " + HEX + ", ''",
    "5B8EFFF798038103D269B633813FC60C, " + HEX + ", 5B8EFFF798038103D269B633813FC60C",
    "5b8efff7-9803-8103-d269-b633813fc60c, " + HEX + ", 5b8efff7-9803-8103-d269-b633813fc60c",
    "5B8EFFF7-9803-8103-D269-B633813FC60C, " + HEX + ", 5B8EFFF7-9803-8103-D269-B633813FC60C",
    "5b8efff79803-8103-d269-b633813fc60c-, '', 5b8efff79803-8103-d269-b633813fc60c-",
    "order 7, '', order 7",
    "'', '', ''",
  })
  void ofJson_traceId_isParsedIfValidAndKeptAsAttributeIfNotCanonical(
      String sent, String traceId, String attribute) {
    var payload = json(row("\"trace_id\":\"" + sent + "\""));

    assertThat(traceId(payload)).isEqualTo(traceId);
    assertThat(text(payload, "trace_id")).isEqualTo(attribute);
  }

  @Test
  void ofJson_metadata_keepsItsTypesAndNestingAndItsKeys() {
    var payload =
        json(
            row(
                """
                    "metadata":{"text":"t","int":7,"float":0.5,"bool":true,"null":null,
                      "list":[1,{"a":"b"}],"map":{"source":{"deep":[]}},"metadata.other":1}"""));

    assertThat(attribute(payload, "text").getStringValue()).isEqualTo("t");
    assertThat(attribute(payload, "int").getIntValue()).isEqualTo(7);
    assertThat(attribute(payload, "float").getDoubleValue()).isEqualTo(0.5);
    assertThat(attribute(payload, "bool").getBoolValue()).isTrue();
    assertThat(attributes(payload)).containsKey("null");
    assertThat(attribute(payload, "null")).isEqualTo(AnyValue.getDefaultInstance());
    assertThat(attribute(payload, "list").getArrayValue().getValues(1).getKvlistValue())
        .extracting(map -> map.getValues(0).getKey())
        .isEqualTo("a");
    assertThat(attribute(payload, "map").getKvlistValue().getValues(0).getKey())
        .isEqualTo("source");
    assertThat(attribute(payload, "metadata.other").getIntValue()).isEqualTo(1);
  }

  @Test
  void ofJson_unknownFields_areCounted() {
    assertThat(json(row("\"extra\":{\"deep\":[1]},\"more\":1")).unknownFields()).isEqualTo(2);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "'\"app_id\":null'           | app_id      | is missing",
        "'\"app_id\":\"\"'           | app_id      | is missing",
        "'\"app_id\":7'              | app_id      | must be text",
        "'\"message\":\"\"'          | message     | is missing",
        "'\"message\":{\"a\":[1]}'   | message     | must be text",
        "'\"level\":\"\"'            | level       | is missing",
        "'\"level\":\"loud\"'        | level       | is unknown",
        "'\"level\":3'               | level       | must be text",
        "'\"source\":\"\"'           | source      | is missing",
        "'\"source\":[]'             | source      | must be text",
        "'\"environment\":1'         | environment | must be text",
        "'\"metadata\":\"m\"'        | metadata    | must be an object",
        "'\"metadata\":[{}]'         | metadata    | must be an object",
        "'\"trace_id\":1'            | trace_id    | must be text",
        "'\"user_id\":42'            | user_id     | must be text",
        "'\"id\":{}'                 | id          | must be text",
        "'\"timestamp\":\"soon\"'    | timestamp   | is neither",
        "'\"timestamp\":{\"a\":1}'   | timestamp   | must be text or a number",
        "'\"timestamp\":-1'          | timestamp   | is before 1970",
      })
  void ofJson_invalidField_rejectsThatRow(String member, String field, String reason) {
    // the last of two equal members wins; null counts as absent
    var bad = member.endsWith("null") ? GOOD.replace("\"app_id\":\"a\"", member) : row(member);
    var payload = json("[" + GOOD + "," + bad + "," + GOOD + "]");

    assertThat(payload.rejections())
        .singleElement()
        .satisfies(
            verdict -> {
              assertThat(verdict.index()).isEqualTo(1);
              assertThat(verdict.field()).isEqualTo(field);
              assertThat(verdict.reason()).startsWith(reason);
            });
    assertThat(payload.rowIndexes()).startsWith(0, 2);
  }

  @Test
  void ofJson_rowsThatAreNotObjects_areRejected() {
    var payload = json("[1,[2,{}],null," + GOOD + "]");

    assertThat(payload.rejections())
        .extracting(Rejection::reason)
        .containsExactly("is not an object", "is not an object", "is not an object");
    assertThat(payload.rowIndexes()).startsWith(3);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", " \n", "[]"})
  void ofJson_emptyBody_hasNoRecords(String body) {
    assertThat(json(body).length()).isZero();
    assertThat(json(body).rejectedCount()).isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {"7", "{", "[{]", "{} {}", "null"})
  void ofJson_malformedBody_throwsDecodeException(String body) {
    assertThatThrownBy(() -> json(body)).isInstanceOf(DecodeException.class);
  }

  /** Returns the bytes with one byte that is not valid UTF-8. */
  private static byte[] corrupted(byte[] message, String where) {
    var text = new String(message, ISO_8859_1);
    assertThat(text).contains(where);
    return text.replace(where, "\u00ff" + where.substring(1)).getBytes(ISO_8859_1);
  }

  @ParameterizedTest
  @CsvSource({
    "cart, app_id",
    "out of, message",
    "web-1, source",
    "staging, environment",
    "region, metadata",
    "theirs, metadata",
    "u-1, user_id",
    "id-1, id",
    HEX + ", trace_id",
  })
  void ofProtobufBatch_invalidByteInOneEntry_rejectsOnlyThatEntry(String where, String field) {
    var good = EVERYTHING.toBuilder().clear().setAppId("a").setMessage("m").setSource("s").build();
    var batch =
        LogEntryBatch.newBuilder().addEntries(good).addEntries(EVERYTHING).addEntries(good).build();

    var payload =
        LegacyLogDecoder.ofProtobufBatch(corrupted(batch.toByteArray(), where), Limits.DEFAULT);

    assertThat(payload.rejections()).containsExactly(new Rejection(1, field, "is not valid UTF-8"));
    assertThat(payload.rowIndexes()).startsWith(0, 2);
  }

  @Test
  void ofIngestLogsRequest_invalidByteInOneLog_rejectsOnlyThatLog() {
    var input =
        LogEntryInput.newBuilder().setAppId("a").setLevel("INFO").setMessage("m").setSource("s");
    var request =
        IngestLogsRequest.newBuilder()
            .addLogs(input.build())
            .addLogs(input.clone().setMessage("bad one"))
            .build();

    var payload =
        LegacyLogDecoder.ofIngestLogsRequest(
            corrupted(request.toByteArray(), "bad one"), Limits.DEFAULT);

    assertThat(payload.rejections())
        .containsExactly(new Rejection(1, "message", "is not valid UTF-8"));
    assertThat(payload.rowIndexes()).startsWith(0);
  }

  @Test
  void ofProtobuf_missingOrUnknownValue_isRejected() {
    var batch =
        LogEntryBatch.newBuilder()
            .addEntries(LogEntry.getDefaultInstance())
            .addEntries(EVERYTHING.toBuilder().setLevelValue(7))
            .addEntries(EVERYTHING.toBuilder().setTimestamp(-1))
            .addEntries(EVERYTHING.toBuilder().setTimestamp(Long.MAX_VALUE))
            .build();

    assertThat(LegacyLogDecoder.ofProtobufBatch(batch.toByteArray(), Limits.DEFAULT).rejections())
        .extracting(verdict -> verdict.index() + " " + verdict.field())
        .containsExactly("0 app_id", "1 level", "2 timestamp", "3 timestamp");
  }

  @Test
  void ofProtobuf_malformedField_throwsDecodeExceptionDespiteOtherErrors() {
    byte[] entry = EVERYTHING.toByteArray();
    entry[entry.length - 4] = 100; // the length of user_id
    var batch =
        LogEntryBatch.newBuilder().addEntries(EVERYTHING).build().toByteString().toByteArray();
    batch[batch.length - 4] = 100;

    assertThatThrownBy(() -> LegacyLogDecoder.ofProtobuf(entry, Limits.DEFAULT))
        .isInstanceOf(DecodeException.class)
        .hasMessageContaining("logs.LogEntry");
    assertThatThrownBy(() -> LegacyLogDecoder.ofProtobufBatch(batch, Limits.DEFAULT))
        .isInstanceOf(DecodeException.class);
    assertThatThrownBy(
            () -> LegacyLogDecoder.ofProtobufBatch(corrupted(batch, "cart"), Limits.DEFAULT))
        .isInstanceOf(DecodeException.class);
  }

  @Test
  void ofProtobuf_manyUnknownFields_areCountedAndTheLogIsAccepted() throws IOException {
    var bytes = new ByteArrayOutputStream();
    EVERYTHING.writeTo(bytes);
    var out = CodedOutputStream.newInstance(bytes);
    for (int i = 0; i < 100_000; i++) {
      out.writeUInt32(1000 + i, 7);
    }
    out.writeString(LegacyFields.LOG_ENTRY_TIMESTAMP, "a timestamp of another type");
    out.flush();

    var payload = LegacyLogDecoder.ofProtobuf(bytes.toByteArray(), Limits.DEFAULT);

    assertEverything(payload);
    assertThat(payload.unknownFields()).isEqualTo(100_001);
  }

  @Test
  void ofProtobufBatch_tooManyMetadataEntries_rejectThatLogOnce() {
    var many = EVERYTHING.toBuilder();
    for (int i = 0; i < 100_000; i++) {
      many.putMetadata("k" + i, "v");
    }
    var batch =
        LogEntryBatch.newBuilder()
            .addEntries(EVERYTHING)
            .addEntries(many)
            .addEntries(EVERYTHING)
            .build();

    var payload = LegacyLogDecoder.ofProtobufBatch(batch.toByteArray(), Limits.DEFAULT);

    assertThat(payload.rejections())
        .containsExactly(new Rejection(1, "metadata", "more attributes than the limit of 256"));
    assertThat(payload.rowIndexes()).startsWith(0, 2);
    assertThat(payload.length()).isLessThan(1000);
  }

  @Test
  void ofProtobufBatch_asManyMetadataEntriesAsAttributesInEachEntry_isLeftToTheWalker() {
    var full = LogEntry.newBuilder().setAppId("a").setMessage("m").setSource("s");
    for (int i = 0; i < Limits.DEFAULT.maxAttributes(); i++) {
      full.putMetadata("k" + i, "v");
    }
    var batch = LogEntryBatch.newBuilder().addEntries(full).addEntries(full).build();

    assertThat(LegacyLogDecoder.ofProtobufBatch(batch.toByteArray(), Limits.DEFAULT).rejections())
        .isEmpty();
  }

  @Test
  void ofProtobuf_repeatedFields_lastOneWins() {
    var first =
        LogEntry.newBuilder()
            .setId("x")
            .setAppId("x")
            .setTimestamp(1)
            .setLevel(LogLevel.WARN)
            .setMessage("x")
            .setSource("x")
            .setEnvironment("x")
            .setTraceId("x")
            .setUserId("x")
            .build()
            .toByteString();

    assertEverything(
        LegacyLogDecoder.ofProtobuf(
            first.concat(EVERYTHING.toByteString()).toByteArray(), Limits.DEFAULT));
  }

  @Test
  void ofProtobuf_metadataWithoutKeyOrValue_isEmptyText() {
    var entry = LogEntry.newBuilder().setAppId("a").setMessage("m").setSource("s").build();
    var nothing = ByteString.copyFrom(new byte[] {LegacyFields.LOG_ENTRY_METADATA_TAG, 0});

    var payload =
        LegacyLogDecoder.ofProtobuf(
            entry.toByteString().concat(nothing).toByteArray(), Limits.DEFAULT);

    assertThat(attributes(payload)).containsKey("");
    assertThat(attribute(payload, "").hasStringValue()).isTrue();
  }

  @Test
  void ofProtobufBatch_moreThanTheLimit_isTooLarge() {
    var limits = new Limits(1 << 20, 2, 1 << 22, 200, 8, 24, 60, 40, 4);
    var batch =
        LogEntryBatch.newBuilder()
            .addEntries(EVERYTHING)
            .addEntries(EVERYTHING)
            .addEntries(EVERYTHING)
            .build();

    assertThatThrownBy(() -> LegacyLogDecoder.ofProtobufBatch(batch.toByteArray(), limits))
        .isInstanceOfSatisfying(
            DecodeException.class, failure -> assertThat(failure.tooLarge()).isTrue());
  }

  private static StoredLog stored(int severity, String traceId, Map<String, String> attributes) {
    return new StoredLog(
        new LogId(1, 2),
        1_700_000_000_123_456_789L,
        0,
        0,
        severity,
        "",
        "cart",
        "m",
        traceId,
        "",
        0,
        "",
        attributes,
        0,
        Map.of(),
        "",
        "",
        "",
        Map.of(),
        "",
        null,
        null);
  }

  @Test
  void legacyLog_ofALegacyLog_equalsTheSentLog() {
    var sent = List.of("source", "metadata.source", "metadata.metadata.id", "metadata.x", "y");
    var attributes = new TreeMap<String, String>();
    sent.forEach(key -> attributes.put(LegacyLog.attributeOf(key), "of " + key));
    attributes.putAll(
        Map.of("id", "7", "source", "s", "environment", "e", "user_id", "u", "trace_id", "T"));

    var log = LegacyLog.of(stored(17, HEX, attributes));

    assertThat(log.id()).isEqualTo("7");
    assertThat(log.appId()).isEqualTo("cart");
    assertThat(log.timeNanos()).isEqualTo(1_700_000_000_123_456_789L);
    assertThat(log.level()).isEqualTo(Severity.ERROR);
    assertThat(log.message()).isEqualTo("m");
    assertThat(log.source()).isEqualTo("s");
    assertThat(log.environment()).isEqualTo("e");
    assertThat(log.userId()).isEqualTo("u");
    assertThat(log.traceId()).isEqualTo("T");
    var expected = new TreeMap<String, String>();
    sent.forEach(key -> expected.put(key, "of " + key));
    assertThat(log.metadata()).isEqualTo(expected);
  }

  @Test
  void legacyLog_ofALogOfAnotherProtocol_hasTheCommonFields() {
    var log = LegacyLog.of(stored(0, "", Map.of("k", "v")));

    assertThat(log.id()).isEqualTo(new LogId(1, 2).toHex());
    assertThat(log.level()).isEqualTo(Severity.INFO);
    assertThat(log.source()).isEmpty();
    assertThat(log.environment()).isEmpty();
    assertThat(log.userId()).isNull();
    assertThat(log.traceId()).isNull();
    assertThat(log.metadata()).containsExactly(Map.entry("k", "v"));
    assertThat(LegacyLog.of(stored(0, HEX, Map.of())).traceId()).isEqualTo(HEX);
  }

  @Test
  void legacyLog_everySeverity_isOneOfTheFiveLevels() {
    var levels = new ArrayList<String>();
    for (int number = 0; number <= 24; number += 4) {
      levels.add(LegacyLog.of(stored(number, "", Map.of())).level().name());
    }

    assertThat(levels).containsExactly("INFO", "DEBUG", "DEBUG", "INFO", "WARN", "ERROR", "FATAL");
  }

  @ParameterizedTest
  @CsvSource({
    "body, message",
    "resource.attributes.service.name, app_id",
    "severity_text, level",
    "attributes.source, source",
    "attributes.trace_id, trace_id",
    "attributes.metadata.source, metadata.source",
    "attributes.k, metadata.k",
    "attributes, metadata",
    "timestamp, timestamp",
  })
  void toLegacyRejection_otlpField_isTheSentField(String otlp, String own) {
    assertThat(LegacyLog.toLegacyRejection(new Rejection(3, otlp, "is wrong")))
        .isEqualTo(new Rejection(3, own, "is wrong"));
  }
}
