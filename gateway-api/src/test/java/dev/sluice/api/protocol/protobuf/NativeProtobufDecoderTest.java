package dev.sluice.api.protocol.protobuf;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UnknownFieldSet;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.Rejection;
import dev.sluice.core.ingest.DecodeException;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.MalformedOtlpException;
import dev.sluice.core.otlp.OtlpRecord;
import dev.sluice.core.otlp.OtlpRecordVisitor;
import dev.sluice.core.otlp.OtlpWalker;
import dev.sluice.core.otlp.OtlpWriter;
import dev.sluice.proto.v1.IngestRequest;
import dev.sluice.proto.v1.IngestStreamRequest;
import dev.sluice.proto.v1.LogRecord;
import dev.sluice.proto.v1.Scope;
import dev.sluice.proto.v1.Value;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.InstrumentationScope;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.resource.v1.Resource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that flat logs become equivalent OTLP; protobuf-java parses both sides. */
@Timeout(60)
class NativeProtobufDecoderTest {
  private static final Limits LIMITS = Limits.DEFAULT;

  /** A log with its resource and scope, in OTLP's form, for the comparison of both formats. */
  private record RecordWithContext(
      io.opentelemetry.proto.logs.v1.LogRecord record,
      Map<String, AnyValue> resource,
      InstrumentationScope scope) {}

  @Test
  void ofRequest_anyLogs_areEquivalentInOtlp() throws Exception {
    var random = new Random(11);
    int good = 0;
    int groups = 0;
    for (int i = 0; i < 3000; i++) {
      var request = RandomNativeLogs.request(random);

      var payload = NativeProtobufDecoder.ofRequest(request.toByteArray(), LIMITS);

      var expected = new ArrayList<RecordWithContext>();
      var empty = new ArrayList<Integer>();
      for (int row = 0; row < request.getLogsCount(); row++) {
        var log = request.getLogs(row);
        if (hasContent(log)) {
          expected.add(expected(log));
        } else {
          empty.add(row);
        }
      }
      var otlp = otlp(payload);
      assertThat(recordsWithContext(otlp)).isEqualTo(expected);
      assertThat(payload.rejections()).extracting(Rejection::index).isEqualTo(empty);
      assertThat(payload.rejectedCount()).isEqualTo(empty.size());
      assertThat(payload.unknownFields()).isZero();
      good += expected.size();
      groups += otlp.getResourceLogsCount();
    }
    assertThat(good).as("logs in the sample").isGreaterThan(3000);
    assertThat(groups).as("groups of consecutive logs with one resource").isLessThan(good);
  }

  @Test
  void ofStreamRequest_anyLogs_areThoseOfTheRequestWithoutASequence() {
    var random = new Random(12);
    for (int i = 0; i < 300; i++) {
      var request = RandomNativeLogs.request(random);
      var message =
          IngestStreamRequest.newBuilder()
              .setSequence(random.nextLong())
              .addAllLogs(request.getLogsList())
              .build();

      var payload = NativeProtobufDecoder.ofStreamRequest(message.toByteArray(), LIMITS);

      assertThat(bytes(payload))
          .isEqualTo(bytes(NativeProtobufDecoder.ofRequest(request.toByteArray(), LIMITS)));
      assertThat(payload.unknownFields()).isZero();
      assertThat(NativeProtobufDecoder.sequence(message.toByteArray()))
          .isEqualTo(message.getSequence());
    }
  }

  @Test
  void ofRequest_mutated_isDecodedOrThrowsDecodeException() throws Exception {
    var random = new Random(13);
    int read = 0;
    int failures = 0;
    for (int i = 0; i < 50_000; i++) {
      var bytes = mutated(random, RandomNativeLogs.request(random).toByteArray());
      boolean stream = random.nextBoolean();
      var _ = NativeProtobufDecoder.sequence(bytes);
      OtlpPayload payload;
      try {
        payload =
            stream
                ? NativeProtobufDecoder.ofStreamRequest(bytes, LIMITS)
                : NativeProtobufDecoder.ofRequest(bytes, LIMITS);
      } catch (DecodeException e) {
        assertThat(e.tooLarge()).isFalse();
        assertThat(e.detail()).startsWith("malformed protobuf: ").contains(" at byte ");
        failures++;
        continue;
      }
      walk(payload);
      read++;
    }
    assertThat(read).isGreaterThan(5000);
    assertThat(failures).isGreaterThan(5000);
  }

  private static void walk(OtlpPayload payload) throws MalformedOtlpException {
    new OtlpWalker(LIMITS)
        .walk(
            payload.bytes(),
            0,
            payload.length(),
            new OtlpRecordVisitor() {
              @Override
              public void visitRecord(OtlpRecord log) {}

              @Override
              public void visitRejected(int ordinal, String field, String reason) {}
            });
  }

  @Test
  void ofRequest_mapAndFieldDiffer_theFieldWins() throws Exception {
    var withMap =
        LogRecord.newBuilder()
            .setBody(text("b"))
            .putResource("service.name", text("of the map"))
            .putResource("host.name", text("of the map"))
            .build();
    var fields = LogRecord.newBuilder().setService("s").setHost("h").build();
    for (var parts : List.of(List.of(withMap, fields), List.of(fields, withMap))) {
      var log = parts.get(0).toByteString().concat(parts.get(1).toByteString());

      var payload = NativeProtobufDecoder.ofRequest(message(log), LIMITS);

      assertThat(recordsWithContext(otlp(payload)).getFirst().resource())
          .containsExactlyInAnyOrderEntriesOf(
              Map.of("service.name", any("s"), "host.name", any("h")));
    }
  }

  @Test
  void ofRequest_unknownFields_areIgnoredAndCounted() throws Exception {
    var unknown =
        UnknownFieldSet.newBuilder()
            .addField(4, UnknownFieldSet.Field.newBuilder().addVarint(1).build())
            .addField(2000, UnknownFieldSet.Field.newBuilder().addFixed32(1).build())
            .build();
    var log =
        LogRecord.newBuilder()
            .setBody(text("b"))
            .setScope(Scope.newBuilder().setName("n").setUnknownFields(unknown))
            .setUnknownFields(unknown)
            .build();
    var request = IngestRequest.newBuilder().addLogs(log).setUnknownFields(unknown).build();

    var payload = NativeProtobufDecoder.ofRequest(request.toByteArray(), LIMITS);

    assertThat(payload.unknownFields()).isEqualTo(6);
    var record = recordsWithContext(otlp(payload)).getFirst();
    assertThat(record.record().getUnknownFields()).isEqualTo(UnknownFieldSet.getDefaultInstance());
    assertThat(record.scope().getUnknownFields()).isEqualTo(UnknownFieldSet.getDefaultInstance());
  }

  @Test
  void ofRequest_neitherBodyNorAttributesNorEventName_isRejected() {
    var request =
        IngestRequest.newBuilder()
            .addLogs(LogRecord.newBuilder().setService("s").setSeverityNumber(9))
            .addLogs(LogRecord.newBuilder().setBody(text("b")))
            .addLogs(LogRecord.newBuilder().setBody(Value.getDefaultInstance()))
            .addLogs(LogRecord.newBuilder().setEventName("e"))
            .build();

    var payload = NativeProtobufDecoder.ofRequest(request.toByteArray(), LIMITS);

    assertThat(payload.rejections())
        .containsExactly(
            new Rejection(0, "body", "is missing, and so are attributes and event_name"),
            new Rejection(2, "body", "is missing, and so are attributes and event_name"));
    assertThat(payload.rowIndexes()).startsWith(1, 3);
  }

  @Test
  void ofRequest_moreRecordsThanTheLimit_isTooLarge() {
    var limits = new Limits(1 << 20, 2, 1 << 22, 200, 8, 24, 60, 40, 4);
    var log = LogRecord.newBuilder().setBody(text("b"));
    var request = IngestRequest.newBuilder().addLogs(log).addLogs(log).addLogs(log).build();

    var failure =
        catchThrowableOfType(
            DecodeException.class,
            () -> NativeProtobufDecoder.ofRequest(request.toByteArray(), limits));

    assertThat(failure.tooLarge()).isTrue();
    assertThat(failure.detail()).isEqualTo("more than 2 log records");
  }

  @Test
  void ofRequest_malformedValue_reportsThePosition() {
    var broken = ByteString.copyFrom(new byte[] {10, 5, 'x'}); // a string shorter than its length
    var body = ByteString.copyFrom(new byte[] {42, (byte) broken.size()}).concat(broken);

    var failure =
        catchThrowableOfType(
            DecodeException.class, () -> NativeProtobufDecoder.ofRequest(message(body), LIMITS));

    assertThat(failure.detail())
        .isEqualTo("malformed protobuf: length beyond the end of its message at byte 5");
  }

  @Test
  void ofRequest_nestedDeeperThanTheLimit_isLeftForTheWalker() throws Exception {
    var out = new OtlpWriter(new ByteOutput(64));
    var open = new ArrayDeque<Integer>();
    open.push(out.beginMessage(NativeFields.INGEST_REQUEST_LOGS));
    open.push(out.beginMessage(NativeFields.LOG_RECORD_BODY));
    for (int i = 0; i < 5000; i++) {
      open.push(out.beginMessage(NativeFields.VALUE_LIST_VALUE));
      open.push(out.beginMessage(NativeFields.LIST_VALUE_VALUES));
    }
    open.forEach(out::endMessage);

    var payload = NativeProtobufDecoder.ofRequest(out.output().toByteArray(), LIMITS);

    assertThat(payload.rejectedCount()).isZero();
    walk(payload);
  }

  @Test
  void sequence_malformedMessage_isTheSequenceReadBefore() {
    assertThat(NativeProtobufDecoder.sequence(new byte[] {8, 7, 18, 100})).isEqualTo(7);
    assertThat(NativeProtobufDecoder.sequence(new byte[] {18, 100, 8, 7})).isZero();
    assertThat(NativeProtobufDecoder.sequence("what is this".getBytes(UTF_8))).isZero();
  }

  private static byte[] mutated(Random random, byte[] message) {
    var bytes = message.length == 0 ? new byte[1] : message;
    for (int i = random.nextInt(1, 4); i > 0; i--) {
      int at = random.nextInt(bytes.length);
      switch (random.nextInt(4)) {
        case 0 -> bytes[at] = (byte) random.nextInt();
        case 1 -> bytes[at]++;
        case 2 -> bytes = Arrays.copyOf(bytes, Math.max(1, at));
        default -> {
          int from = random.nextInt(bytes.length);
          int length = Math.min(bytes.length - Math.max(at, from), random.nextInt(20));
          System.arraycopy(bytes, from, bytes, at, length);
        }
      }
    }
    return bytes;
  }

  private static byte[] message(ByteString log) {
    return ByteString.copyFrom(new byte[] {10, (byte) log.size()}).concat(log).toByteArray();
  }

  private static boolean hasContent(LogRecord log) {
    return log.hasBody() && log.getBody().getValueCase() != Value.ValueCase.VALUE_NOT_SET
        || log.getAttributesCount() > 0
        || !log.getEventName().isEmpty();
  }

  private static RecordWithContext expected(LogRecord log) {
    var record =
        io.opentelemetry.proto.logs.v1.LogRecord.newBuilder()
            .setTimeUnixNano(log.getTimeUnixNano())
            .setObservedTimeUnixNano(log.getObservedTimeUnixNano())
            .setSeverityNumberValue(log.getSeverityNumber())
            .setSeverityText(log.getSeverityText())
            .setDroppedAttributesCount(log.getDroppedAttributesCount())
            .setFlags(log.getFlags())
            .setTraceId(log.getTraceId())
            .setSpanId(log.getSpanId())
            .setEventName(log.getEventName());
    if (log.hasBody()) {
      record.setBody(any(log.getBody()));
    }
    log.getAttributesMap().forEach((key, value) -> record.addAttributes(entry(key, any(value))));
    var resource = new LinkedHashMap<String, AnyValue>();
    log.getResourceMap().forEach((key, value) -> resource.put(key, any(value)));
    if (!log.getService().isEmpty()) {
      resource.put("service.name", any(log.getService()));
    }
    if (!log.getHost().isEmpty()) {
      resource.put("host.name", any(log.getHost()));
    }
    var scope =
        InstrumentationScope.newBuilder()
            .setName(log.getScope().getName())
            .setVersion(log.getScope().getVersion());
    log.getScope()
        .getAttributesMap()
        .forEach((key, value) -> scope.addAttributes(entry(key, any(value))));
    return new RecordWithContext(record.build(), resource, scope.build());
  }

  private static List<RecordWithContext> recordsWithContext(ExportLogsServiceRequest otlp) {
    var logs = new ArrayList<RecordWithContext>();
    for (var resource : otlp.getResourceLogsList()) {
      for (var scope : resource.getScopeLogsList()) {
        for (var record : scope.getLogRecordsList()) {
          logs.add(new RecordWithContext(record, map(resource.getResource()), scope.getScope()));
        }
      }
    }
    return logs;
  }

  private static Map<String, AnyValue> map(Resource resource) {
    var map = new LinkedHashMap<String, AnyValue>();
    resource.getAttributesList().forEach(pair -> map.put(pair.getKey(), pair.getValue()));
    return map;
  }

  private static ExportLogsServiceRequest otlp(OtlpPayload payload)
      throws InvalidProtocolBufferException {
    return ExportLogsServiceRequest.parseFrom(bytes(payload));
  }

  private static byte[] bytes(OtlpPayload payload) {
    return Arrays.copyOf(payload.bytes(), payload.length());
  }

  private static Value text(String text) {
    return Value.newBuilder().setStringValue(text).build();
  }

  private static KeyValue entry(String key, AnyValue value) {
    return KeyValue.newBuilder().setKey(key).setValue(value).build();
  }

  private static AnyValue any(String text) {
    return AnyValue.newBuilder().setStringValue(text).build();
  }

  private static AnyValue any(Value value) {
    var any = AnyValue.newBuilder();
    switch (value.getValueCase()) {
      case STRING_VALUE -> any.setStringValue(value.getStringValue());
      case BOOL_VALUE -> any.setBoolValue(value.getBoolValue());
      case INT_VALUE -> any.setIntValue(value.getIntValue());
      case DOUBLE_VALUE -> any.setDoubleValue(value.getDoubleValue());
      case LIST_VALUE -> {
        any.getArrayValueBuilder(); // sets the field, even if the list is empty
        value
            .getListValue()
            .getValuesList()
            .forEach(element -> any.getArrayValueBuilder().addValues(any(element)));
      }
      case MAP_VALUE -> {
        any.getKvlistValueBuilder();
        value
            .getMapValue()
            .getValuesMap()
            .forEach((k, v) -> any.getKvlistValueBuilder().addValues(entry(k, any(v))));
      }
      case BYTES_VALUE -> any.setBytesValue(value.getBytesValue());
      case VALUE_NOT_SET -> {}
    }
    return any.build();
  }
}
