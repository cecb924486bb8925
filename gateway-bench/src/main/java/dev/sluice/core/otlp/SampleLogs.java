package dev.sluice.core.otlp;

import java.util.random.RandomGenerator;

/** Bodies as a collector sends them: some sixty services, a handful of logs from each. */
public final class SampleLogs {
  private static final String[] MESSAGES = {
    "GET /api/v2/orders/%d HTTP/1.1 200 in %d ms for client 10.12.%d.17, cached",
    "connection %d to postgres-primary:5432 reset by peer after %d ms, retry %d",
    "order %d accepted: %d items, total %d.90 EUR, express delivery",
    "kafka consumer lag %d on partition %d of topic payments, rebalance %d",
    "user %d signed in from a new device, session %d, %d factors"
  };
  private static final String[][] ATTRIBUTES = {
    {"thread.name", "http-nio-8080-exec-7"},
    {"log.logger", "com.shop.web.OrderApi"},
    {"http.route", "/api/v2/orders/{id}"},
    {"client.region", "eu-central-1"}
  };
  private static final int LOGS_PER_RESOURCE = 8;

  private SampleLogs() {}

  /** A request of so many logs. */
  public static byte[] body(RandomGenerator random, int logs) {
    var out = new ByteOutput(logs * 256);
    var writer = new OtlpWriter(out);
    long time = 1_756_000_000_000_000_000L + random.nextInt();
    for (int done = 0; done < logs; done += LOGS_PER_RESOURCE) {
      int resourceLogs = writer.open(1);
      int resource = writer.open(1);
      writer.attribute(1, "service.name", "checkout-" + random.nextInt(60));
      writer.attribute(1, "host.name", "node-" + random.nextInt(20) + ".eu.internal");
      writer.close(resource);
      int scopeLogs = writer.open(2);
      for (int i = done; i < Math.min(logs, done + LOGS_PER_RESOURCE); i++) {
        log(writer, random, time + i * 1_000_003L);
      }
      writer.close(scopeLogs);
      writer.close(resourceLogs);
    }
    return out.toByteArray();
  }

  private static void log(OtlpWriter writer, RandomGenerator random, long time) {
    int log = writer.open(2);
    writer.fixed64(1, time);
    writer.fixed64(11, time + 1_000);
    writer.varint(2, 9);
    writer.string(3, "INFO");
    int body = writer.open(5);
    var message = MESSAGES[random.nextInt(MESSAGES.length)];
    writer.string(
        1, message.formatted(random.nextInt(1_000_000), random.nextInt(900), random.nextInt(250)));
    writer.close(body);
    int first = random.nextInt(ATTRIBUTES.length);
    for (int i = 0; i < 2; i++) {
      var pair = ATTRIBUTES[(first + i) % ATTRIBUTES.length];
      writer.attribute(6, pair[0], pair[1]);
    }
    if (random.nextInt(4) == 0) {
      var ids = new byte[24];
      random.nextBytes(ids);
      writer.bytes(9, ids, 0, 16);
      writer.bytes(10, ids, 16, 8);
    }
    writer.close(log);
  }
}
