package dev.sluice.testkit;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.domain.Severity;
import dev.sluice.core.port.LogReader;
import dev.sluice.core.port.LogReader.Bucket;
import dev.sluice.core.port.LogReader.Position;
import dev.sluice.core.port.LogReader.Query;
import dev.sluice.core.port.LogReader.Span;
import dev.sluice.core.port.LogReader.StoredLog;
import dev.sluice.core.port.LogStore;
import dev.sluice.core.port.LogStore.Outcome;
import dev.sluice.core.query.AttributeCondition;
import dev.sluice.core.query.AttributeCondition.Operator;
import dev.sluice.core.query.LogFilter;
import dev.sluice.core.query.TextQuery;
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
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What every {@link LogStore} with its {@link LogReader} keeps to. Each test begins with an empty
 * store.
 */
@Timeout(120)
public abstract class LogStoreContract {
  private static final long SECOND = 1_000_000_000L;
  private static final long DAY = 86_400L * SECOND;

  /** 2026-01-15T08:00:00Z. */
  private static final long NOON = 1_768_464_000L * SECOND;

  private static final String TRACE = "0102030405060708090a0b0c0d0e0f10";

  private static final AtomicInteger TOKENS = new AtomicInteger();

  /** The store, always the same within a test. */
  protected abstract LogStore store();

  /** Reads what {@link #store} has stored. */
  protected abstract LogReader reader();

  // ---- what arrives

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
                                        .setTimeUnixNano(NOON + 123_456_789)
                                        .setObservedTimeUnixNano(NOON + 5 * SECOND + 1)
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

    assertThat(all())
        .containsExactly(
            new StoredLog(
                batch.firstId(),
                NOON + 123_456_789,
                NOON + 5 * SECOND + 1,
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
                "https://example.com/scope/2"));
  }

  @Test
  void store_recordWithNothing_hasTheTimeOfReceipt() throws Exception {
    var batch = of(LogRecord.getDefaultInstance());

    store(batch);

    long received = batch.receivedNanos();
    assertThat(all())
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
                ""));
  }

  @Test
  void store_observedTimeOnly_isTheTimeOfTheLog() throws Exception {
    store(of(LogRecord.newBuilder().setObservedTimeUnixNano(NOON + 7).build()));

    assertThat(all().getFirst().timeNanos()).isEqualTo(NOON + 7);
    assertThat(all().getFirst().observedNanos()).isEqualTo(NOON + 7);
  }

  @Test
  void store_valuesOfEveryKind_haveTheirStringForm() throws Exception {
    var values = kinds();
    var log = LogRecord.newBuilder().setTimeUnixNano(NOON);
    var bodies = new ArrayList<LogRecord>();
    int i = 0;
    for (var value : values.keySet()) {
      log.addAttributes(pair("key" + i++, value));
      bodies.add(LogRecord.newBuilder().setTimeUnixNano(NOON - i).setBody(value).build());
    }
    bodies.addFirst(log.build());
    var batch = of(bodies.toArray(LogRecord[]::new));

    store(batch);

    var logs = all();
    var texts = List.copyOf(values.values());
    assertThat(logs.getFirst().attributes())
        .isEqualTo(
            IntStream.range(0, texts.size())
                .boxed()
                .collect(Collectors.toMap(n -> "key" + n, texts::get)));
    assertThat(logs.stream().skip(1).map(StoredLog::body)).isEqualTo(texts);
  }

  private static Map<AnyValue, String> kinds() {
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
  void store_serviceNameThatIsNoString_hasItsStringForm() throws Exception {
    store(
        LogBatches.of(
            request(
                Resource.newBuilder().addAttributes(pair("service.name", number(42))).build(),
                List.of(LogRecord.newBuilder().setTimeUnixNano(NOON).build()))));

    assertThat(all().getFirst().service()).isEqualTo("42");
    assertThat(read(query().service("42"))).hasSize(1);
  }

  @Test
  void store_keySentTwice_hasTheLastValue() throws Exception {
    store(
        of(
            LogRecord.newBuilder()
                .addAttributes(pair("key", string("first")))
                .addAttributes(pair("other", string("kept")))
                .addAttributes(pair("key", string("last")))
                .build()));

    assertThat(all().getFirst().attributes()).isEqualTo(Map.of("key", "last", "other", "kept"));
  }

  @Test
  void store_bodyOfAMebibyte_isReadBack() throws Exception {
    var body = "a€".repeat((1 << 20) / 4);
    store(of(LogRecord.newBuilder().setTimeUnixNano(NOON).setBody(string(body)).build()));

    assertThat(all().getFirst().body()).isEqualTo(body);
  }

  @Test
  void store_refusedRecords_areLeftOutAndTheOthersNumbered() throws Exception {
    var records = new ArrayList<LogRecord>();
    for (int i = 0; i < 10; i++) {
      var log = LogRecord.newBuilder().setTimeUnixNano(NOON - i).setBody(string("log " + i));
      if (i % 3 == 0) {
        log.setTraceId(ByteString.copyFrom(new byte[5]));
      }
      records.add(log.build());
    }
    var batch = of(records.toArray(LogRecord[]::new));
    assertThat(batch.refused().cardinality()).isEqualTo(4);
    batch.refused().set(4); // as a limit does that holds no more
    var fewer =
        new LogBatch(
            batch.appendId(),
            batch.tenant(),
            batch.receivedNanos(),
            batch.firstId(),
            batch.records() - 1,
            batch.expandedBytes(),
            batch.refused(),
            batch.otlp());

    store(fewer);

    assertThat(all().stream().map(StoredLog::body))
        .containsExactly("log 1", "log 2", "log 5", "log 7", "log 8");
    assertThat(all().stream().map(StoredLog::id))
        .isEqualTo(IntStream.range(0, 5).mapToObj(batch.firstId()::plus).toList());
  }

  @Test
  void store_recordRefusedWithoutVerdict_isRefused() throws Exception {
    var batch =
        of(LogRecord.newBuilder().setTraceId(ByteString.copyFrom(new byte[5])).build(), log(0));
    batch.refused().clear();

    assertThat(store().store(token(), List.of(batch))).isInstanceOf(Outcome.Refused.class);
    assertThat(store().stored()).isZero();
  }

  @Test
  void store_bytesThatAreNoOtlp_areRefused() throws Exception {
    var good = LogBatches.of(3);
    var bad =
        new LogBatch(
            UUID.randomUUID(),
            "default",
            NOON,
            good.firstId(),
            1,
            1,
            good.refused(),
            new byte[] {10, 100, 1});

    assertThat(store().store(token(), List.of(bad))).isInstanceOf(Outcome.Refused.class);
    assertThat(store().stored()).isZero();
  }

  @Test
  void store_sameTokenAgain_storesOnce() throws Exception {
    var batches = LogBatches.some(3, 100);

    assertThat(store().store("again", batches)).isEqualTo(new Outcome.Stored());
    assertThat(store().store("again", batches)).isEqualTo(new Outcome.Stored());

    assertThat(store().stored()).isEqualTo(300);
  }

  @Test
  void store_hundredsOfDays_areAllStoredOnce() throws Exception {
    // days in no order, and many records of each
    var times = new ArrayList<Long>();
    for (int i = 0; i < 1200; i++) {
      times.add(NOON - (i * 7L % 300) * DAY - i);
    }
    var half = times.size() / 2;
    var batches = List.of(at(times.subList(0, half)), at(times.subList(half, times.size())));

    for (int i = 0; i < 2; i++) {
      assertThat(store().store("days", batches)).isEqualTo(new Outcome.Stored());
      assertThat(store().stored()).isEqualTo(1200);
    }

    var newestFirst = times.stream().sorted(Comparator.reverseOrder()).toList();
    assertThat(everyPage(query(), 1000).stream().map(StoredLog::timeNanos)).isEqualTo(newestFirst);
  }

  /** Random requests against a conversion that shares no code with the stores. */
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
    assertThat(store().stored()).isEqualTo(expected.size());
    assertThat(everyPage(query(), 64)).isEqualTo(expected);
    for (var log : expected.subList(0, Math.min(5, expected.size()))) {
      var found = read(query().attributes(log.attributes()).service(log.service()));
      assertThat(found).contains(log);
    }
  }

  // ---- what is found

  @Test
  void read_anotherTenant_isEmpty() throws Exception {
    var batch = LogBatches.of(3);
    var theirs =
        new LogBatch(
            batch.appendId(),
            "acme",
            batch.receivedNanos(),
            batch.firstId(),
            3,
            batch.expandedBytes(),
            batch.refused(),
            batch.otlp());
    store(theirs, LogBatches.of(2));

    assertThat(all()).hasSize(2);
    assertThat(read(query().tenant("acme"))).hasSize(3);
    assertThat(read(query().tenant("acm' OR 1=1 --"))).isEmpty();
  }

  @Test
  void read_byService_findsExactlyIt() throws Exception {
    var names = List.of("cart", "Cart", "cart 2", "c'art\\", "カート", "");
    for (var name : names) {
      store(
          LogBatches.of(
              request(
                  Resource.newBuilder().addAttributes(pair("service.name", string(name))).build(),
                  List.of(log(0)))));
    }

    for (var name : names) {
      assertThat(read(query().service(name)).stream().map(StoredLog::service))
          .containsExactly(name);
    }
  }

  @Test
  void read_bySeverities_findsAnyOfThem() throws Exception {
    var logs =
        IntStream.rangeClosed(0, 24)
            .mapToObj(i -> log(i).toBuilder().setSeverityNumberValue(i).build());
    store(of(logs.toArray(LogRecord[]::new)));

    assertThat(read(query().severities(17, 0, 24)).stream().map(StoredLog::severityNumber))
        .containsExactly(0, 17, 24);
  }

  @Test
  void read_betweenInstants_countsNanosecondsAndExcludesTheEnd() throws Exception {
    store(at(List.of(NOON - 1, NOON, NOON + 1, NOON + 2)));

    assertThat(times(query().from(NOON).to(NOON + 2))).containsExactly(NOON + 1, NOON);
    assertThat(times(query().from(NOON + 1))).containsExactly(NOON + 2, NOON + 1);
    assertThat(times(query().to(NOON))).containsExactly(NOON - 1);
    assertThat(times(query().from(NOON).to(NOON))).isEmpty();
    assertThat(times(query().from(NOON + 2).to(NOON - 1))).isEmpty();
    assertThat(times(query().from(Long.MIN_VALUE).to(Long.MIN_VALUE))).isEmpty();
  }

  @Test
  void read_anyTimeThatCanBeSent_isFoundWithAndWithoutBounds() throws Exception {
    long after2106 = 4_294_967_296L * SECOND;
    long after2149 = 65_536L * DAY;
    var times =
        new ArrayList<>(
            List.of(1L, SECOND, 300 * SECOND, DAY, NOON, after2106, after2149, Long.MAX_VALUE));
    // the same day and five minutes again, as far as the table's own functions can tell
    for (long time : List.of(NOON, 5 * DAY, 30_000 * DAY + 17)) {
      times.add(time + after2106);
      times.add(time + after2149);
      times.add(time + 2 * after2106 > 0 ? time + 2 * after2106 : time + after2106 + 1);
    }
    times.addAll(List.of(after2106 - 1, after2106 + 1, after2149 - 1, after2149 + 1));
    times.addAll(List.of(Long.MAX_VALUE - 1, Long.MAX_VALUE - DAY, Long.MAX_VALUE - SECOND));
    var sorted = times.stream().distinct().sorted(Comparator.reverseOrder()).toList();
    store(at(sorted.reversed()));

    assertThat(times(query())).isEqualTo(sorted);
    assertThat(everyPage(query(), 2).stream().map(StoredLog::timeNanos)).isEqualTo(sorted);
    for (long time : sorted) {
      assertThat(times(query().from(time).limit(100)))
          .isEqualTo(sorted.stream().filter(t -> t >= time).toList());
      assertThat(times(query().to(time))).isEqualTo(sorted.stream().filter(t -> t < time).toList());
      if (time < Long.MAX_VALUE) {
        assertThat(times(query().from(time).to(time + 1))).containsExactly(time);
      }
    }
  }

  @Test
  void read_byTrace_findsItsLogs() throws Exception {
    store(
        of(
            log(0).toBuilder().setTraceId(bytes(TRACE)).build(),
            log(1),
            log(2).toBuilder().setTraceId(bytes(TRACE.replace('0', '1'))).build()));

    assertThat(read(query().trace(TRACE)).stream().map(StoredLog::traceId)).containsExactly(TRACE);
    assertThat(read(query().trace(TRACE.replace('0', '2')))).isEmpty();
  }

  @Test
  void read_byText_findsBodiesWithAllWordsInAnyCaseAndOrder() throws Exception {
    store(
        of(
            said(0, "Connection RESET by peer 10.0.0.1"),
            said(1, "connection refused: peer-17 gone"),
            said(2, "Ärger mit Verbindung №5"),
            said(3, "100% done"),
            said(4, "")));

    assertThat(found("connection")).containsExactly(0, 1);
    assertThat(found("PEER connection")).containsExactly(0, 1);
    assertThat(found("connect")).isEmpty();
    assertThat(found("reset, peer!")).containsExactly(0);
    assertThat(found("10.0.0.1")).containsExactly(0);
    assertThat(found("peer-17")).containsExactly(1);
    assertThat(found("ärger")).containsExactly(2);
    assertThat(found("VERBINDUNG ÄRGER")).containsExactly(2);
    assertThat(found("№5")).containsExactly(2);
    assertThat(found("%")).containsExactly(3);
    assertThat(found(": ")).containsExactly(1);
    assertThat(found("reset' or 'x\\")).isEmpty();
    assertThat(found("\t\n\\ reset")).containsExactly(0);
  }

  @Test
  void read_byText_combinesWordsAndPhrases() throws Exception {
    store(
        of(
            said(0, "connection refused by peer"),
            said(1, "peer refused the connection"),
            said(2, "timeout; connection refused"),
            said(3, "disconnection refused: error (code=7)"),
            said(4, "Größe überschritten, Fehler"),
            said(5, "a \"quoted\\path\" here")));

    assertThat(found("\"connection refused\"")).containsExactly(0, 2);
    assertThat(found("\"CONNECTION Refused\" NOT timeout")).containsExactly(0);
    assertThat(found("\"refused connection\"")).isEmpty();
    assertThat(found("\"(code=7)\"")).containsExactly(3);
    assertThat(found("\"code=\"")).containsExactly(3);
    assertThat(found("\"error (code\"")).containsExactly(3);
    assertThat(found("\".*\"")).isEmpty();
    assertThat(found("\"größe ÜBERSCHRITTEN\"")).containsExactly(4);
    assertThat(found("\"berschritten\"")).isEmpty();
    assertThat(found("\"\\\"quoted\\\\path\\\"\"")).containsExactly(5);
    assertThat(found("timeout OR fehler")).containsExactly(2, 4);
    assertThat(found("refused AND (peer OR timeout)")).containsExactly(0, 1, 2);
    assertThat(found("refused (the OR by)")).containsExactly(0, 1);
    assertThat(found("NOT refused")).containsExactly(4, 5);
    assertThat(found("refused NOT (peer OR timeout)")).containsExactly(3);
    assertThat(found("peer connection OR path quoted")).containsExactly(0, 1, 5);
  }

  private List<Integer> found(String text) throws InterruptedException {
    return read(query().text(text)).stream().map(log -> (int) (NOON - log.timeNanos())).toList();
  }

  @Test
  void read_byAttributes_findsRecordsThatHaveThemAll() throws Exception {
    var odd = "k'e\\y\n\t{x:String} ü\0";
    store(
        of(
            log(0).toBuilder()
                .addAttributes(pair("a", string("1")))
                .addAttributes(pair("b", string("2")))
                .build(),
            log(1).toBuilder().addAttributes(pair("a", string("1"))).build(),
            log(2).toBuilder().addAttributes(pair("a", string(""))).build(),
            log(3).toBuilder().addAttributes(pair(odd, string(odd))).build(),
            log(4).toBuilder().addAttributes(pair("", string("nameless"))).build(),
            log(5)));

    assertThat(offsets(query().attributes(Map.of("a", "1")))).containsExactly(0, 1);
    assertThat(offsets(query().attributes(Map.of("a", "1", "b", "2")))).containsExactly(0);
    assertThat(offsets(query().attributes(Map.of("a", "")))).containsExactly(2);
    assertThat(offsets(query().attributes(Map.of(odd, odd)))).containsExactly(3);
    assertThat(offsets(query().attributes(Map.of("", "nameless")))).containsExactly(4);
    assertThat(offsets(query().attributes(Map.of("a", "2")))).isEmpty();
  }

  @Test
  void read_byConditionsOnAttributes_comparesAsAsked() throws Exception {
    store(
        of(
            log(0).toBuilder().addAttributes(pair("path", string("/api/v1"))).build(),
            log(1).toBuilder().addAttributes(pair("path", string("/api/v2"))).build(),
            log(2).toBuilder().addAttributes(pair("path", string(""))).build(),
            log(3).toBuilder()
                .addAttributes(pair("path", string("it's, a \\ \t\n[\"1\"]")))
                .build(),
            log(4).toBuilder().addAttributes(pair("", string("/api/v1"))).build(),
            log(5)));

    assertThat(offsets(query().attribute("path", Operator.EQUAL, "/api/v1"))).containsExactly(0);
    assertThat(offsets(query().attribute("path", Operator.EQUAL, ""))).containsExactly(2);
    assertThat(offsets(query().attribute("path", Operator.NOT_EQUAL, "/api/v1")))
        .containsExactly(1, 2, 3, 4, 5);
    assertThat(offsets(query().attribute("path", Operator.NOT_EQUAL, "")))
        .containsExactly(0, 1, 3, 4, 5);
    assertThat(offsets(query().attribute("path", Operator.PREFIX, "/api/"))).containsExactly(0, 1);
    assertThat(offsets(query().attribute("path", Operator.PREFIX, "/api/%"))).isEmpty();
    assertThat(offsets(query().attribute("path", Operator.EXISTS))).containsExactly(0, 1, 2, 3);
    assertThat(offsets(query().attribute("path", Operator.IN, "/api/v2", "", "/nowhere")))
        .containsExactly(1, 2);
    assertThat(offsets(query().attribute("path", Operator.IN, "it's, a \\ \t\n[\"1\"]", "/api/v1")))
        .containsExactly(0, 3);
    assertThat(offsets(query().attribute("path", Operator.IN, "') OR 1 = 1 --"))).isEmpty();
    assertThat(offsets(query().attribute("", Operator.EXISTS))).containsExactly(4);
    assertThat(offsets(query().attribute("", Operator.PREFIX, "/api"))).containsExactly(4);
    assertThat(offsets(query().attribute("", Operator.NOT_EQUAL, "/api/v1")))
        .containsExactly(0, 1, 2, 3, 5);
    assertThat(
            offsets(
                query()
                    .attribute("path", Operator.PREFIX, "/")
                    .attribute("path", Operator.NOT_EQUAL, "/api/v2")))
        .containsExactly(0);
  }

  @Test
  void read_byResource_findsItsRecords() throws Exception {
    var pod = Resource.newBuilder().addAttributes(pair("k8s.pod.name", string("web-1"))).build();
    store(LogBatches.of(request(pod, List.of(log(0)))), of(log(1)));

    assertThat(offsets(query().resource("k8s.pod.name", Operator.PREFIX, "web-")))
        .containsExactly(0);
    assertThat(offsets(query().attribute("k8s.pod.name", Operator.EXISTS))).isEmpty();
    assertThat(offsets(query().resource("k8s.pod.name", Operator.NOT_EQUAL, "web-1")))
        .containsExactly(1);
  }

  @Test
  void read_bySeverityAtLeast_findsItAndAbove() throws Exception {
    store(
        of(
            log(0).toBuilder().setSeverityNumber(SeverityNumber.SEVERITY_NUMBER_WARN).build(),
            log(1).toBuilder().setSeverityNumber(SeverityNumber.SEVERITY_NUMBER_INFO4).build(),
            log(2).toBuilder().setSeverityNumber(SeverityNumber.SEVERITY_NUMBER_FATAL4).build(),
            log(3)));

    assertThat(offsets(query().minSeverity(13))).containsExactly(0, 2);
    assertThat(offsets(query().minSeverity(0))).containsExactly(0, 1, 2, 3);
  }

  @Test
  void read_bySpan_findsIt() throws Exception {
    store(of(log(0).toBuilder().setSpanId(bytes("0123456789abcdef")).build(), log(1)));

    assertThat(offsets(query().span("0123456789abcdef"))).containsExactly(0);
  }

  @Test
  void span_someLogs_countsThemAndTellsFirstAndLast() throws Exception {
    store(of(said(0, "a"), said(40, "a"), said(90, "b")));

    assertThat(reader().span(query().build().filter())).isEqualTo(new Span(3, NOON - 90, NOON));
    assertThat(reader().span(query().text("a").build().filter()))
        .isEqualTo(new Span(2, NOON - 40, NOON));
    assertThat(reader().span(query().text("none").build().filter())).isEqualTo(new Span(0, 0, 0));
    assertThat(reader().span(query().from(NOON).to(NOON).build().filter()))
        .isEqualTo(new Span(0, 0, 0));
  }

  @Test
  void histogram_someLogs_countsThemByBucketAndLevel() throws Exception {
    store(
        of(
            log(0).toBuilder().setSeverityNumber(SeverityNumber.SEVERITY_NUMBER_ERROR).build(),
            log(1).toBuilder().setSeverityNumber(SeverityNumber.SEVERITY_NUMBER_ERROR4).build(),
            log(2).toBuilder().setSeverityNumber(SeverityNumber.SEVERITY_NUMBER_INFO).build(),
            log(10),
            log(35).toBuilder().setSeverityNumber(SeverityNumber.SEVERITY_NUMBER_TRACE).build(),
            log(200)));

    var filter = query().from(NOON - 39).to(NOON + 1).build().filter();

    assertThat(reader().histogram(filter, NOON - 39, 10))
        .containsExactly(
            new Bucket(NOON - 39, 1, Map.of(Severity.TRACE, 1L)),
            new Bucket(NOON - 19, 1, Map.of()),
            new Bucket(NOON - 9, 3, Map.of(Severity.ERROR, 2L, Severity.INFO, 1L)));
    assertThat(reader().histogram(query().from(0).to(5).build().filter(), 0, 10)).isEmpty();
  }

  @Test
  void read_manyOfOneInstant_pagesWithoutGapOrRepetitionWhileMoreArrive() throws Exception {
    for (int i = 0; i < 10; i++) {
      store(at(LongStream.range(0, 1000).map(_ -> NOON).boxed().toList()));
    }
    var stored = everyPage(query(), 5000).stream().map(StoredLog::id).collect(Collectors.toSet());
    assertThat(stored).hasSize(10_000);

    var seen = new ArrayList<StoredLog>();
    Position after = null;
    do {
      var page = reader().read(query().limit(997).after(after).build());
      seen.addAll(page.logs());
      after = page.next();
      store(at(List.of(NOON, NOON + 1, NOON - 1)));
    } while (after != null);

    assertThat(seen.stream().map(StoredLog::id)).doesNotHaveDuplicates().containsAll(stored);
    assertThat(seen)
        .isSortedAccordingTo(
            Comparator.comparingLong(StoredLog::timeNanos).thenComparing(StoredLog::id).reversed());
  }

  @Test
  void read_exactlyTheLimit_isTheLastPage() throws Exception {
    store(LogBatches.of(10));

    assertThat(reader().read(query().limit(10).build()).next()).isNull();
    assertThat(reader().read(query().limit(9).build()).next()).isNotNull();
  }

  // ---- vocabulary

  private void store(LogBatch... batches) throws InterruptedException {
    assertThat(store().store(token(), List.of(batches))).isEqualTo(new Outcome.Stored());
  }

  private static String token() {
    return "token-" + TOKENS.incrementAndGet();
  }

  private List<StoredLog> all() throws InterruptedException {
    return read(query());
  }

  private List<StoredLog> read(Asking asking) throws InterruptedException {
    return reader().read(asking.build()).logs();
  }

  private List<Long> times(Asking asking) throws InterruptedException {
    return read(asking).stream().map(StoredLog::timeNanos).toList();
  }

  private List<Integer> offsets(Asking asking) throws InterruptedException {
    return read(asking).stream().map(log -> (int) (NOON - log.timeNanos())).toList();
  }

  private List<StoredLog> everyPage(Asking asking, int limit) throws InterruptedException {
    var logs = new ArrayList<StoredLog>();
    Position after = null;
    do {
      var page = reader().read(asking.limit(limit).after(after).build());
      logs.addAll(page.logs());
      after = page.next();
    } while (after != null);
    return logs;
  }

  private static Asking query() {
    return new Asking();
  }

  private static final class Asking {
    private String tenant = "default";
    private @Nullable String service;
    private List<Integer> severities = List.of();
    private @Nullable Long from;
    private @Nullable Long to;
    private @Nullable String trace;
    private @Nullable String text;
    private int minSeverity;
    private @Nullable String span;
    private final List<AttributeCondition> attributes = new ArrayList<>();
    private final List<AttributeCondition> resource = new ArrayList<>();
    private int limit = 1000;
    private @Nullable Position after;

    Asking tenant(String name) {
      tenant = name;
      return this;
    }

    Asking service(String name) {
      service = name;
      return this;
    }

    Asking severities(Integer... numbers) {
      severities = List.of(numbers);
      return this;
    }

    Asking from(long nanos) {
      from = nanos;
      return this;
    }

    Asking to(long nanos) {
      to = nanos;
      return this;
    }

    Asking trace(String id) {
      trace = id;
      return this;
    }

    Asking text(String words) {
      text = words;
      return this;
    }

    Asking attributes(Map<String, String> wanted) {
      wanted.forEach((key, value) -> attributes.add(AttributeCondition.equal(key, value)));
      return this;
    }

    Asking attribute(String key, Operator operator, String... values) {
      attributes.add(new AttributeCondition(key, operator, List.of(values)));
      return this;
    }

    Asking resource(String key, Operator operator, String... values) {
      resource.add(new AttributeCondition(key, operator, List.of(values)));
      return this;
    }

    Asking minSeverity(int number) {
      minSeverity = number;
      return this;
    }

    Asking span(String id) {
      span = id;
      return this;
    }

    Asking limit(int logs) {
      limit = logs;
      return this;
    }

    Asking after(@Nullable Position position) {
      after = position;
      return this;
    }

    Query build() {
      var filter =
          LogFilter.of(tenant)
              .service(service)
              .severities(severities)
              .minSeverity(minSeverity)
              .from(from)
              .to(to)
              .traceId(trace)
              .spanId(span)
              .text(text == null ? null : TextQuery.parse(text));
      attributes.forEach(filter::attribute);
      resource.forEach(filter::resource);
      return new Query(filter.build(), limit, after);
    }
  }

  private static LogBatch at(List<Long> times) {
    return of(
        times.stream()
            .map(time -> LogRecord.newBuilder().setTimeUnixNano(time).build())
            .toArray(LogRecord[]::new));
  }

  private static LogRecord log(int nanosBefore) {
    return LogRecord.newBuilder().setTimeUnixNano(NOON - nanosBefore).build();
  }

  private static LogRecord said(int nanosBefore, String body) {
    return log(nanosBefore).toBuilder().setBody(string(body)).build();
  }

  private static LogBatch of(LogRecord... logs) {
    return LogBatches.of(request(Resource.getDefaultInstance(), Arrays.asList(logs)));
  }

  private static byte[] request(Resource resource, List<LogRecord> logs) {
    return ExportLogsServiceRequest.newBuilder()
        .addResourceLogs(
            ResourceLogs.newBuilder()
                .setResource(resource)
                .addScopeLogs(ScopeLogs.newBuilder().addAllLogRecords(logs)))
        .build()
        .toByteArray();
  }

  private static ByteString bytes(String hex) {
    return ByteString.copyFrom(HexFormat.of().parseHex(hex));
  }

  private static KeyValue pair(String key, AnyValue value) {
    return KeyValue.newBuilder().setKey(key).setValue(value).build();
  }

  private static AnyValue string(String value) {
    return AnyValue.newBuilder().setStringValue(value).build();
  }

  private static AnyValue number(long value) {
    return AnyValue.newBuilder().setIntValue(value).build();
  }

  private static AnyValue decimal(double value) {
    return AnyValue.newBuilder().setDoubleValue(value).build();
  }

  private static AnyValue bool(boolean value) {
    return AnyValue.newBuilder().setBoolValue(value).build();
  }

  private static AnyValue binary(byte[] value) {
    return AnyValue.newBuilder().setBytesValue(ByteString.copyFrom(value)).build();
  }

  private static AnyValue list(AnyValue... values) {
    return AnyValue.newBuilder()
        .setArrayValue(ArrayValue.newBuilder().addAllValues(Arrays.asList(values)))
        .build();
  }

  private static AnyValue map(KeyValue... pairs) {
    return AnyValue.newBuilder()
        .setKvlistValue(KeyValueList.newBuilder().addAllValues(Arrays.asList(pairs)))
        .build();
  }

  /** Draws requests, and says from the messages alone what must become of them. */
  private static final class RandomLogs {
    /** The string form of doubles is a table here, so that no code is shared with the stores. */
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
      // one in ten is of a length that must be refused
      var bytes = new byte[random.nextInt(10) == 0 ? 3 : random.nextBoolean() ? length : 0];
      random.nextBytes(bytes);
      return ByteString.copyFrom(bytes);
    }

    private long time() {
      return switch (random.nextInt(8)) {
        case 0 -> 0;
        case 1 -> random.nextLong() >>> 1;
        default -> NOON + random.nextLong(40 * DAY);
      };
    }

    private List<KeyValue> pairs(int most, int depth) {
      return random
          .ints(random.nextInt(most + 1), 0, 6)
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

    private String text(int most) {
      int[] points = ALPHABET.codePoints().toArray();
      var text = new StringBuilder();
      for (int i = random.nextInt(most + 1); i > 0; i--) {
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
          log.getObservedTimeUnixNano() == 0
              ? batch.receivedNanos()
              : log.getObservedTimeUnixNano();
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
          scope.getSchemaUrl());
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
}
