package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.entry;

import com.google.protobuf.ByteString;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.domain.RecordIds;
import dev.sluice.core.port.LogStore;
import dev.sluice.core.port.LogStore.DeliverySlice;
import dev.sluice.core.port.LogStore.StoreResult;
import dev.sluice.query.port.LogReader;
import dev.sluice.query.port.LogReader.StoredLog;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.InstrumentationScope;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.logs.v1.ResourceLogs;
import io.opentelemetry.proto.logs.v1.ScopeLogs;
import io.opentelemetry.proto.logs.v1.SeverityNumber;
import io.opentelemetry.proto.resource.v1.Resource;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The contract of every {@link LogStore}; its {@link LogReader} reads the stored logs. Each test
 * begins with an empty store.
 */
public abstract class LogStoreContract extends LogContract {

  @Test
  void store_everyField_isReadBackAsSent() throws Exception {
    var batch =
        LogBatches.of(
            ExportLogsServiceRequest.newBuilder()
                .addResourceLogs(
                    ResourceLogs.newBuilder()
                        .setSchemaUrl("https://example.com/resource/1")
                        .setResource(
                            Resource.newBuilder()
                                .addAttributes(pair("service.name", string("checkout")))
                                .addAttributes(pair("host.name", string("host-1"))))
                        .addScopeLogs(
                            ScopeLogs.newBuilder()
                                .setSchemaUrl("https://example.com/scope/2")
                                .setScope(
                                    InstrumentationScope.newBuilder()
                                        .setName("com.example.Cart")
                                        .setVersion("1.2.3")
                                        .addAttributes(pair("scope.key", string("scope value"))))
                                .addLogRecords(
                                    LogRecord.newBuilder()
                                        .setTimeUnixNano(BASE_NANOS + 123_456_789)
                                        .setObservedTimeUnixNano(BASE_NANOS + 5 * SECOND + 1)
                                        .setSeverityNumber(SeverityNumber.SEVERITY_NUMBER_WARN2)
                                        .setSeverityText("Warning!")
                                        .setBody(string("cart is full"))
                                        .addAttributes(pair("user", string("ann")))
                                        .addAttributes(pair("items", number(17)))
                                        .setDroppedAttributesCount(-2)
                                        .setFlags(0xFEDC_BA01)
                                        .setTraceId(bytes(TRACE))
                                        .setSpanId(bytes("a1b2c3d4e5f60708"))
                                        .setEventName("cart.full"))))
                .build()
                .toByteArray());

    store(batch);

    assertThat(allLogs())
        .containsExactly(
            new StoredLog(
                batch.firstId(),
                BASE_NANOS + 123_456_789,
                BASE_NANOS + 5 * SECOND + 1,
                batch.receivedNanos(),
                14,
                "Warning!",
                "checkout",
                "cart is full",
                TRACE,
                "a1b2c3d4e5f60708",
                0xFEDC_BA01L,
                "cart.full",
                Map.of("user", "ann", "items", "17"),
                0xFFFF_FFFEL,
                Map.of("service.name", "checkout", "host.name", "host-1"),
                "https://example.com/resource/1",
                "com.example.Cart",
                "1.2.3",
                Map.of("scope.key", "scope value"),
                "https://example.com/scope/2",
                null,
                null));
  }

  @Test
  void store_emptyRecord_hasTheReceiveTime() throws Exception {
    var batch = batchOf(LogRecord.getDefaultInstance());

    store(batch);

    long received = batch.receivedNanos();
    assertThat(allLogs())
        .containsExactly(
            new StoredLog(
                batch.firstId(),
                received,
                received,
                received,
                0,
                "",
                "",
                "",
                "",
                "",
                0,
                "",
                Map.of(),
                0,
                Map.of(),
                "",
                "",
                "",
                Map.of(),
                "",
                null,
                null));
  }

  @Test
  void store_observedTimeOnly_isUsedAsTimestamp() throws Exception {
    store(batchOf(LogRecord.newBuilder().setObservedTimeUnixNano(BASE_NANOS + 7).build()));

    assertThat(allLogs().getFirst().timeNanos()).isEqualTo(BASE_NANOS + 7);
    assertThat(allLogs().getFirst().observedNanos()).isEqualTo(BASE_NANOS + 7);
  }

  @Test
  void store_valuesOfEveryKind_haveTheirStringForm() throws Exception {
    var values = valuesOfEveryKind();
    var log = LogRecord.newBuilder().setTimeUnixNano(BASE_NANOS);
    var bodies = new ArrayList<LogRecord>();
    int i = 0;
    for (var value : values.keySet()) {
      log.addAttributes(pair("key" + i++, value));
      bodies.add(LogRecord.newBuilder().setTimeUnixNano(BASE_NANOS - i).setBody(value).build());
    }
    bodies.addFirst(log.build());
    var batch = batchOf(bodies.toArray(LogRecord[]::new));

    store(batch);

    var logs = allLogs();
    var texts = List.copyOf(values.values());
    assertThat(logs.getFirst().attributes())
        .isEqualTo(
            IntStream.range(0, texts.size())
                .boxed()
                .collect(Collectors.toMap(n -> "key" + n, texts::get)));
    assertThat(logs.stream().skip(1).map(StoredLog::body)).isEqualTo(texts);
  }

  private static Map<AnyValue, String> valuesOfEveryKind() {
    var kinds = new LinkedHashMap<AnyValue, String>();
    kinds.put(AnyValue.getDefaultInstance(), "");
    kinds.put(string("plain"), "plain");
    kinds.put(string("tab\t\"quotes\" \\ back\nline"), "tab\t\"quotes\" \\ back\nline");
    kinds.put(string("zero\0byte"), "zero\0byte");
    kinds.put(string("ÄÖÜ 日本語 🚀"), "ÄÖÜ 日本語 🚀");
    kinds.put(bool(true), "true");
    kinds.put(bool(false), "false");
    kinds.put(number(0), "0");
    kinds.put(number(Long.MIN_VALUE), "-9223372036854775808");
    RandomLogs.DOUBLES.forEach((value, text) -> kinds.put(decimal(value), text));
    kinds.put(binary(new byte[0]), "");
    kinds.put(binary(new byte[] {0, (byte) 0xFF, 16}), "AP8Q");
    kinds.put(list(), "[]");
    kinds.put(
        list(string("a<b"), number(2), decimal(0.5), bool(true), AnyValue.getDefaultInstance()),
        "[\"a\\u003cb\",2,0.5,true,null]");
    kinds.put(map(), "{}");
    kinds.put(
        map(pair("b", list(map(pair("x", binary(new byte[] {1}))))), pair("a", string("é\n"))),
        "{\"a\":\"é\\n\",\"b\":[{\"x\":\"AQ==\"}]}");
    return kinds;
  }

  @Test
  void store_nonStringServiceName_hasItsStringForm() throws Exception {
    store(
        LogBatches.of(
            request(
                Resource.newBuilder().addAttributes(pair("service.name", number(42))).build(),
                List.of(LogRecord.newBuilder().setTimeUnixNano(BASE_NANOS).build()))));

    assertThat(allLogs().getFirst().service()).isEqualTo("42");
    assertThat(read(query().service("42"))).hasSize(1);
  }

  @Test
  void store_duplicateKey_hasTheLastValue() throws Exception {
    store(
        batchOf(
            LogRecord.newBuilder()
                .addAttributes(pair("key", string("first")))
                .addAttributes(pair("other", string("kept")))
                .addAttributes(pair("key", string("last")))
                .build()));

    assertThat(allLogs().getFirst().attributes()).isEqualTo(Map.of("key", "last", "other", "kept"));
  }

  @Test
  void store_bodyOfAMebibyte_isReadBack() throws Exception {
    var body = "a€".repeat((1 << 20) / 4);
    store(
        batchOf(LogRecord.newBuilder().setTimeUnixNano(BASE_NANOS).setBody(string(body)).build()));

    assertThat(allLogs().getFirst().body()).isEqualTo(body);
  }

  @Test
  void store_invalidRecord_isCorrupt() throws Exception {
    var good = LogBatches.of(2);
    var invalid = LogRecord.newBuilder().setTraceId(ByteString.copyFrom(new byte[5])).build();
    var batch =
        new LogBatch(
            good.appendId(),
            good.tenant(),
            good.receivedNanos(),
            good.firstId(),
            2,
            good.expandedBytes(),
            request(Resource.getDefaultInstance(), List.of(invalid, log(0))));

    assertCorrupt(batch, store().store(token(), List.of(batch)));
    assertThat(store().storedRecords()).isZero();
  }

  @Test
  void store_malformedOtlp_isCorrupt() throws Exception {
    var bad = malformedBatch();

    assertCorrupt(bad, store().store(token(), List.of(LogBatches.of(2), bad)));
    assertThat(store().storedRecords()).isZero();
  }

  /** Part of the batch may be on its way to the store when the error is found. */
  @Test
  void store_corruptBatchAfterManyValidOnes_storesNone() throws Exception {
    var bad = malformedBatch();

    assertCorrupt(bad, store().store(token(), List.of(LogBatches.of(70_000), bad)));
    assertThat(store().storedRecords()).isZero();
  }

  @Test
  void store_payloadThatCannotBeDecompressed_isCorrupt() throws Exception {
    var good = LogBatches.of(1);
    var bad =
        new LogBatch(
            good.appendId(),
            good.tenant(),
            good.receivedNanos(),
            good.firstId(),
            1,
            1,
            new CorruptPayload());

    assertCorrupt(bad, store().store(token(), List.of(LogBatches.of(2), bad)));
    assertThat(store().storedRecords()).isZero();
  }

  private static final class CorruptPayload implements LogBatch.Payload {
    @Override
    public byte[] otlp(IntFunction<byte[]> allocator) {
      throw new IllegalStateException("no LZ4 block");
    }

    @Override
    public int uncompressedBytes() {
      return 1;
    }

    @Override
    public int retainedBytes() {
      return 1;
    }
  }

  @Test
  void store_fewerRecordsThanDeclared_isCorrupt() throws Exception {
    var batch = LogBatches.of(3);
    var more =
        new LogBatch(
            batch.appendId(),
            batch.tenant(),
            batch.receivedNanos(),
            batch.firstId(),
            4,
            batch.expandedBytes(),
            batch.otlp());

    assertCorrupt(more, store().store(token(), List.of(more)));
    assertThat(store().storedRecords()).isZero();
  }

  @Test
  void store_corruptBatchOutsideTheSlice_isIgnored() throws Exception {
    var batches = List.of(LogBatches.of(3), malformedBatch(), LogBatches.of(2));

    assertThat(store().store(new DeliverySlice(token(), batches, 0, 3, false), RecordIds.NONE))
        .isEqualTo(new StoreResult.Stored());
    assertThat(store().store(new DeliverySlice(token(), batches, 4, 6, true), RecordIds.NONE))
        .isEqualTo(new StoreResult.Stored());

    assertIds(batches, 0, 1, 2, 4, 5);
  }

  private static LogBatch malformedBatch() {
    var good = LogBatches.of(1);
    return new LogBatch(
        UUID.randomUUID(), "default", BASE_NANOS, good.firstId(), 1, 1, new byte[] {10, 100, 1});
  }

  private static void assertCorrupt(LogBatch batch, StoreResult storeResult) {
    assertThat(storeResult)
        .isInstanceOfSatisfying(
            StoreResult.Corrupt.class,
            corrupt -> {
              assertThat(corrupt.appendId()).isEqualTo(batch.appendId());
              assertThat(corrupt.reason()).isNotBlank();
            });
  }

  // ---- exactly once

  @Test
  void store_slicesOfADelivery_storeOnlyTheirRecords() throws Exception {
    var batches = LogBatches.list(3, 4);

    assertThat(store().store(new DeliverySlice("right", batches, 6, 12, false), RecordIds.NONE))
        .isEqualTo(new StoreResult.Stored());
    assertIds(batches, 6, 7, 8, 9, 10, 11);
    assertThat(store().store(new DeliverySlice("left", batches, 0, 6, false), RecordIds.NONE))
        .isEqualTo(new StoreResult.Stored());

    assertIds(batches, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
  }

  @Test
  void store_redeliveredAndNothingStored_storesAll() throws Exception {
    var batches = LogBatches.list(3, 4);

    assertThat(store().store(new DeliverySlice(token(), batches, 1, 11, true), RecordIds.NONE))
        .isEqualTo(new StoreResult.Stored());

    assertIds(batches, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
  }

  @Test
  void store_redeliveredAndAllStoredUnderAnotherToken_storesNothing() throws Exception {
    var batches = LogBatches.list(3, 4);
    store(batches.toArray(LogBatch[]::new));

    for (int i = 0; i < 2; i++) {
      assertThat(store().store(new DeliverySlice(token(), batches, 0, 12, true), RecordIds.NONE))
          .isEqualTo(new StoreResult.Stored());
    }

    assertThat(store().storedRecords()).isEqualTo(12);
  }

  @Test
  void store_redeliveredAndSomeStored_storesTheOthers() throws Exception {
    var batches = LogBatches.list(5, 4);
    store().store(new DeliverySlice(token(), batches, 3, 9, false), RecordIds.NONE);
    store().store(new DeliverySlice(token(), batches, 12, 13, false), RecordIds.NONE);

    assertThat(store().store(new DeliverySlice(token(), batches, 1, 20, true), RecordIds.NONE))
        .isEqualTo(new StoreResult.Stored());

    assertIds(batches, IntStream.range(1, 20).toArray());
  }

  @Test
  void store_redeliveredAndSomeOfHundredsOfDaysStored_storesTheOthers() throws Exception {
    var times =
        LongStream.range(0, 600).mapToObj(i -> BASE_NANOS - (i * 7 % 300) * DAY - i).toList();
    var batches = List.of(batchAt(times.subList(0, 250)), batchAt(times.subList(250, 600)));
    store().store(new DeliverySlice(token(), batches, 100, 420, false), RecordIds.NONE);

    for (int i = 0; i < 2; i++) {
      assertThat(
              store().store(new DeliverySlice("days again", batches, 0, 600, true), RecordIds.NONE))
          .isEqualTo(new StoreResult.Stored());
      assertIds(batches, IntStream.range(0, 600).toArray());
    }
  }

  /**
   * The ids form more runs than a query names one by one, with ids of other deliveries between
   * them.
   */
  @Test
  void store_redeliveredManySmallBatches_areDistinguishedFromTheirNeighbours() throws Exception {
    var all = new ArrayList<>(LogBatches.list(600, 1));
    for (int i = 0; i < all.size(); i++) {
      all.set(i, withLaterIds(i * 10_000L, all.get(i)));
    }
    var ownBatches = IntStream.range(0, 600).filter(i -> i % 3 != 1).mapToObj(all::get).toList();
    var otherBatches = IntStream.range(0, 600).filter(i -> i % 3 == 1).mapToObj(all::get).toList();
    store(otherBatches.toArray(LogBatch[]::new));
    store().store(new DeliverySlice(token(), ownBatches, 50, 350, false), RecordIds.NONE);

    assertThat(store().store(new DeliverySlice(token(), ownBatches, 0, 400, true), RecordIds.NONE))
        .isEqualTo(new StoreResult.Stored());

    assertThat(allLogs().stream().map(StoredLog::id))
        .containsExactlyInAnyOrderElementsOf(all.stream().map(LogBatch::firstId).toList());
  }

  /** Returns the batch with ids that are later by {@code millis}. */
  private static LogBatch withLaterIds(long millis, LogBatch batch) {
    var id = batch.firstId();
    return new LogBatch(
        batch.appendId(),
        batch.tenant(),
        batch.receivedNanos(),
        new LogId(id.high() + (millis << 16), id.low()),
        batch.records(),
        batch.expandedBytes(),
        batch.otlp());
  }

  /** Asserts that exactly these records of the batches are stored, each once. */
  private void assertIds(List<LogBatch> batches, int... records) throws InterruptedException {
    var ids =
        batches.stream()
            .flatMap(b -> IntStream.range(0, b.records()).mapToObj(b.firstId()::plus))
            .toList();
    assertThat(allLogs().stream().map(StoredLog::id))
        .containsExactlyInAnyOrderElementsOf(IntStream.of(records).mapToObj(ids::get).toList());
    assertThat(store().storedRecords()).isEqualTo(records.length);
  }

  @Test
  void storedRecords_severalReceiveDays_areCountedSeparately() throws Exception {
    var first = LocalDate.parse("2026-01-14");
    store(receivedAt(BASE_NANOS - DAY, LogBatches.of(3)), receivedAt(BASE_NANOS, LogBatches.of(4)));
    // the last and the first instant of a day
    long midnight = first.plusDays(1).toEpochDay() * DAY;
    store(receivedAt(midnight - 1, LogBatches.of(1)), receivedAt(midnight, LogBatches.of(1)));
    store(receivedAt(BASE_NANOS + 3 * DAY, LogBatches.of(5)));

    assertThat(store().storedRecords(LocalDate.EPOCH))
        .containsExactly(
            entry(first, 4L), entry(first.plusDays(1), 5L), entry(first.plusDays(4), 5L));
    assertThat(store().storedRecords(first.plusDays(1)))
        .containsExactly(entry(first.plusDays(1), 5L), entry(first.plusDays(4), 5L));
    assertThat(store().storedRecords(first.plusDays(5))).isEmpty();
    assertThat(store().storedRecords()).isEqualTo(14);
  }

  private static LogBatch receivedAt(long nanos, LogBatch batch) {
    return new LogBatch(
        batch.appendId(),
        batch.tenant(),
        nanos,
        batch.firstId(),
        batch.records(),
        batch.expandedBytes(),
        batch.otlp());
  }

  @Test
  void store_sameTokenTwice_storesOnce() throws Exception {
    var batches = LogBatches.list(3, 100);

    assertThat(store().store("again", batches)).isEqualTo(new StoreResult.Stored());
    assertThat(store().store("again", batches)).isEqualTo(new StoreResult.Stored());

    assertThat(store().storedRecords()).isEqualTo(300);
  }

  @Test
  void store_hundredsOfDays_areAllStoredOnce() throws Exception {
    // days in random order, and many records of each
    var times = new ArrayList<Long>();
    for (int i = 0; i < 1200; i++) {
      times.add(BASE_NANOS - (i * 7L % 300) * DAY - i);
    }
    var half = times.size() / 2;
    var batches =
        List.of(batchAt(times.subList(0, half)), batchAt(times.subList(half, times.size())));

    for (int i = 0; i < 2; i++) {
      assertThat(store().store("days", batches)).isEqualTo(new StoreResult.Stored());
      assertThat(store().storedRecords()).isEqualTo(1200);
    }

    var newestFirst = times.stream().sorted(Comparator.reverseOrder()).toList();
    assertThat(readAllPages(query(), 1000).stream().map(StoredLog::timeNanos))
        .isEqualTo(newestFirst);
  }

  /** Compares random requests with a conversion that shares no code with the stores. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void store_anyRequest_isReadBackAsConvertedFromItsMessages(long seed) throws Exception {
    var random = new RandomLogs(seed);
    var requests = List.of(random.request(), random.request(), random.request());
    var limits = Limits.DEFAULT;
    var batches = requests.stream().map(r -> LogBatches.of(r.toByteArray(), limits)).toList();

    store(batches.toArray(LogBatch[]::new));

    var expected = new ArrayList<StoredLog>();
    for (int i = 0; i < requests.size(); i++) {
      expected.addAll(RandomLogs.convert(requests.get(i), batches.get(i)));
    }
    expected.sort(
        Comparator.comparingLong(StoredLog::timeNanos).thenComparing(StoredLog::id).reversed());
    assertThat(store().storedRecords()).isEqualTo(expected.size());
    assertThat(readAllPages(query(), 64)).isEqualTo(expected);
    for (var log : expected.subList(0, Math.min(5, expected.size()))) {
      var found = read(query().attributes(log.attributes()).service(log.service()));
      assertThat(found).contains(log);
    }
  }
}
