package dev.sluice.api.protocol;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.util.JsonFormat;
import dev.sluice.api.IngestFixture;
import dev.sluice.api.NoopIngestMetrics;
import dev.sluice.api.Registrations;
import dev.sluice.api.protocol.legacy.LegacyDecoders;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.ingest.BodyEncoding;
import dev.sluice.core.ingest.DecodeException;
import dev.sluice.core.ingest.IngestResult;
import dev.sluice.core.ingest.IngestService;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.core.ingest.RequestContext;
import dev.sluice.core.otlp.MalformedOtlpException;
import dev.sluice.core.otlp.OtlpRecord;
import dev.sluice.core.otlp.OtlpRecordVisitor;
import dev.sluice.core.otlp.OtlpWalker;
import dev.sluice.proto.logs.LogEntry;
import dev.sluice.proto.logs.LogEntryBatch;
import dev.sluice.testkit.InMemorySpool;
import dev.sluice.testkit.RandomOtlp;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Properties of the decoders for random input, which is the same in every run. */
@Timeout(60)
class DecodersTest {
  private static final Limits LIMITS = new Limits(1 << 20, 100, 1 << 22, 200, 8, 24, 60, 40, 4);

  private static final BiFunction<byte[], Limits, OtlpPayload> NATIVE_JSON =
      Registrations.decoder("/api/v1/logs", "application/json");
  private static final BiFunction<byte[], Limits, OtlpPayload> NATIVE_NDJSON =
      Registrations.decoder("/api/v1/logs", "application/x-ndjson");
  private static final BiFunction<byte[], Limits, OtlpPayload> OTLP_JSON =
      Registrations.decoder("/v1/logs", "application/json");
  private static final BiFunction<byte[], Limits, OtlpPayload> LEGACY_JSON =
      Registrations.decoder("/api/logs", "application/json");
  private static final BiFunction<byte[], Limits, OtlpPayload> LEGACY_PROTOBUF =
      Registrations.decoder("/api/logs", "application/x-protobuf");
  private static final BiFunction<byte[], Limits, OtlpPayload> LEGACY_BATCH =
      Registrations.decoder("/api/logs", "application/x-protobuf-batch");

  /** Fragments of rows, valid and invalid. */
  private static final String[] VALUES = {
    "null",
    "true",
    "0",
    "-1",
    "17",
    "25",
    "1700000000",
    "1700000000.5",
    "9223372036854775808",
    "1e999",
    "1e-999999999",
    "\"\"",
    "\"error\"",
    "\"2024-05-06T07:08:09Z\"",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "\"é漢😀\"",
    "\"0123456789abcdef\"",
    "\"0123456789abcdef0123456789abcdef\"",
    "[]",
    "{}",
    "[1,[2,[3,[4,[5]]]]]",
    "{\"a\":{\"b\":{\"c\":{\"d\":{\"e\":1}}}}}",
    "{\"name\":\"n\",\"version\":\"v\",\"attributes\":{\"a\":1}}",
    "{\"k\":\"v\",\"k\":2}",
    "\"" + "x".repeat(41) + "\"",
    "\"" + "y".repeat(61) + "\"",
    "\"" + "z".repeat(201) + "\"",
    "{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,\"i\":9}",
  };

  private static final String[] FIELDS = {
    "timestamp",
    "observed_timestamp",
    "severity",
    "severity_number",
    "severity_text",
    "service",
    "host",
    "resource",
    "scope",
    "trace_id",
    "span_id",
    "flags",
    "event_name",
    "body",
    "body",
    "attributes",
    "attributes",
    "unknown",
  };

  private static String row(Random random) {
    var members = new ArrayList<String>();
    if (random.nextBoolean()) {
      members.add("\"body\":\"b\"");
    }
    for (int i = random.nextInt(4); i > 0; i--) {
      members.add(
          "\"%s\":%s"
              .formatted(
                  FIELDS[random.nextInt(FIELDS.length)], VALUES[random.nextInt(VALUES.length)]));
    }
    return random.nextInt(30) == 0
        ? VALUES[random.nextInt(VALUES.length)]
        : "{" + String.join(",", members) + "}";
  }

  private static List<String> rows(Random random) {
    var rows = new ArrayList<String>();
    for (int i = random.nextInt(1, 12); i > 0; i--) {
      rows.add(row(random));
    }
    return rows;
  }

  @Test
  void accept_anyNativeRows_everyRowIsStorableOrRejected() throws Exception {
    var random = new Random(3);
    int accepted = 0;
    int rejected = 0;
    for (int i = 0; i < 3000; i++) {
      var rows = rows(random);
      boolean lines = random.nextBoolean();
      var payload =
          lines
              ? NATIVE_NDJSON.apply(String.join("\n", rows).getBytes(UTF_8), LIMITS)
              : NATIVE_JSON.apply(rows.toString().getBytes(UTF_8), LIMITS);
      var spool = new InMemorySpool();

      var verdict = (IngestResult.Accepted) accept(spool, payload);

      assertThat(verdict.accepted() + verdict.rejectedCount()).isEqualTo(rows.size());
      assertThat(verdict.rejections())
          .hasSize(verdict.rejectedCount())
          .allMatch(v -> v.index() < rows.size())
          .extracting(v -> v.index())
          .doesNotHaveDuplicates()
          .isSorted();
      assertThat(stored(spool)).isEqualTo(verdict.accepted());
      accepted += verdict.accepted();
      rejected += verdict.rejectedCount();
    }
    assertThat(accepted).as("valid records in the sample").isGreaterThan(1000);
    assertThat(rejected).as("invalid records in the sample").isGreaterThan(1000);
  }

  private static IngestResult accept(InMemorySpool spool, OtlpPayload payload) {
    var ingestFixture =
        IngestFixture.of(
            spool,
            LIMITS,
            new MemoryBudget(1 << 20),
            new IngestService.BatchLimits(1000, 1 << 20, Duration.ofMillis(1)),
            new NoopIngestMetrics());
    var pipeline = ingestFixture.pipeline(Duration.ofSeconds(10));
    return pipeline
        .ingest(
            RequestContext.of("default", null, "test"),
            pipeline.newReservation(0),
            payload.bytes(),
            BodyEncoding.IDENTITY,
            (_, _, _) -> payload)
        .join();
  }

  /** Walks the spooled batches as the store does; asserts that no accepted record is rejected. */
  private static int stored(InMemorySpool spool) throws Exception {
    var delivery = spool.consumer().poll(Duration.ZERO, Duration.ZERO);
    int stored = 0;
    if (delivery.isPresent()) {
      for (var batch : delivery.get().batches()) {
        stored += stored(batch);
      }
    }
    return stored;
  }

  private static int stored(LogBatch batch) throws MalformedOtlpException {
    var accepted = new int[1];
    new OtlpWalker(Limits.TRUSTED)
        .walk(
            batch.otlp(),
            0,
            batch.otlp().length,
            new OtlpRecordVisitor() {
              @Override
              public void visitRecord(OtlpRecord log) {
                accepted[0]++;
              }

              @Override
              public void visitRejected(int ordinal, String field, String reason) {
                throw new AssertionError(field + " " + reason);
              }
            });
    assertThat(accepted[0]).isEqualTo(batch.records());
    return accepted[0];
  }

  @Test
  void ofJson_mutated_isDecodedOrThrowsDecodeException() {
    var random = new Random(5);
    for (int i = 0; i < 20_000; i++) {
      mutateAndRead(random, rows(random).toString(), NATIVE_JSON);
    }
  }

  @Test
  void ofNdjson_mutated_isDecodedOrThrowsDecodeException() {
    var random = new Random(6);
    for (int i = 0; i < 20_000; i++) {
      mutateAndRead(random, String.join("\n", rows(random)), NATIVE_NDJSON);
    }
  }

  @Test
  void otlpJson_mutated_isDecodedOrThrowsDecodeException() throws Exception {
    var random = new Random(7);
    for (int i = 0; i < 10_000; i++) {
      var json =
          JsonFormat.printer().omittingInsignificantWhitespace().print(RandomOtlp.request(random));
      mutateAndRead(random, json, OTLP_JSON);
    }
  }

  @Test
  void anyDecoder_randomBytes_isDecodedOrThrowsDecodeException() {
    var random = new Random(8);
    for (int i = 0; i < 20_000; i++) {
      var bytes = new byte[random.nextInt(40)];
      random.nextBytes(bytes);
      read(bytes, NATIVE_JSON);
      read(bytes, NATIVE_NDJSON);
      read(bytes, OTLP_JSON);
      read(bytes, LEGACY_JSON);
      read(bytes, LEGACY_PROTOBUF);
      read(bytes, LEGACY_BATCH);
      read(bytes, LegacyDecoders::ofIngestLogsRequest);
    }
  }

  @Test
  void legacyLogsOfJson_mutated_isDecodedOrThrowsDecodeException() {
    var random = new Random(9);
    for (int i = 0; i < 10_000; i++) {
      var rows = legacyLogs(random).stream().map(DecodersTest::legacyRow).toList();
      mutateAndRead(random, rows.toString().getBytes(UTF_8), LEGACY_JSON);
    }
  }

  private static String legacyRow(LogEntry log) {
    try {
      return JsonFormat.printer()
          .preservingProtoFieldNames()
          .omittingInsignificantWhitespace()
          .print(log);
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void legacyLogsOfProtobuf_mutated_isDecodedOrThrowsDecodeException() {
    var random = new Random(10);
    for (int i = 0; i < 20_000; i++) {
      var logs = LogEntryBatch.newBuilder().addAllEntries(legacyLogs(random)).build();
      mutateAndRead(random, logs.getEntries(0).toByteArray(), LEGACY_PROTOBUF);
      mutateAndRead(random, logs.toByteArray(), LEGACY_BATCH);
      mutateAndRead(random, logs.toByteArray(), LegacyDecoders::ofIngestLogsRequest);
    }
  }

  private static List<LogEntry> legacyLogs(Random random) {
    var logs = new ArrayList<LogEntry>();
    for (int i = random.nextInt(1, 6); i > 0; i--) {
      logs.add(
          LogEntry.newBuilder()
              .setId(word(random))
              .setAppId("a" + word(random))
              .setTimestamp(random.nextLong())
              .setLevelValue(random.nextInt(6))
              .setMessage("m" + word(random))
              .setSource(word(random))
              .setEnvironment(word(random))
              .putMetadata("k" + word(random), word(random))
              .setTraceId(word(random))
              .setUserId(word(random))
              .build());
    }
    return logs;
  }

  private static String word(Random random) {
    return "é漢😀 words\"\\\0".substring(random.nextInt(14)).replaceAll("^\\p{Cs}", "");
  }

  private static void mutateAndRead(
      Random random, String json, BiFunction<byte[], Limits, OtlpPayload> decoder) {
    mutateAndRead(random, json.getBytes(UTF_8), decoder);
  }

  private static void mutateAndRead(
      Random random, byte[] message, BiFunction<byte[], Limits, OtlpPayload> decoder) {
    var bytes = message.clone();
    for (int i = random.nextInt(1, 4); i > 0; i--) {
      int at = random.nextInt(bytes.length);
      switch (random.nextInt(4)) {
        case 0 -> bytes[at] = (byte) random.nextInt();
        case 1 -> bytes[at] = (byte) "[]{}\",:\\0 \n".charAt(random.nextInt(11));
        case 2 -> bytes = Arrays.copyOf(bytes, Math.max(1, at));
        default -> {
          int from = random.nextInt(bytes.length);
          int length = Math.min(bytes.length - Math.max(at, from), random.nextInt(20));
          System.arraycopy(bytes, from, bytes, at, length);
        }
      }
    }
    read(bytes, decoder);
  }

  private static void read(byte[] bytes, BiFunction<byte[], Limits, OtlpPayload> decoder) {
    OtlpPayload payload;
    try {
      payload = decoder.apply(bytes, LIMITS);
    } catch (DecodeException e) {
      assertThat(e.detail()).isNotBlank();
      return;
    } catch (RuntimeException e) {
      fail(new String(bytes, UTF_8), e);
      return;
    }
    try {
      new OtlpWalker(LIMITS).walk(payload.bytes(), 0, payload.length(), new NoopVisitor());
    } catch (MalformedOtlpException e) {
      fail("decoded to bytes that are not OTLP: " + new String(bytes, UTF_8), e);
    }
  }

  private static final class NoopVisitor implements OtlpRecordVisitor {
    @Override
    public void visitRecord(OtlpRecord log) {}

    @Override
    public void visitRejected(int ordinal, String field, String reason) {}
  }
}
