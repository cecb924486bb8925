package dev.sluice.testkit;

import com.google.protobuf.ByteString;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogIdGenerator;
import dev.sluice.core.otlp.MalformedOtlpException;
import dev.sluice.core.otlp.OtlpRecord;
import dev.sluice.core.otlp.OtlpRecordVisitor;
import dev.sluice.core.otlp.OtlpWalker;
import dev.sluice.core.otlp.RecordExtractor;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.InstrumentationScope;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.logs.v1.ResourceLogs;
import io.opentelemetry.proto.logs.v1.ScopeLogs;
import io.opentelemetry.proto.resource.v1.Resource;
import java.time.Instant;
import java.time.InstantSource;
import java.util.BitSet;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;

/** Sample batches like those of the ingest path. */
public final class LogBatches {
  private static final LogIdGenerator IDS = new LogIdGenerator(InstantSource.system());
  private static final String[] SERVICES = {"checkout", "cart", "payment", "shipping", "search"};
  private static final String[] LEVELS = {"DEBUG", "INFO", "WARN", "ERROR"};
  private static final String[] BODIES = {
    "GET /api/v1/orders/%d took %d ms",
    "user %d logged in from 10.0.%d.17",
    "payment %d declined by the bank, code %d",
    "cache miss for key order:%d, loaded in %d us",
    "connection to replica %d lost after %d s, trying again",
  };

  private LogBatches() {}

  /** Returns a batch of {@code records} logs, none rejected; the logs of two batches differ. */
  public static LogBatch of(int records) {
    return of(records, new Random());
  }

  /**
   * Returns a batch of {@code records} logs drawn from {@code random}; its ids are new at each
   * call.
   */
  public static LogBatch of(int records, RandomGenerator random) {
    return of(request(records, random));
  }

  /** Returns the batch that the ingest path makes of these bytes with the default limits. */
  public static LogBatch of(byte[] otlp) {
    return of(otlp, Limits.DEFAULT);
  }

  /** Returns the batch that the ingest path makes of these bytes. */
  public static LogBatch of(byte[] otlp, Limits limits) {
    var walker = new OtlpWalker(limits);
    var rejected = new BitSet();
    try {
      walker.walk(
          otlp,
          0,
          otlp.length,
          new OtlpRecordVisitor() {
            @Override
            public void visitRecord(OtlpRecord log) {}

            @Override
            public void visitRejected(int ordinal, String field, String reason) {
              rejected.set(ordinal);
            }
          });
    } catch (MalformedOtlpException e) {
      throw new IllegalArgumentException(e);
    }
    int records = walker.records() - rejected.cardinality();
    var now = Instant.now();
    return new LogBatch(
        UUID.randomUUID(),
        "default",
        now.getEpochSecond() * 1_000_000_000L + now.getNano(),
        IDS.next(records),
        records,
        Math.toIntExact(walker.expandedBytes()),
        rejected.isEmpty()
            ? otlp
            : RecordExtractor.extract(otlp, otlp.length, ordinal -> !rejected.get(ordinal)));
  }

  /** Returns one request of one service with {@code records} logs of about 200 bytes each. */
  public static byte[] request(int records, RandomGenerator random) {
    var service = SERVICES[random.nextInt(SERVICES.length)];
    var scope =
        ScopeLogs.newBuilder()
            .setScope(InstrumentationScope.newBuilder().setName("com.example." + service));
    for (int i = 0; i < records; i++) {
      scope.addLogRecords(log(random));
    }
    return ExportLogsServiceRequest.newBuilder()
        .addResourceLogs(
            ResourceLogs.newBuilder()
                .setResource(
                    Resource.newBuilder()
                        .addAttributes(attribute("service.name", service))
                        .addAttributes(attribute("host.name", service + "-7f9c")))
                .addScopeLogs(scope))
        .build()
        .toByteArray();
  }

  private static LogRecord log(RandomGenerator random) {
    int level = random.nextInt(LEVELS.length);
    long now = System.currentTimeMillis() * 1_000_000L + random.nextInt(1_000_000);
    var log =
        LogRecord.newBuilder()
            .setTimeUnixNano(now)
            .setObservedTimeUnixNano(now + 1_000)
            .setSeverityText(LEVELS[level])
            .setSeverityNumberValue(4 * level + 5)
            .setBody(
                AnyValue.newBuilder()
                    .setStringValue(
                        BODIES[random.nextInt(BODIES.length)].formatted(
                            random.nextInt(1_000_000), random.nextInt(256))))
            .addAttributes(attribute("thread.name", "worker-" + random.nextInt(32)));
    if (random.nextInt(4) == 0) {
      byte[] trace = new byte[16];
      byte[] span = new byte[8];
      random.nextBytes(trace);
      random.nextBytes(span);
      log.setTraceId(ByteString.copyFrom(trace)).setSpanId(ByteString.copyFrom(span));
    }
    return log.build();
  }

  private static KeyValue attribute(String key, String value) {
    return KeyValue.newBuilder()
        .setKey(key)
        .setValue(AnyValue.newBuilder().setStringValue(value))
        .build();
  }

  /** Returns {@code batches} batches of {@code records} logs each. */
  public static List<LogBatch> list(int batches, int records) {
    return IntStream.range(0, batches).mapToObj(_ -> of(records)).toList();
  }
}
