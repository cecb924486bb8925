package dev.sluice.core.otlp;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogIdGenerator;
import java.time.InstantSource;
import java.util.UUID;
import java.util.random.RandomGenerator;

/**
 * A generator of request bodies as a collector sends them: some sixty services, a handful of logs
 * from each.
 */
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
  private static final long RECEIVED = 1_756_000_000_000_000_000L;
  private static final LogIdGenerator IDS = new LogIdGenerator(InstantSource.system());

  private SampleLogs() {}

  /** Returns an OTLP request of the given number of logs. */
  public static byte[] body(RandomGenerator random, int logs) {
    var out = new ByteOutput(logs * 256);
    var writer = new OtlpWriter(out);
    long time = RECEIVED + random.nextInt();
    for (int done = 0; done < logs; done += LOGS_PER_RESOURCE) {
      int resourceLogs = writer.beginMessage(OtlpFields.EXPORT_LOGS_SERVICE_REQUEST_RESOURCE_LOGS);
      int resource = writer.beginMessage(OtlpFields.RESOURCE_LOGS_RESOURCE);
      writer.writeAttribute(
          OtlpFields.RESOURCE_ATTRIBUTES, "service.name", "checkout-" + random.nextInt(60));
      writer.writeAttribute(
          OtlpFields.RESOURCE_ATTRIBUTES,
          "host.name",
          "node-" + random.nextInt(20) + ".eu.internal");
      writer.endMessage(resource);
      int scopeLogs = writer.beginMessage(OtlpFields.RESOURCE_LOGS_SCOPE_LOGS);
      for (int i = done; i < Math.min(logs, done + LOGS_PER_RESOURCE); i++) {
        log(writer, random, time + i * 1_000_003L);
      }
      writer.endMessage(scopeLogs);
      writer.endMessage(resourceLogs);
    }
    return out.toByteArray();
  }

  /** Returns a batch as the spool receives it: validated, without rejected records. */
  public static LogBatch batch(RandomGenerator random, int logs) {
    var otlp = body(random, logs);
    return new LogBatch(
        UUID.randomUUID(),
        "default",
        RECEIVED,
        IDS.next(logs),
        logs,
        OtlpWalker.expandedBytes(otlp),
        otlp);
  }

  private static void log(OtlpWriter writer, RandomGenerator random, long time) {
    int log = writer.beginMessage(OtlpFields.SCOPE_LOGS_LOG_RECORDS);
    writer.writeFixed64(OtlpFields.LOG_RECORD_TIME_UNIX_NANO, time);
    writer.writeFixed64(OtlpFields.LOG_RECORD_OBSERVED_TIME_UNIX_NANO, time + 1_000);
    writer.writeVarint(OtlpFields.LOG_RECORD_SEVERITY_NUMBER, 9);
    writer.writeString(OtlpFields.LOG_RECORD_SEVERITY_TEXT, "INFO");
    int body = writer.beginMessage(OtlpFields.LOG_RECORD_BODY);
    var message = MESSAGES[random.nextInt(MESSAGES.length)];
    writer.writeString(
        OtlpFields.ANY_VALUE_STRING_VALUE,
        message.formatted(random.nextInt(1_000_000), random.nextInt(900), random.nextInt(250)));
    writer.endMessage(body);
    int first = random.nextInt(ATTRIBUTES.length);
    for (int i = 0; i < 2; i++) {
      var pair = ATTRIBUTES[(first + i) % ATTRIBUTES.length];
      writer.writeAttribute(OtlpFields.LOG_RECORD_ATTRIBUTES, pair[0], pair[1]);
    }
    if (random.nextInt(4) == 0) {
      var ids = new byte[24];
      random.nextBytes(ids);
      writer.writeBytes(OtlpFields.LOG_RECORD_TRACE_ID, ids, 0, 16);
      writer.writeBytes(OtlpFields.LOG_RECORD_SPAN_ID, ids, 16, 8);
    }
    writer.endMessage(log);
  }
}
