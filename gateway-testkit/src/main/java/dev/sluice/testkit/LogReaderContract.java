package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.domain.Severity;
import dev.sluice.query.filter.AttributeCondition.Operator;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader;
import dev.sluice.query.port.LogReader.HistogramBucket;
import dev.sluice.query.port.LogReader.Position;
import dev.sluice.query.port.LogReader.StoredLog;
import dev.sluice.query.port.LogReader.TimeExtent;
import dev.sluice.templates.dictionary.ContentId;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.logs.v1.SeverityNumber;
import io.opentelemetry.proto.resource.v1.Resource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** The contract of every {@link LogReader}. Each test begins with an empty store. */
public abstract class LogReaderContract extends LogContract {
  private static final UUID TEMPLATE = ContentId.of("one");
  private static final UUID OTHER_TEMPLATE = ContentId.of("other");

  /** Assigns a template to a stored log. */
  protected abstract void assignTemplate(LogId log, UUID template);

  @Test
  void read_anotherTenant_isEmpty() throws Exception {
    var batch = LogBatches.of(3);
    var otherTenantBatch =
        new LogBatch(
            batch.appendId(),
            "acme",
            batch.receivedNanos(),
            batch.firstId(),
            3,
            batch.expandedBytes(),
            batch.otlp());
    store(otherTenantBatch, LogBatches.of(2));

    assertThat(allLogs()).hasSize(2);
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
    store(batchOf(logs.toArray(LogRecord[]::new)));

    assertThat(read(query().severities(17, 0, 24)).stream().map(StoredLog::severityNumber))
        .containsExactly(0, 17, 24);
  }

  @Test
  void read_betweenInstants_countsNanosecondsAndExcludesTheEnd() throws Exception {
    store(batchAt(List.of(BASE_NANOS - 1, BASE_NANOS, BASE_NANOS + 1, BASE_NANOS + 2)));

    assertThat(timesOf(query().from(BASE_NANOS).to(BASE_NANOS + 2)))
        .containsExactly(BASE_NANOS + 1, BASE_NANOS);
    assertThat(timesOf(query().from(BASE_NANOS + 1)))
        .containsExactly(BASE_NANOS + 2, BASE_NANOS + 1);
    assertThat(timesOf(query().to(BASE_NANOS))).containsExactly(BASE_NANOS - 1);
    assertThat(timesOf(query().from(BASE_NANOS).to(BASE_NANOS))).isEmpty();
    assertThat(timesOf(query().from(BASE_NANOS + 2).to(BASE_NANOS - 1))).isEmpty();
    assertThat(timesOf(query().from(Long.MIN_VALUE).to(Long.MIN_VALUE))).isEmpty();
  }

  @Test
  void read_anyValidTimestamp_isFoundWithAndWithoutBounds() throws Exception {
    long after2106 = 4_294_967_296L * SECOND;
    long after2149 = 65_536L * DAY;
    var times =
        new ArrayList<>(
            List.of(
                1L, SECOND, 300 * SECOND, DAY, BASE_NANOS, after2106, after2149, Long.MAX_VALUE));
    // times that the time functions of the table map to the same day and five minutes
    for (long time : List.of(BASE_NANOS, 5 * DAY, 30_000 * DAY + 17)) {
      times.add(time + after2106);
      times.add(time + after2149);
      times.add(time + 2 * after2106 > 0 ? time + 2 * after2106 : time + after2106 + 1);
    }
    times.addAll(List.of(after2106 - 1, after2106 + 1, after2149 - 1, after2149 + 1));
    times.addAll(List.of(Long.MAX_VALUE - 1, Long.MAX_VALUE - DAY, Long.MAX_VALUE - SECOND));
    var sorted = times.stream().distinct().sorted(Comparator.reverseOrder()).toList();
    store(batchAt(sorted.reversed()));

    assertThat(timesOf(query())).isEqualTo(sorted);
    assertThat(readAllPages(query(), 2).stream().map(StoredLog::timeNanos)).isEqualTo(sorted);
    for (long time : sorted) {
      assertThat(timesOf(query().from(time).limit(100)))
          .isEqualTo(sorted.stream().filter(t -> t >= time).toList());
      assertThat(timesOf(query().to(time)))
          .isEqualTo(sorted.stream().filter(t -> t < time).toList());
      if (time < Long.MAX_VALUE) {
        assertThat(timesOf(query().from(time).to(time + 1))).containsExactly(time);
      }
    }
  }

  @Test
  void read_byTrace_findsItsLogs() throws Exception {
    store(
        batchOf(
            log(0).toBuilder().setTraceId(bytes(TRACE)).build(),
            log(1),
            log(2).toBuilder().setTraceId(bytes(TRACE.replace('0', '1'))).build()));

    assertThat(read(query().trace(TRACE)).stream().map(StoredLog::traceId)).containsExactly(TRACE);
    assertThat(read(query().trace(TRACE.replace('0', '2')))).isEmpty();
  }

  @Test
  void read_byText_findsBodiesWithAllTermsInAnyCaseAndOrder() throws Exception {
    store(
        batchOf(
            logWithBody(0, "Connection RESET by peer 10.0.0.1"),
            logWithBody(1, "connection refused: peer-17 gone"),
            logWithBody(2, "Ärger mit Verbindung №5"),
            logWithBody(3, "100% done"),
            logWithBody(4, "")));

    assertThat(offsetsMatching("connection")).containsExactly(0, 1);
    assertThat(offsetsMatching("PEER connection")).containsExactly(0, 1);
    assertThat(offsetsMatching("connect")).isEmpty();
    assertThat(offsetsMatching("reset, peer!")).containsExactly(0);
    assertThat(offsetsMatching("10.0.0.1")).containsExactly(0);
    assertThat(offsetsMatching("peer-17")).containsExactly(1);
    assertThat(offsetsMatching("ärger")).containsExactly(2);
    assertThat(offsetsMatching("VERBINDUNG ÄRGER")).containsExactly(2);
    assertThat(offsetsMatching("№5")).containsExactly(2);
    assertThat(offsetsMatching("%")).containsExactly(3);
    assertThat(offsetsMatching(": ")).containsExactly(1);
    assertThat(offsetsMatching("reset' or 'x\\")).isEmpty();
    assertThat(offsetsMatching("\t\n\\ reset")).containsExactly(0);
  }

  @Test
  void read_byText_combinesTermsAndPhrases() throws Exception {
    store(
        batchOf(
            logWithBody(0, "connection refused by peer"),
            logWithBody(1, "peer refused the connection"),
            logWithBody(2, "timeout; connection refused"),
            logWithBody(3, "disconnection refused: error (code=7)"),
            logWithBody(4, "Größe überschritten, Fehler"),
            logWithBody(5, "a \"quoted\\path\" here")));

    assertThat(offsetsMatching("\"connection refused\"")).containsExactly(0, 2);
    assertThat(offsetsMatching("\"CONNECTION Refused\" NOT timeout")).containsExactly(0);
    assertThat(offsetsMatching("\"refused connection\"")).isEmpty();
    assertThat(offsetsMatching("\"(code=7)\"")).containsExactly(3);
    assertThat(offsetsMatching("\"code=\"")).containsExactly(3);
    assertThat(offsetsMatching("\"error (code\"")).containsExactly(3);
    assertThat(offsetsMatching("\".*\"")).isEmpty();
    assertThat(offsetsMatching("\"größe ÜBERSCHRITTEN\"")).containsExactly(4);
    assertThat(offsetsMatching("\"berschritten\"")).isEmpty();
    assertThat(offsetsMatching("\"\\\"quoted\\\\path\\\"\"")).containsExactly(5);
    assertThat(offsetsMatching("timeout OR fehler")).containsExactly(2, 4);
    assertThat(offsetsMatching("refused AND (peer OR timeout)")).containsExactly(0, 1, 2);
    assertThat(offsetsMatching("refused (the OR by)")).containsExactly(0, 1);
    assertThat(offsetsMatching("NOT refused")).containsExactly(4, 5);
    assertThat(offsetsMatching("refused NOT (peer OR timeout)")).containsExactly(3);
    assertThat(offsetsMatching("peer connection OR path quoted")).containsExactly(0, 1, 5);
  }

  /**
   * Checks a phrase with few matches, which may be found in another order, and a phrase with more
   * matches than the limit.
   */
  @Test
  void read_byPhrase_findsTheNewestFirst() throws Exception {
    long after2106 = 4_294_967_296L * SECOND;
    var times =
        List.of(BASE_NANOS, after2106 + 7, BASE_NANOS - DAY, BASE_NANOS + 1, BASE_NANOS - 2 * DAY);
    store(
        batchOf(
            times.stream()
                .map(
                    time ->
                        logWithBody(0, "request a-1 ended").toBuilder()
                            .setTimeUnixNano(time)
                            .build())
                .toArray(LogRecord[]::new)));
    store(batchOf(logWithBody(2, "request b-1 ended")));
    var sorted = times.stream().sorted(Comparator.reverseOrder()).toList();

    for (int limit : List.of(1, 2, 4, 5, 6, 100)) {
      assertThat(timesOf(query().text("\"a-1\"").limit(limit)))
          .isEqualTo(sorted.stream().limit(limit).toList());
      assertThat(
              readAllPages(query().text("ended \"a-1\""), limit).stream().map(StoredLog::timeNanos))
          .isEqualTo(sorted);
    }
    assertThat(timesOf(query().text("\"a-1\" OR \"b-1\"").to(BASE_NANOS))).hasSize(3);
    assertThat(timesOf(query().text("\"a-1\"").service("nowhere"))).isEmpty();
    assertThat(timesOf(query().text("\"a-1\"").from(BASE_NANOS).to(BASE_NANOS))).isEmpty();
  }

  /** The logs are larger than one read. */
  @Test
  void read_byPhraseOfLargeLogs_losesNone() throws Exception {
    var large = "request a-1 ended " + "x".repeat(1_000_000);
    store(
        batchOf(
            IntStream.range(0, 20).mapToObj(i -> logWithBody(i, large)).toArray(LogRecord[]::new)));

    assertThat(readAllPages(query().text("\"a-1\""), 100)).hasSize(20);
  }

  private List<Integer> offsetsMatching(String text) throws InterruptedException {
    return read(query().text(text)).stream()
        .map(log -> (int) (BASE_NANOS - log.timeNanos()))
        .toList();
  }

  @Test
  void read_byAttributes_findsRecordsThatHaveThemAll() throws Exception {
    var odd = "k'e\\y\n\t{x:String} ü\0";
    store(
        batchOf(
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
  void read_byAttributeConditions_appliesTheirOperators() throws Exception {
    store(
        batchOf(
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
    store(LogBatches.of(request(pod, List.of(log(0)))), batchOf(log(1)));

    assertThat(offsets(query().resource("k8s.pod.name", Operator.PREFIX, "web-")))
        .containsExactly(0);
    assertThat(offsets(query().attribute("k8s.pod.name", Operator.EXISTS))).isEmpty();
    assertThat(offsets(query().resource("k8s.pod.name", Operator.NOT_EQUAL, "web-1")))
        .containsExactly(1);
  }

  @Test
  void read_byMinSeverity_findsItAndAbove() throws Exception {
    store(
        batchOf(
            log(0).toBuilder().setSeverityNumber(SeverityNumber.SEVERITY_NUMBER_WARN).build(),
            log(1).toBuilder().setSeverityNumber(SeverityNumber.SEVERITY_NUMBER_INFO4).build(),
            log(2).toBuilder().setSeverityNumber(SeverityNumber.SEVERITY_NUMBER_FATAL4).build(),
            log(3)));

    assertThat(offsets(query().minSeverity(13))).containsExactly(0, 2);
    assertThat(offsets(query().minSeverity(0))).containsExactly(0, 1, 2, 3);
  }

  @Test
  void read_bySpan_findsIt() throws Exception {
    store(batchOf(log(0).toBuilder().setSpanId(bytes("0123456789abcdef")).build(), log(1)));

    assertThat(offsets(query().span("0123456789abcdef"))).containsExactly(0);
  }

  @Test
  void read_logWithTemplate_hasItsTemplateId() throws Exception {
    var batch = batchOf(log(0), log(1));
    store(batch);
    assignTemplate(batch.firstId(), TEMPLATE);

    assertThat(read(query())).extracting(StoredLog::templateId).containsExactly(TEMPLATE, null);
  }

  @Test
  void read_byTemplates_findsTheLogsOfAnyOfThem() throws Exception {
    var batch = batchOf(log(0), log(1), log(2), log(3));
    store(batch);
    assignTemplate(batch.firstId(), TEMPLATE);
    assignTemplate(batch.firstId().plus(1), OTHER_TEMPLATE);
    assignTemplate(batch.firstId().plus(2), TEMPLATE);

    assertThat(offsets(query().template(TEMPLATE))).containsExactly(0, 2);
    assertThat(offsets(query().template(TEMPLATE).template(OTHER_TEMPLATE)))
        .containsExactly(0, 1, 2);
    assertThat(offsets(query().template(TEMPLATE).from(BASE_NANOS - 1))).containsExactly(0);
    assertThat(offsets(query().template(ContentId.of("none")))).isEmpty();
    assertThat(reader().timeExtent(query().template(TEMPLATE).build().filter()))
        .isEqualTo(new TimeExtent(2, BASE_NANOS - 2, BASE_NANOS));
    assertThat(reader().histogram(query().template(OTHER_TEMPLATE).build().filter(), 0, BASE_NANOS))
        .extracting(HistogramBucket::count)
        .containsExactly(1L);
  }

  @Test
  void read_byMaxTemplates_findsTheirLogs() throws Exception {
    var batch = batchOf(log(0), log(1));
    store(batch);
    assignTemplate(batch.firstId().plus(1), ContentId.of("999"));
    var queryBuilder = query();
    for (int i = 0; i < LogFilter.MAX_TEMPLATES; i++) {
      queryBuilder.template(ContentId.of(String.valueOf(i)));
    }

    assertThat(offsets(queryBuilder)).containsExactly(1);
  }

  @Test
  void timeExtent_someLogs_hasCountFirstAndLast() throws Exception {
    store(batchOf(logWithBody(0, "a"), logWithBody(40, "a"), logWithBody(90, "b")));

    assertThat(reader().timeExtent(query().build().filter()))
        .isEqualTo(new TimeExtent(3, BASE_NANOS - 90, BASE_NANOS));
    assertThat(reader().timeExtent(query().text("a").build().filter()))
        .isEqualTo(new TimeExtent(2, BASE_NANOS - 40, BASE_NANOS));
    assertThat(reader().timeExtent(query().text("none").build().filter()))
        .isEqualTo(new TimeExtent(0, 0, 0));
    assertThat(reader().timeExtent(query().from(BASE_NANOS).to(BASE_NANOS).build().filter()))
        .isEqualTo(new TimeExtent(0, 0, 0));
  }

  @Test
  void histogram_someLogs_countsThemByBucketAndLevel() throws Exception {
    store(
        batchOf(
            log(0).toBuilder().setSeverityNumber(SeverityNumber.SEVERITY_NUMBER_ERROR).build(),
            log(1).toBuilder().setSeverityNumber(SeverityNumber.SEVERITY_NUMBER_ERROR4).build(),
            log(2).toBuilder().setSeverityNumber(SeverityNumber.SEVERITY_NUMBER_INFO).build(),
            log(10),
            log(35).toBuilder().setSeverityNumber(SeverityNumber.SEVERITY_NUMBER_TRACE).build(),
            log(200)));

    var filter = query().from(BASE_NANOS - 39).to(BASE_NANOS + 1).build().filter();

    assertThat(reader().histogram(filter, BASE_NANOS - 39, 10))
        .containsExactly(
            new HistogramBucket(BASE_NANOS - 39, 1, Map.of(Severity.TRACE, 1L)),
            new HistogramBucket(BASE_NANOS - 19, 1, Map.of()),
            new HistogramBucket(BASE_NANOS - 9, 3, Map.of(Severity.ERROR, 2L, Severity.INFO, 1L)));
    assertThat(reader().histogram(query().from(0).to(5).build().filter(), 0, 10)).isEmpty();
  }

  @Test
  void read_manyOfOneInstant_pagesWithoutGapOrRepetitionWhileMoreArrive() throws Exception {
    for (int i = 0; i < 10; i++) {
      store(batchAt(LongStream.range(0, 1000).map(_ -> BASE_NANOS).boxed().toList()));
    }
    var stored =
        readAllPages(query(), 5000).stream().map(StoredLog::id).collect(Collectors.toSet());
    assertThat(stored).hasSize(10_000);

    var seen = new ArrayList<StoredLog>();
    Position after = null;
    do {
      var page = reader().read(query().limit(997).after(after).build());
      seen.addAll(page.logs());
      after = page.next();
      store(batchAt(List.of(BASE_NANOS, BASE_NANOS + 1, BASE_NANOS - 1)));
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
}
