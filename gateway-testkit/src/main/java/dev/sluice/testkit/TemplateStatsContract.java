package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import dev.sluice.core.port.WriteResult.Written;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader.QueryTooExpensiveException;
import dev.sluice.query.port.TemplateStats;
import dev.sluice.query.port.TemplateStats.BucketLayout;
import dev.sluice.query.port.TemplateStats.CountBucket;
import dev.sluice.query.port.TemplateStats.MinuteRange;
import dev.sluice.query.port.TemplateStats.SampleLog;
import dev.sluice.query.port.TemplateStats.ServiceActivity;
import dev.sluice.query.port.TemplateStats.TemplateCount;
import dev.sluice.query.port.TemplateStats.TemplateLink;
import dev.sluice.query.port.TemplateStats.TemplateQuery;
import dev.sluice.query.port.TemplateStats.TimeSlice;
import dev.sluice.templates.dictionary.ContentId;
import dev.sluice.templates.dictionary.Dictionary;
import dev.sluice.templates.dictionary.Dictionary.DictionaryEntry;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The contract of every {@link TemplateStats}. Each test begins without stored logs. */
@Timeout(60)
public abstract class TemplateStatsContract {
  private static final long SEEN_NANOS = 1_800_000_000_123_456_789L;
  private static final UUID A = ContentId.of("a");
  private static final UUID B = ContentId.of("b");
  private static final UUID C = ContentId.of("c");

  /** The fields of a log that are counted. */
  protected record CountedLog(
      String tenant, String service, UUID template, int severity, long nanos) {}

  /**
   * Returns the statistics, the same within a test; their templates are those of {@link
   * #dictionary}.
   */
  protected abstract TemplateStats stats();

  protected abstract Dictionary dictionary();

  /** Stores logs with one insert. */
  protected abstract void store(List<CountedLog> logs);

  @Test
  void links_ofATenant_areThoseToExistingTemplates() throws Exception {
    write("acme", "a b", "a <*>");
    write("acme", "a <*>", "<*> <*>");
    write("acme", "<*> <*>", null);
    write("acme", "c", "nowhere");
    write("other", "d", "a <*>");
    write(EntryKind.TEXT, "f", ContentId.of("a <*>"));

    assertThat(stats().links("acme", 10))
        .containsExactlyInAnyOrder(link("a b", "a <*>"), link("a <*>", "<*> <*>"));
    assertThat(stats().links("acme", 1)).hasSize(1);
    assertThat(stats().links("other", 10)).isEmpty();
    assertThat(stats().links("unknown", 10)).isEmpty();
  }

  /** The order of writes does not matter. */
  @Test
  void links_templateWithTwo_isTheOneOfTheDictionary() throws Exception {
    write("acme", "a <*>", null);
    write("acme", "<*> b", null);
    write("acme", "a b", "a <*>");
    write("acme", "a b", "<*> b");
    write("acme", "a b", null);

    var links = stats().links("acme", 10);

    assertThat(links).hasSize(1);
    var entry = dictionary().find("acme", EntryKind.TEMPLATE, ids("a b")).getFirst();
    assertThat(links.getFirst().mergedInto()).isEqualTo(entry.mergedInto());
  }

  private static TemplateLink link(String text, String into) {
    return new TemplateLink(ContentId.of(text), ContentId.of(into));
  }

  private static List<UUID> maxIds() {
    return IntStream.range(0, TemplateStats.MAX_IDS)
        .mapToObj(i -> ContentId.of("text " + i))
        .toList();
  }

  // ---- counts

  @Test
  void counts_someLogs_coverTheRangeAndTheOneBefore() throws Exception {
    long from = 29_474_400; // 2026-01-15T08:00:00Z
    var times =
        List.of(
            nanos(from - 2) - 1,
            nanos(from - 2),
            nanos(from) - 1,
            nanos(from),
            nanos(from + 1) + 30_000_000_000L,
            nanos(from + 2) - 1,
            nanos(from + 2));
    store(times.stream().map(time -> new CountedLog("acme", "web", A, 9, time)).toList());
    store(List.of(new CountedLog("other", "web", A, 9, nanos(from))));

    assertThat(stats().counts(query(from, from + 2)))
        .containsExactly(new TemplateCount(A, "web", 9, 3, 2));
    assertThat(stats().counts(query(from + 2, from + 3)))
        .containsExactly(new TemplateCount(A, "web", 9, 1, 2));
    assertThat(stats().counts(query(from + 4, from + 5))).isEmpty();
    assertThat(stats().counts(query(from - 10, from + 10)))
        .containsExactly(new TemplateCount(A, "web", 9, 7, 0));
  }

  @Test
  void counts_servicesAndSeverities_areCountedSeparately() throws Exception {
    store(
        List.of(
            new CountedLog("acme", "web", A, 9, nanos(100)),
            new CountedLog("acme", "web", A, 9, nanos(101)),
            new CountedLog("acme", "web", A, 17, nanos(100)),
            new CountedLog("acme", "web", B, 9, nanos(100)),
            new CountedLog("acme", "it's \\", A, 9, nanos(99)),
            new CountedLog("acme", "", A, 0, nanos(100))));
    store(
        List.of(
            new CountedLog("acme", "web", A, 9, nanos(100) + 7))); // parts of a table are summed

    var all =
        List.of(
            new TemplateCount(A, "web", 9, 3, 0),
            new TemplateCount(A, "web", 17, 1, 0),
            new TemplateCount(B, "web", 9, 1, 0),
            new TemplateCount(A, "it's \\", 9, 0, 1),
            new TemplateCount(A, "", 0, 1, 0));
    assertThat(stats().counts(query(100, 102))).containsExactlyInAnyOrderElementsOf(all);
    assertThat(counts("web", Set.of(), 0, Set.of()))
        .containsExactlyInAnyOrderElementsOf(all.subList(0, 3));
    assertThat(counts("it's \\", Set.of(), 0, Set.of())).containsExactly(all.get(3));
    assertThat(counts(null, Set.of(17, 18), 0, Set.of())).containsExactly(all.get(1));
    assertThat(counts(null, Set.of(), 10, Set.of())).containsExactly(all.get(1));
    assertThat(counts(null, Set.of(), 0, Set.of(B, C))).containsExactly(all.get(2));
    assertThat(counts("web' OR 1=1 --", Set.of(), 0, Set.of())).isEmpty();
  }

  private List<TemplateCount> counts(
      @Nullable String service, Set<Integer> severities, int minSeverity, Set<UUID> ids)
      throws InterruptedException {
    return stats()
        .counts(
            new TemplateQuery(
                "acme", service, severities, minSeverity, new MinuteRange(100, 102), ids));
  }

  @Test
  void counts_anyValidTimestamp_isCounted() throws Exception {
    long last = MinuteRange.minuteOf(Long.MAX_VALUE);
    store(
        List.of(
            new CountedLog("acme", "web", A, 9, 0),
            new CountedLog("acme", "web", B, 9, Long.MAX_VALUE)));

    assertThat(stats().counts(query(0, 1))).containsExactly(new TemplateCount(A, "web", 9, 1, 0));
    assertThat(stats().counts(query(last, last + 1)))
        .containsExactly(new TemplateCount(B, "web", 9, 1, 0));
    assertThat(stats().counts(query(0, last + 1))).hasSize(2);
    assertThat(stats().serviceActivity("acme", null, List.of(A, B)))
        .containsExactlyInAnyOrder(
            new ServiceActivity(A, "web", new MinuteRange(0, 1)),
            new ServiceActivity(B, "web", new MinuteRange(last, last + 1)));
  }

  @Test
  void counts_moreThanMax_throwsQueryTooExpensive() throws Exception {
    var most =
        IntStream.range(0, TemplateStats.MAX_COUNTS)
            .mapToObj(i -> new CountedLog("acme", "web", new UUID(1, i), 9, nanos(100)))
            .toList();
    store(most);
    assertThat(stats().counts(query(100, 101))).hasSize(most.size());

    store(List.of(new CountedLog("acme", "web", A, 9, nanos(99))));

    assertThatThrownBy(() -> stats().counts(query(100, 101)))
        .isInstanceOf(QueryTooExpensiveException.class)
        .hasMessageStartingWith("more than 100000 counts");
    assertThat(stats().counts(query(101, 102))).hasSize(most.size());
  }

  @Test
  void serviceActivity_someIds_hasFirstAndLastMinutePerService() throws Exception {
    store(
        List.of(
            new CountedLog("acme", "web", A, 9, nanos(100)),
            new CountedLog("acme", "web", A, 17, nanos(300)),
            new CountedLog("acme", "db", A, 9, nanos(50)),
            new CountedLog("acme", "web", B, 9, nanos(70)),
            new CountedLog("other", "web", A, 9, nanos(1))));

    assertThat(stats().serviceActivity("acme", null, List.of(A, C)))
        .containsExactlyInAnyOrder(
            new ServiceActivity(A, "web", new MinuteRange(100, 301)),
            new ServiceActivity(A, "db", new MinuteRange(50, 51)));
    assertThat(stats().serviceActivity("acme", "web", List.of(A, B)))
        .containsExactlyInAnyOrder(
            new ServiceActivity(A, "web", new MinuteRange(100, 301)),
            new ServiceActivity(B, "web", new MinuteRange(70, 71)));
    assertThat(stats().serviceActivity("acme", "nowhere", List.of(A))).isEmpty();
    assertThat(stats().serviceActivity("acme", null, List.of())).isEmpty();
    assertThat(stats().serviceActivity("acme", null, maxIds())).isEmpty();
  }

  // ---- counts over time, and newest logs

  @Test
  void countBuckets_someLogs_areGroupedByServiceSeverityAndBucket() throws Exception {
    store(
        List.of(
            new CountedLog("acme", "web", A, 9, nanos(99)),
            new CountedLog("acme", "web", A, 9, nanos(100)),
            new CountedLog("acme", "web", A, 9, nanos(101)),
            new CountedLog("acme", "db", A, 17, nanos(109)),
            new CountedLog("acme", "web", A, 9, nanos(110)),
            new CountedLog("acme", "web", B, 9, nanos(129)),
            new CountedLog("acme", "web", B, 9, nanos(130)),
            new CountedLog("acme", "web", C, 9, nanos(100)),
            new CountedLog("other", "web", A, 9, nanos(100))));

    var templateQuery = query(100, 130).withIds(Set.of(A, B));
    var bucketLayout = layout(templateQuery, 3);

    assertThat(bucketLayout)
        .isEqualTo(new BucketLayout(100, 10, 3, Map.of("web", Set.of(A, B), "db", Set.of(A))));
    assertThat(stats().countBuckets(templateQuery, bucketLayout))
        .containsExactlyInAnyOrder(
            new CountBucket(A, "web", 9, CountBucket.PRECEDING, 1, 99, 99),
            new CountBucket(A, "web", 9, 0, 2, 100, 101),
            new CountBucket(A, "db", 17, 0, 1, 109, 109),
            new CountBucket(A, "web", 9, 1, 1, 110, 110),
            new CountBucket(B, "web", 9, 2, 1, 129, 129));
  }

  @Test
  void countBuckets_lastMinute_isSeparate() throws Exception {
    store(
        List.of(
            new CountedLog("acme", "web", A, 9, nanos(100)),
            new CountedLog("acme", "web", A, 9, nanos(108)),
            new CountedLog("acme", "web", A, 9, nanos(109)),
            new CountedLog("acme", "web", A, 9, nanos(109)),
            new CountedLog("acme", "web", A, 9, nanos(110))));

    var templateQuery = query(100, 110).withIds(Set.of(A));

    assertThat(stats().countBuckets(templateQuery, layout(templateQuery, 1)))
        .containsExactlyInAnyOrder(
            new CountBucket(A, "web", 9, 0, 2, 100, 108),
            new CountBucket(A, "web", 9, 0, 2, 109, 109));
  }

  /** Logs can arrive during a query, in minutes outside the layout. */
  @Test
  void countBuckets_minutesOutsideTheLayout_areInFirstAndLastBucket() throws Exception {
    store(
        List.of(
            new CountedLog("acme", "web", A, 9, nanos(90)),
            new CountedLog("acme", "web", A, 9, nanos(97)),
            new CountedLog("acme", "web", A, 9, nanos(110)),
            new CountedLog("acme", "web", A, 9, nanos(140))));
    var bucketLayout = new BucketLayout(100, 5, 2, Map.of("web", Set.of(A)));

    for (var templateQuery : List.of(query(0, MinuteRange.ALL.to()), query(80, 200))) {
      var countBuckets = stats().countBuckets(templateQuery.withIds(Set.of(A)), bucketLayout);
      var spans =
          countBuckets.stream()
              .collect(
                  Collectors.groupingBy(
                      CountBucket::bucket, Collectors.summingLong(CountBucket::count)));
      assertThat(spans).isEqualTo(Map.of(0L, 2L, 1L, 2L));
    }
  }

  /** Returns a layout of the minutes in the queried range that have logs. */
  private BucketLayout layout(TemplateQuery templateQuery, int spans) throws Exception {
    var serviceActivity =
        stats()
            .serviceActivity(templateQuery.tenant(), templateQuery.service(), templateQuery.ids());
    return BucketLayout.of(templateQuery.minuteRange(), serviceActivity, spans);
  }

  @Test
  void countBuckets_wideRange_coversFirstToLastLog() throws Exception {
    store(
        List.of(
            new CountedLog("acme", "web", A, 9, nanos(1_000)),
            new CountedLog("acme", "web", B, 17, nanos(1_006)),
            new CountedLog("acme", "db", B, 9, nanos(2_000))));

    var all = query(0, MinuteRange.ALL.to()).withIds(Set.of(A, B));
    assertThat(layout(all, 2))
        .isEqualTo(new BucketLayout(1_000, 501, 2, Map.of("web", Set.of(A, B), "db", Set.of(B))));
    assertThat(stats().countBuckets(all, layout(all, 2)))
        .extracting(CountBucket::bucket)
        .containsExactlyInAnyOrder(0L, 0L, 1L);

    var one = new TemplateQuery("acme", "web", Set.of(17), 10, MinuteRange.ALL, Set.of(A, B));
    assertThat(layout(one, 30))
        .isEqualTo(new BucketLayout(1_000, 1, 30, Map.of("web", Set.of(A, B))));
    assertThat(stats().countBuckets(one, layout(one, 30)))
        .containsExactly(new CountBucket(B, "web", 17, 6, 1, 1_006, 1_006));
  }

  @Test
  void countBuckets_noLogs_isEmpty() throws Exception {
    store(List.of(new CountedLog("acme", "web", A, 9, nanos(100))));

    for (var templateQuery : List.of(query(50, 60), query(300, 350))) {
      var queryOfA = templateQuery.withIds(Set.of(A));
      var bucketLayout = layout(queryOfA, 3);
      assertThat(stats().countBuckets(queryOfA, bucketLayout)).isEmpty();
      assertThat(bucketLayout.firstMinute())
          .isBetween(templateQuery.minuteRange().from(), templateQuery.minuteRange().to() - 1);
    }
    var none = new BucketLayout(100, 1, 1, Map.of());
    assertThat(stats().countBuckets(query(100, 101).withIds(Set.of(B)), none)).isEmpty();
    assertThat(stats().countBuckets(query(100, 101).withIds(Set.copyOf(maxIds())), none)).isEmpty();
    assertThatThrownBy(() -> stats().countBuckets(query(100, 130), none))
        .isInstanceOf(IllegalArgumentException.class);
  }

  /** There are more pairs of template and service than one condition can name. */
  @Test
  void countBuckets_manyTemplatesInManyServices_areCounted() throws Exception {
    var ids = Set.copyOf(maxIds().subList(0, 100));
    var activeServices =
        IntStream.range(0, 100).boxed().collect(Collectors.toMap(i -> "service " + i, _ -> ids));
    var id = ids.iterator().next();
    store(List.of(new CountedLog("acme", "service 7", id, 9, nanos(100))));

    assertThat(
            stats()
                .countBuckets(
                    query(100, 101).withIds(ids), new BucketLayout(100, 1, 1, activeServices)))
        .containsExactly(new CountBucket(id, "service 7", 9, 0, 1, 100, 100));
  }

  @Test
  void latestSamples_someIds_isTheNewestLogOfEach() throws Exception {
    store(
        List.of(
            new CountedLog("acme", "web", A, 17, nanos(100) + 7),
            new CountedLog("acme", "web", A, 9, nanos(100)),
            new CountedLog("acme", "db", A, 9, nanos(101)),
            new CountedLog("acme", "web", B, 9, nanos(70)),
            new CountedLog("other", "web", A, 9, nanos(300)),
            new CountedLog("acme", "web' OR 1=1 --", C, 0, Long.MAX_VALUE)));
    store(
        List.of(
            new CountedLog("acme", "web", B, 9, nanos(60)),
            new CountedLog("acme", "cart", A, 9, 0)));

    assertThat(latestSamples(null, Set.of(), 0, A, B, C))
        .extracting(
            SampleLog::template,
            SampleLog::timeNanos,
            SampleLog::severityNumber,
            SampleLog::service)
        .containsExactlyInAnyOrder(
            tuple(A, nanos(101), 9, "db"),
            tuple(B, nanos(70), 9, "web"),
            tuple(C, Long.MAX_VALUE, 0, "web' OR 1=1 --"));
    assertThat(latestSamples("web", Set.of(), 0, A, C))
        .extracting(
            SampleLog::template,
            SampleLog::timeNanos,
            SampleLog::severityNumber,
            SampleLog::service)
        .containsExactly(tuple(A, nanos(100) + 7, 17, "web"));
    assertThat(latestSamples("web", Set.of(9, 10), 0, A))
        .extracting(SampleLog::timeNanos)
        .containsExactly(nanos(100));
    assertThat(latestSamples(null, Set.of(), 10, A, B))
        .extracting(SampleLog::timeNanos)
        .containsExactly(nanos(100) + 7);
    assertThat(latestSamples("nowhere", Set.of(), 0, A)).isEmpty();
    assertThatThrownBy(() -> stats().latestSamples(query(0, 1)))
        .isInstanceOf(IllegalArgumentException.class);
    assertThat(stats().latestSamples(query(0, 1).withIds(Set.copyOf(maxIds())))).isEmpty();
  }

  private List<SampleLog> latestSamples(
      @Nullable String service, Set<Integer> severities, int minSeverity, UUID... ids)
      throws InterruptedException {
    var minuteRange = new MinuteRange(1, 2); // ignored by latestSamples
    return stats()
        .latestSamples(
            new TemplateQuery("acme", service, severities, minSeverity, minuteRange, Set.of(ids)));
  }

  @Test
  void newestLogs_someTimeSlices_areTheNewestLogsInThem() throws Exception {
    store(
        List.of(
            new CountedLog("acme", "web", A, 9, nanos(100)),
            new CountedLog("acme", "web", A, 17, nanos(100) + 7),
            new CountedLog("acme", "db", A, 9, nanos(101) - 1),
            new CountedLog("acme", "web", A, 9, nanos(101)),
            new CountedLog("acme", "cart", B, 9, nanos(200)),
            new CountedLog("acme", "web", C, 9, nanos(100)),
            new CountedLog("other", "web", A, 9, nanos(100) + 8)));
    var all = LogFilter.of("acme").build();
    var places =
        List.of(
            TimeSlice.of(A, null, new MinuteRange(100, 101)),
            TimeSlice.of(B, "cart", new MinuteRange(100, 300)));

    assertThat(stats().newestLogs(all, places, 2))
        .extracting(
            SampleLog::template,
            SampleLog::timeNanos,
            SampleLog::severityNumber,
            SampleLog::service)
        .containsExactly(
            tuple(B, nanos(200), 9, "cart"),
            tuple(A, nanos(101) - 1, 9, "db"),
            tuple(A, nanos(100) + 7, 17, "web"));
    assertThat(
            stats().newestLogs(all, List.of(TimeSlice.of(A, "web", new MinuteRange(100, 101))), 1))
        .extracting(SampleLog::timeNanos)
        .containsExactly(nanos(100) + 7);
    assertThat(stats().newestLogs(all, List.of(), 1)).isEmpty();
    assertThat(stats().newestLogs(all, List.of(TimeSlice.of(A, null, MinuteRange.ALL)), 9))
        .hasSize(4);
    for (long from = nanos(100); from < nanos(100) + 9; from++) {
      assertThat(stats().newestLogs(all, List.of(new TimeSlice(A, "web", from, nanos(100) + 7)), 9))
          .hasSize(from == nanos(100) ? 1 : 0);
      assertThat(stats().newestLogs(all, List.of(new TimeSlice(A, "web", from, nanos(100) + 8)), 9))
          .hasSize(from == nanos(100) ? 2 : from <= nanos(100) + 7 ? 1 : 0);
    }
  }

  /** The time functions of the table wrap around at some of these times. */
  @Test
  void newestLogs_distantTimes_areFound() throws Exception {
    long after2106 = 4_294_967_296_000_000_000L;
    var times = List.of(1L, after2106 - 1, after2106, 2 * after2106 + 7, Long.MAX_VALUE);
    store(times.stream().map(time -> new CountedLog("acme", "web", A, 9, time)).toList());
    var all = LogFilter.of("acme").build();

    for (long time : times) {
      long end = time == Long.MAX_VALUE ? time : time + 1;
      assertThat(stats().newestLogs(all, List.of(new TimeSlice(A, "web", time, end)), 9))
          .extracting(SampleLog::timeNanos)
          .containsExactly(time);
    }
    assertThat(
            stats()
                .newestLogs(
                    all,
                    List.of(
                        new TimeSlice(A, "web", after2106 - 1, after2106),
                        new TimeSlice(A, "web", after2106, after2106 + 1)),
                    9))
        .extracting(SampleLog::timeNanos)
        .containsExactly(after2106, after2106 - 1);
  }

  @Test
  void newestLogs_filter_isApplied() throws Exception {
    store(
        List.of(
            new CountedLog("acme", "web", A, 9, nanos(100)),
            new CountedLog("acme", "web", A, 17, nanos(100) + 7),
            new CountedLog("acme", "db", A, 9, nanos(100) + 8),
            new CountedLog("acme", "web' OR 1=1 --", B, 9, nanos(100))));
    var places = List.of(TimeSlice.of(A, null, MinuteRange.ALL));

    assertThat(stats().newestLogs(LogFilter.of("acme").severities(List.of(17)).build(), places, 9))
        .extracting(SampleLog::timeNanos)
        .containsExactly(nanos(100) + 7);
    assertThat(stats().newestLogs(LogFilter.of("acme").minSeverity(10).build(), places, 9))
        .hasSize(1);
    assertThat(stats().newestLogs(LogFilter.of("acme").service("db").build(), places, 9))
        .hasSize(1);
    assertThat(
            stats()
                .newestLogs(
                    LogFilter.of("acme").from(nanos(100) + 1).to(nanos(100) + 8).build(),
                    places,
                    9))
        .hasSize(1);
    assertThat(stats().newestLogs(LogFilter.of("acme").from(9L).to(9L).build(), places, 9))
        .isEmpty();
    assertThat(
            stats()
                .newestLogs(
                    LogFilter.of("acme").build(),
                    List.of(TimeSlice.of(B, "web' OR 1=1 --", MinuteRange.ALL)),
                    9))
        .hasSize(1);
  }

  private static TemplateQuery query(long from, long to) {
    return new TemplateQuery("acme", null, Set.of(), 0, new MinuteRange(from, to), Set.of());
  }

  private static long nanos(long minute) {
    return MinuteRange.startNanos(minute);
  }

  private static List<UUID> ids(String... texts) {
    return Arrays.stream(texts).map(ContentId::of).toList();
  }

  private void write(String tenant, String text, @Nullable String into)
      throws InterruptedException {
    write(
        new DictionaryEntry(
            tenant,
            EntryKind.TEMPLATE,
            ContentId.of(text),
            text,
            SEEN_NANOS,
            SEEN_NANOS,
            into == null ? null : ContentId.of(into)));
  }

  private void write(EntryKind kind, String text, @Nullable UUID into) throws InterruptedException {
    write(
        new DictionaryEntry("acme", kind, ContentId.of(text), text, SEEN_NANOS, SEEN_NANOS, into));
  }

  private void write(DictionaryEntry entry) throws InterruptedException {
    assertThat(dictionary().write(List.of(entry))).isEqualTo(new Written());
  }
}
