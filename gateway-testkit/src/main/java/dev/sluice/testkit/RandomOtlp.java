package dev.sluice.testkit;

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
import io.opentelemetry.proto.resource.v1.Resource;
import java.util.random.RandomGenerator;

/** Random OTLP requests; each field is sometimes absent. */
public final class RandomOtlp {
  private static final int[] CODE_POINTS = {
    'a', ' ', '"', '\\', '/', '\n', '<', 0, 0x1F, 0x7F, 0x80, 0x7FF, 0x800, 0x2028, 0xD7FF, 0xE000,
    0xFFFF, 0x10000, 0x1F600, 0x10FFFF
  };

  private RandomOtlp() {}

  public static ExportLogsServiceRequest request(RandomGenerator random) {
    var request = ExportLogsServiceRequest.newBuilder();
    for (int i = random.nextInt(4); i > 0; i--) {
      var logs = ResourceLogs.newBuilder().setSchemaUrl(text(random));
      if (random.nextBoolean()) {
        logs.setResource(
            Resource.newBuilder()
                .addAttributes(keyValue(random))
                .setDroppedAttributesCount(random.nextInt()));
      }
      for (int j = random.nextInt(3); j > 0; j--) {
        logs.addScopeLogs(scopeLogs(random));
      }
      request.addResourceLogs(logs);
    }
    return request.build();
  }

  private static ScopeLogs scopeLogs(RandomGenerator random) {
    var logs = ScopeLogs.newBuilder().setSchemaUrl(text(random));
    if (random.nextBoolean()) {
      logs.setScope(
          InstrumentationScope.newBuilder()
              .setName(text(random))
              .setVersion(text(random))
              .addAttributes(keyValue(random))
              .setDroppedAttributesCount(random.nextInt(9)));
    }
    for (int i = random.nextInt(4); i > 0; i--) {
      logs.addLogRecords(logRecord(random));
    }
    return logs.build();
  }

  private static LogRecord logRecord(RandomGenerator random) {
    var log = LogRecord.newBuilder();
    if (random.nextBoolean()) {
      log.setTimeUnixNano(random.nextLong())
          .setObservedTimeUnixNano(random.nextLong())
          .setSeverityNumberValue(random.nextInt(25))
          .setSeverityText(text(random));
    }
    if (random.nextBoolean()) {
      var trace = new byte[16];
      var span = new byte[8];
      random.nextBytes(trace);
      random.nextBytes(span);
      log.setTraceId(ByteString.copyFrom(trace))
          .setSpanId(ByteString.copyFrom(span))
          .setFlags(random.nextInt())
          .setDroppedAttributesCount(random.nextInt())
          .setEventName(text(random));
    }
    if (random.nextInt(4) > 0) {
      log.setBody(value(random, 4));
    }
    for (int i = random.nextInt(4); i > 0; i--) {
      log.addAttributes(keyValue(random));
    }
    return log.build();
  }

  private static KeyValue keyValue(RandomGenerator random) {
    return KeyValue.newBuilder().setKey(text(random)).setValue(value(random, 3)).build();
  }

  private static AnyValue value(RandomGenerator random, int depth) {
    var value = AnyValue.newBuilder();
    switch (random.nextInt(depth > 0 ? 8 : 6)) {
      case 0 -> value.setBoolValue(random.nextBoolean());
      case 1 -> value.setIntValue(random.nextLong() >> random.nextInt(64));
      case 2 -> value.setDoubleValue(number(random));
      case 3 -> {
        var bytes = new byte[random.nextInt(9)];
        random.nextBytes(bytes);
        value.setBytesValue(ByteString.copyFrom(bytes));
      }
      case 4 -> {}
      case 6 -> {
        var list = ArrayValue.newBuilder();
        for (int i = random.nextInt(4); i > 0; i--) {
          list.addValues(value(random, depth - 1));
        }
        value.setArrayValue(list);
      }
      case 7 -> {
        var map = KeyValueList.newBuilder();
        for (int i = random.nextInt(4); i > 0; i--) {
          map.addValues(
              KeyValue.newBuilder().setKey(text(random)).setValue(value(random, depth - 1)));
        }
        value.setKvlistValue(map);
      }
      default -> value.setStringValue(text(random));
    }
    return value.build();
  }

  private static double number(RandomGenerator random) {
    return switch (random.nextInt(6)) {
      case 0 -> random.nextInt(1_000_000) / 1000.0;
      case 1 -> random.nextLong();
      case 2 -> Double.NaN;
      case 3 -> random.nextBoolean() ? Double.POSITIVE_INFINITY : Double.NEGATIVE_INFINITY;
      case 4 -> random.nextBoolean() ? -0.0 : Double.MIN_VALUE;
      default -> random.nextDouble() * 1e300;
    };
  }

  public static String text(RandomGenerator random) {
    var text = new StringBuilder();
    for (int i = random.nextInt(10); i > 0; i--) {
      text.appendCodePoint(CODE_POINTS[random.nextInt(CODE_POINTS.length)]);
    }
    return text.toString();
  }
}
