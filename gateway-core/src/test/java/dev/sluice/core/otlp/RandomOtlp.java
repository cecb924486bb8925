package dev.sluice.core.otlp;

import com.google.protobuf.ByteString;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.ArrayValue;
import io.opentelemetry.proto.common.v1.InstrumentationScope;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.common.v1.KeyValueList;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.logs.v1.ResourceLogs;
import io.opentelemetry.proto.logs.v1.ScopeLogs;
import io.opentelemetry.proto.logs.v1.SeverityNumber;
import io.opentelemetry.proto.resource.v1.Resource;
import java.util.random.RandomGenerator;

/** Generates random requests within the default limits; each field is sometimes absent. */
final class RandomOtlp {
  private static final int[] CODE_POINTS = {
    'a', 'Z', '0', ' ', '"', '\\', '\n', '<', 0, 0x7F, 0x80, 0x7FF, 0x800, 0x2028, 0xD7FF, 0xE000,
    0xFFFF, 0x10000, 0x1F600, 0x10FFFF
  };

  private RandomOtlp() {}

  static ExportLogsServiceRequest request(RandomGenerator random) {
    var request = ExportLogsServiceRequest.newBuilder();
    for (int i = random.nextInt(4); i > 0; i--) {
      request.addResourceLogs(resourceLogs(random));
    }
    return request.build();
  }

  private static ResourceLogs resourceLogs(RandomGenerator random) {
    var logs = ResourceLogs.newBuilder();
    if (random.nextInt(4) > 0) {
      var resource = Resource.newBuilder().setDroppedAttributesCount(random.nextInt(3));
      for (int i = random.nextInt(4); i > 0; i--) {
        resource.addAttributes(keyValue(random));
      }
      logs.setResource(resource);
    }
    if (random.nextBoolean()) {
      logs.setSchemaUrl(text(random, 12));
    }
    for (int i = random.nextInt(3); i > 0; i--) {
      logs.addScopeLogs(scopeLogs(random));
    }
    return logs.build();
  }

  private static ScopeLogs scopeLogs(RandomGenerator random) {
    var logs = ScopeLogs.newBuilder();
    if (random.nextBoolean()) {
      var scope =
          InstrumentationScope.newBuilder().setName(text(random, 9)).setVersion(text(random, 5));
      for (int i = random.nextInt(3); i > 0; i--) {
        scope.addAttributes(keyValue(random));
      }
      logs.setScope(scope);
    }
    if (random.nextBoolean()) {
      logs.setSchemaUrl(text(random, 12));
    }
    for (int i = random.nextInt(4); i > 0; i--) {
      logs.addLogRecords(logRecord(random));
    }
    return logs.build();
  }

  static LogRecord logRecord(RandomGenerator random) {
    var log = LogRecord.newBuilder();
    if (random.nextInt(5) > 0) {
      log.setTimeUnixNano(random.nextLong() >>> 1)
          .setSeverityNumberValue(random.nextInt(SeverityNumber.values().length - 1))
          .setSeverityText(text(random, 6));
    }
    if (random.nextBoolean()) {
      log.setObservedTimeUnixNano(random.nextLong() >>> 1);
    }
    if (random.nextBoolean()) {
      log.setTraceId(bytes(random, 16)).setSpanId(bytes(random, 8)).setFlags(random.nextInt());
    }
    if (random.nextInt(4) > 0) {
      log.setBody(value(random, 4));
    }
    for (int i = random.nextInt(5); i > 0; i--) {
      log.addAttributes(keyValue(random));
    }
    if (random.nextInt(4) == 0) {
      log.setDroppedAttributesCount(random.nextInt()).setEventName(text(random, 9));
    }
    return log.build();
  }

  /** Returns an attribute with one of a few keys, so that some keys occur twice. */
  static KeyValue keyValue(RandomGenerator random) {
    var pair = KeyValue.newBuilder();
    if (random.nextInt(8) > 0) {
      pair.setKey(random.nextBoolean() ? "k" + random.nextInt(6) : text(random, 10));
    }
    if (random.nextInt(8) > 0) {
      pair.setValue(value(random, 3));
    }
    return pair.build();
  }

  static AnyValue value(RandomGenerator random, int depth) {
    var value = AnyValue.newBuilder();
    switch (random.nextInt(depth > 0 ? 12 : 8)) {
      case 0 -> {}
      case 1 -> value.setBoolValue(random.nextBoolean());
      case 2 -> value.setIntValue(random.nextLong() >> random.nextInt(64));
      case 3 -> value.setDoubleValue(number(random));
      case 4 -> value.setBytesValue(bytes(random, random.nextInt(9)));
      case 8, 9 -> {
        var list = ArrayValue.newBuilder();
        for (int i = random.nextInt(4); i > 0; i--) {
          list.addValues(value(random, depth - 1));
        }
        value.setArrayValue(list);
      }
      case 10, 11 -> {
        var map = KeyValueList.newBuilder();
        for (int i = random.nextInt(4); i > 0; i--) {
          map.addValues(
              KeyValue.newBuilder().setKey(text(random, 4)).setValue(value(random, depth - 1)));
        }
        value.setKvlistValue(map);
      }
      default -> value.setStringValue(text(random, 40));
    }
    return value.build();
  }

  static double number(RandomGenerator random) {
    return switch (random.nextInt(3)) {
      case 0 -> random.nextInt(1_000_000) / 1000.0;
      case 1 -> random.nextLong();
      default -> Double.longBitsToDouble(random.nextLong());
    };
  }

  /** Returns valid Unicode text, with many code points at the boundaries of UTF-8's lengths. */
  static String text(RandomGenerator random, int most) {
    var text = new StringBuilder();
    boolean ascii = random.nextInt(3) > 0;
    for (int i = random.nextInt(most + 1); i > 0; i--) {
      text.appendCodePoint(
          ascii ? 'a' + random.nextInt(26) : CODE_POINTS[random.nextInt(CODE_POINTS.length)]);
    }
    return text.toString();
  }

  private static ByteString bytes(RandomGenerator random, int count) {
    var bytes = new byte[count];
    random.nextBytes(bytes);
    return ByteString.copyFrom(bytes);
  }
}
