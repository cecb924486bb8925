package dev.sluice.testkit;

import static dev.sluice.testkit.LogContract.BASE_NANOS;
import static dev.sluice.testkit.LogContract.DAY;
import static dev.sluice.testkit.LogContract.binary;
import static dev.sluice.testkit.LogContract.bool;
import static dev.sluice.testkit.LogContract.decimal;
import static dev.sluice.testkit.LogContract.list;
import static dev.sluice.testkit.LogContract.map;
import static dev.sluice.testkit.LogContract.number;
import static dev.sluice.testkit.LogContract.pair;
import static dev.sluice.testkit.LogContract.string;
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import com.google.protobuf.ByteString;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.query.port.LogReader.StoredLog;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.logs.v1.ResourceLogs;
import io.opentelemetry.proto.logs.v1.ScopeLogs;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Draws random requests and computes the expected result from the messages alone. */
final class RandomLogs {
  /** The string forms of doubles, as a table, so that no code is shared with the stores. */
  static final Map<Double, String> DOUBLES = new LinkedHashMap<>();

  static {
    DOUBLES.put(0.0, "0");
    DOUBLES.put(-0.0, "-0");
    DOUBLES.put(1.0, "1");
    DOUBLES.put(-2.5, "-2.5");
    DOUBLES.put(0.1, "0.1");
    DOUBLES.put(1e-6, "0.000001");
    DOUBLES.put(1e-7, "1e-7");
    DOUBLES.put(123456789.125, "123456789.125");
    DOUBLES.put(1e20, "100000000000000000000");
    DOUBLES.put(1e21, "1e+21");
    DOUBLES.put(-1.5e300, "-1.5e+300");
    DOUBLES.put(Double.MIN_VALUE, "5e-324");
    DOUBLES.put(Double.NaN, "NaN");
    DOUBLES.put(Double.POSITIVE_INFINITY, "+Inf");
    DOUBLES.put(Double.NEGATIVE_INFINITY, "-Inf");
  }

  private static final List<Double> VALUES = List.copyOf(DOUBLES.keySet());
  private static final String ALPHABET = "abcXYZ019 .:-_/\\'\"\n\t\0<>&éß日🚀";

  private final Random random;

  RandomLogs(long seed) {
    random = new Random(seed);
  }

  ExportLogsServiceRequest request() {
    var request = ExportLogsServiceRequest.newBuilder();
    for (int r = random.nextInt(4); r >= 0; r--) {
      var resource = ResourceLogs.newBuilder().setSchemaUrl(text(8));
      resource.getResourceBuilder().addAllAttributes(pairs(5, 0));
      if (random.nextBoolean()) {
        resource.getResourceBuilder().addAttributes(pair("service.name", value(0)));
      }
      for (int s = random.nextInt(3); s >= 0; s--) {
        var scope = ScopeLogs.newBuilder().setSchemaUrl(text(8));
        scope.getScopeBuilder().setName(text(9)).setVersion(text(3));
        scope.getScopeBuilder().addAllAttributes(pairs(3, 0));
        for (int n = random.nextInt(30); n >= 0; n--) {
          scope.addLogRecords(log());
        }
        resource.addScopeLogs(scope);
      }
      request.addResourceLogs(resource);
    }
    return request.build();
  }

  private LogRecord log() {
    var log =
        LogRecord.newBuilder()
            .setTimeUnixNano(time())
            .setObservedTimeUnixNano(time())
            .setSeverityNumberValue(random.nextInt(25))
            .setSeverityText(text(5))
            .addAllAttributes(pairs(6, 0))
            .setDroppedAttributesCount(random.nextInt())
            .setFlags(random.nextInt())
            .setEventName(text(6))
            .setTraceId(id(16))
            .setSpanId(id(8));
    if (random.nextInt(8) != 0) {
      log.setBody(value(0));
    }
    return log.build();
  }

  private ByteString id(int length) {
    // one in ten has an invalid length and must be rejected
    var bytes = new byte[random.nextInt(10) == 0 ? 3 : random.nextBoolean() ? length : 0];
    random.nextBytes(bytes);
    return ByteString.copyFrom(bytes);
  }

  private long time() {
    return switch (random.nextInt(8)) {
      case 0 -> 0;
      case 1 -> random.nextLong() >>> 1;
      default -> BASE_NANOS + random.nextLong(40 * DAY);
    };
  }

  private List<KeyValue> pairs(int maxPairs, int depth) {
    return random
        .ints(random.nextInt(maxPairs + 1), 0, 6)
        .mapToObj(i -> pair(i == 5 ? text(6) : "key." + i, value(depth)))
        .toList();
  }

  private AnyValue value(int depth) {
    return switch (random.nextInt(depth < 3 ? 9 : 6)) {
      case 0 -> AnyValue.getDefaultInstance();
      case 1 -> number(random.nextLong());
      case 2 -> decimal(VALUES.get(random.nextInt(VALUES.size())));
      case 3 -> bool(random.nextBoolean());
      case 4 -> binary(text(9).getBytes(UTF_8));
      case 5, 6 -> string(text(40));
      case 7 ->
          list(
              IntStream.range(0, random.nextInt(4))
                  .mapToObj(_ -> value(depth + 1))
                  .toArray(AnyValue[]::new));
      default -> map(pairs(4, depth + 1).toArray(KeyValue[]::new));
    };
  }

  private String text(int maxLength) {
    int[] points = ALPHABET.codePoints().toArray();
    var text = new StringBuilder();
    for (int i = random.nextInt(maxLength + 1); i > 0; i--) {
      text.appendCodePoint(points[random.nextInt(points.length)]);
    }
    return text.toString();
  }

  static List<StoredLog> convert(ExportLogsServiceRequest request, LogBatch batch) {
    var rows = new ArrayList<StoredLog>();
    LogId id = batch.firstId();
    for (var resource : request.getResourceLogsList()) {
      var attributes = texts(resource.getResource().getAttributesList());
      for (var scope : resource.getScopeLogsList()) {
        for (var log : scope.getLogRecordsList()) {
          if (log.getTraceId().size() % 16 == 0 && log.getSpanId().size() % 8 == 0) {
            rows.add(convert(log, scope, resource, attributes, batch, id.plus(rows.size())));
          }
        }
      }
    }
    return rows;
  }

  private static StoredLog convert(
      LogRecord log,
      ScopeLogs scope,
      ResourceLogs resource,
      Map<String, String> attributes,
      LogBatch batch,
      LogId id) {
    long observed =
        log.getObservedTimeUnixNano() == 0 ? batch.receivedNanos() : log.getObservedTimeUnixNano();
    return new StoredLog(
        id,
        log.getTimeUnixNano() == 0 ? observed : log.getTimeUnixNano(),
        observed,
        batch.receivedNanos(),
        log.getSeverityNumberValue(),
        log.getSeverityText(),
        attributes.getOrDefault("service.name", ""),
        text(log.getBody()),
        HexFormat.of().formatHex(log.getTraceId().toByteArray()),
        HexFormat.of().formatHex(log.getSpanId().toByteArray()),
        Integer.toUnsignedLong(log.getFlags()),
        log.getEventName(),
        texts(log.getAttributesList()),
        Integer.toUnsignedLong(log.getDroppedAttributesCount()),
        attributes,
        resource.getSchemaUrl(),
        scope.getScope().getName(),
        scope.getScope().getVersion(),
        texts(scope.getScope().getAttributesList()),
        scope.getSchemaUrl(),
        null,
        null);
  }

  private static Map<String, String> texts(List<KeyValue> pairs) {
    var texts = new LinkedHashMap<String, String>();
    pairs.forEach(pair -> texts.put(pair.getKey(), text(pair.getValue())));
    return texts;
  }

  private static String text(AnyValue value) {
    return switch (value.getValueCase()) {
      case STRING_VALUE -> value.getStringValue();
      case BYTES_VALUE -> base64(value);
      case DOUBLE_VALUE -> doubleText(value.getDoubleValue());
      case VALUE_NOT_SET -> "";
      default -> json(value);
    };
  }

  private static String doubleText(double value) {
    return requireNonNull(DOUBLES.get(value));
  }

  private static String base64(AnyValue value) {
    return Base64.getEncoder().encodeToString(value.getBytesValue().toByteArray());
  }

  private static String json(AnyValue value) {
    return switch (value.getValueCase()) {
      case STRING_VALUE -> quoted(value.getStringValue());
      case BYTES_VALUE -> '"' + base64(value) + '"';
      case BOOL_VALUE -> String.valueOf(value.getBoolValue());
      case INT_VALUE -> String.valueOf(value.getIntValue());
      case DOUBLE_VALUE ->
          Double.isFinite(value.getDoubleValue())
              ? doubleText(value.getDoubleValue())
              : '"' + doubleText(value.getDoubleValue()) + '"';
      case ARRAY_VALUE ->
          value.getArrayValue().getValuesList().stream()
              .map(RandomLogs::json)
              .collect(Collectors.joining(",", "[", "]"));
      case KVLIST_VALUE -> {
        var sorted = new TreeMap<String, String>();
        value
            .getKvlistValue()
            .getValuesList()
            .forEach(pair -> sorted.put(pair.getKey(), json(pair.getValue())));
        yield sorted.entrySet().stream()
            .map(entry -> quoted(entry.getKey()) + ":" + entry.getValue())
            .collect(Collectors.joining(",", "{", "}"));
      }
      default -> "null";
    };
  }

  private static String quoted(String text) {
    return '"'
        + text.replace("\\", "\\\\")
            .replace("\"", "\\\"")
            .replace("\n", "\\n")
            .replace("\t", "\\t")
            .replace("\0", "\\u0000")
            .replace("<", "\\u003c")
            .replace(">", "\\u003e")
            .replace("&", "\\u0026")
        + '"';
  }
}
