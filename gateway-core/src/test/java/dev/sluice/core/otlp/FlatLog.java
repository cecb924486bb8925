package dev.sluice.core.otlp;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.DiscardUnknownFieldsParser;
import com.google.protobuf.InvalidProtocolBufferException;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.ArrayValue;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.common.v1.KeyValueList;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A copy of one record with its resource and scope, from the walker's view or from protobuf-java.
 */
record FlatLog(
    long time,
    long observed,
    int severityNumber,
    String severityText,
    AnyValue body,
    Map<String, AnyValue> attributes,
    int droppedAttributes,
    int flags,
    ByteString traceId,
    ByteString spanId,
    String eventName,
    Map<String, AnyValue> resource,
    String resourceSchemaUrl,
    String scopeName,
    String scopeVersion,
    Map<String, AnyValue> scope,
    String scopeSchemaUrl) {

  /** Returns the records as protobuf-java parses them, without unknown fields. */
  static List<FlatLog> parsed(byte[] bytes) throws InvalidProtocolBufferException {
    return of(DiscardUnknownFieldsParser.wrap(ExportLogsServiceRequest.parser()).parseFrom(bytes));
  }

  static List<FlatLog> of(ExportLogsServiceRequest request) {
    var all = new ArrayList<FlatLog>();
    for (var byResource : request.getResourceLogsList()) {
      for (var byScope : byResource.getScopeLogsList()) {
        for (var log : byScope.getLogRecordsList()) {
          all.add(
              new FlatLog(
                  log.getTimeUnixNano(),
                  log.getObservedTimeUnixNano(),
                  log.getSeverityNumberValue(),
                  log.getSeverityText(),
                  log.getBody(),
                  map(log.getAttributesList()),
                  log.getDroppedAttributesCount(),
                  log.getFlags(),
                  log.getTraceId(),
                  log.getSpanId(),
                  log.getEventName(),
                  map(byResource.getResource().getAttributesList()),
                  byResource.getSchemaUrl(),
                  byScope.getScope().getName(),
                  byScope.getScope().getVersion(),
                  map(byScope.getScope().getAttributesList()),
                  byScope.getSchemaUrl()));
        }
      }
    }
    return all;
  }

  private static Map<String, AnyValue> map(List<KeyValue> pairs) {
    var map = new LinkedHashMap<String, AnyValue>();
    pairs.forEach(pair -> map.put(pair.getKey(), pair.getValue()));
    return map;
  }

  static FlatLog copied(OtlpRecord log) {
    byte[] bytes = log.bytes();
    return new FlatLog(
        log.timeNanos(),
        log.observedNanos(),
        log.severityNumber(),
        text(bytes, log.severityTextOffset(), log.severityTextLength()),
        value(log.body(), bytes),
        map(log.attributes(), bytes),
        log.droppedAttributes(),
        log.flags(),
        ByteString.copyFrom(bytes, log.traceIdOffset(), log.traceIdLength()),
        ByteString.copyFrom(bytes, log.spanIdOffset(), log.spanIdLength()),
        text(bytes, log.eventNameOffset(), log.eventNameLength()),
        map(log.resource().attributes(), bytes),
        text(bytes, log.resource().schemaUrlOffset(), log.resource().schemaUrlLength()),
        text(bytes, log.scope().nameOffset(), log.scope().nameLength()),
        text(bytes, log.scope().versionOffset(), log.scope().versionLength()),
        map(log.scope().attributes(), bytes),
        text(bytes, log.scope().schemaUrlOffset(), log.scope().schemaUrlLength()));
  }

  private static String text(byte[] bytes, int offset, int length) {
    return new String(bytes, offset, length, UTF_8);
  }

  private static Map<String, AnyValue> map(Attributes attributes, byte[] bytes) {
    var map = new LinkedHashMap<String, AnyValue>();
    for (int i = 0; i < attributes.size(); i++) {
      var key = text(bytes, attributes.keyOffset(i), attributes.keyLength(i));
      if (map.put(key, value(attributes.value(i), bytes)) != null) {
        throw new AssertionError("the key " + key + " occurs twice");
      }
    }
    return map;
  }

  private static AnyValue value(dev.sluice.core.otlp.AnyValue value, byte[] bytes) {
    var copy = AnyValue.newBuilder();
    try {
      switch (value.kind()) {
        case EMPTY -> {}
        case STRING -> copy.setStringValue(text(bytes, value.offset(), value.length()));
        case BOOL -> copy.setBoolValue(value.asBool());
        case INT -> copy.setIntValue(value.asLong());
        case DOUBLE -> copy.setDoubleValue(value.asDouble());
        case BYTES ->
            copy.setBytesValue(ByteString.copyFrom(bytes, value.offset(), value.length()));
        case ARRAY ->
            copy.setArrayValue(
                DiscardUnknownFieldsParser.wrap(ArrayValue.parser()).parseFrom(deep(bytes, value)));
        case MAP ->
            copy.setKvlistValue(
                DiscardUnknownFieldsParser.wrap(KeyValueList.parser())
                    .parseFrom(deep(bytes, value)));
      }
    } catch (InvalidProtocolBufferException e) {
      throw new AssertionError("the walker accepted a value that does not parse", e);
    }
    return copy.build();
  }

  /** Returns an input with a recursion limit above the default of protobuf-java. */
  private static CodedInputStream deep(byte[] bytes, dev.sluice.core.otlp.AnyValue value) {
    var in = CodedInputStream.newInstance(bytes, value.offset(), value.length());
    in.setRecursionLimit(1_000);
    return in;
  }
}
