package dev.sluice.api.protocol.protobuf;

import com.google.protobuf.ByteString;
import dev.sluice.proto.v1.IngestRequest;
import dev.sluice.proto.v1.ListValue;
import dev.sluice.proto.v1.LogRecord;
import dev.sluice.proto.v1.MapValue;
import dev.sluice.proto.v1.Scope;
import dev.sluice.proto.v1.Value;
import dev.sluice.testkit.RandomOtlp;
import java.util.random.RandomGenerator;

/** Generates random flat logs; each field is sometimes absent. */
final class RandomNativeLogs {
  private RandomNativeLogs() {}

  static IngestRequest request(RandomGenerator random) {
    var request = IngestRequest.newBuilder();
    for (int i = random.nextInt(6); i > 0; i--) {
      request.addLogs(log(random));
    }
    return request.build();
  }

  private static LogRecord log(RandomGenerator random) {
    var log = LogRecord.newBuilder();
    if (random.nextBoolean()) {
      log.setTimeUnixNano(random.nextLong() >>> 1)
          .setObservedTimeUnixNano(random.nextLong() >>> 1)
          .setSeverityNumber(random.nextInt(25))
          .setSeverityText(RandomOtlp.text(random));
    }
    if (random.nextBoolean()) {
      log.setTraceId(bytes(random, 16))
          .setSpanId(bytes(random, 8))
          .setFlags(random.nextInt())
          .setDroppedAttributesCount(random.nextInt())
          .setEventName(RandomOtlp.text(random));
    }
    if (random.nextInt(4) > 0) {
      log.setBody(value(random, 4));
    }
    for (int i = random.nextInt(4); i > 0; i--) {
      log.putAttributes(RandomOtlp.text(random), value(random, 3));
    }
    // few distinct values, so that consecutive logs share them
    if (random.nextBoolean()) {
      log.setService("service-" + random.nextInt(2)).setHost(random.nextBoolean() ? "h" : "");
    }
    if (random.nextInt(3) == 0) {
      log.putResource("k8s.pod.name", value(random, 1)).putResource("service.name", text("other"));
    }
    if (random.nextInt(3) == 0) {
      log.setScope(
          Scope.newBuilder()
              .setName("n" + random.nextInt(2))
              .setVersion(random.nextBoolean() ? "1" : "")
              .putAttributes("a", value(random, 1)));
    }
    return log.build();
  }

  private static ByteString bytes(RandomGenerator random, int length) {
    var bytes = new byte[length];
    random.nextBytes(bytes);
    return ByteString.copyFrom(bytes);
  }

  private static Value text(String text) {
    return Value.newBuilder().setStringValue(text).build();
  }

  private static Value value(RandomGenerator random, int depth) {
    var value = Value.newBuilder();
    switch (random.nextInt(depth > 0 ? 8 : 6)) {
      case 0 -> value.setBoolValue(random.nextBoolean());
      case 1 -> value.setIntValue(random.nextLong() >> random.nextInt(64));
      case 2 -> value.setDoubleValue(random.nextDouble());
      case 3 -> value.setBytesValue(bytes(random, random.nextInt(9)));
      case 4 -> {}
      case 6 -> {
        var list = ListValue.newBuilder();
        for (int i = random.nextInt(4); i > 0; i--) {
          list.addValues(value(random, depth - 1));
        }
        value.setListValue(list);
      }
      case 7 -> {
        var map = MapValue.newBuilder();
        for (int i = random.nextInt(4); i > 0; i--) {
          map.putValues(RandomOtlp.text(random), value(random, depth - 1));
        }
        value.setMapValue(map);
      }
      default -> value.setStringValue(RandomOtlp.text(random));
    }
    return value.build();
  }
}
