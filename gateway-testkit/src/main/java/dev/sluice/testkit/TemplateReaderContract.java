package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import dev.sluice.core.dictionary.TextId;
import dev.sluice.core.port.Dictionary;
import dev.sluice.core.port.Dictionary.Entry;
import dev.sluice.core.port.Dictionary.Kind;
import dev.sluice.core.port.Dictionary.Outcome.Written;
import dev.sluice.core.port.LogReader.TooCostly;
import dev.sluice.core.port.TemplateReader;
import dev.sluice.core.port.TemplateReader.Count;
import dev.sluice.core.port.TemplateReader.Frame;
import dev.sluice.core.port.TemplateReader.Link;
import dev.sluice.core.port.TemplateReader.Minutes;
import dev.sluice.core.port.TemplateReader.Place;
import dev.sluice.core.port.TemplateReader.Question;
import dev.sluice.core.port.TemplateReader.Recent;
import dev.sluice.core.port.TemplateReader.Seen;
import dev.sluice.core.port.TemplateReader.Stretch;
import dev.sluice.core.query.LogFilter;
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

/** What every {@link TemplateReader} keeps to. Each test begins with nothing stored. */
@Timeout(60)
public abstract class TemplateReaderContract {
  private static final long AT = 1_800_000_000_123_456_789L;
  private static final UUID A = TextId.of("a");
  private static final UUID B = TextId.of("b");
  private static final UUID C = TextId.of("c");

  /** What is counted of a log. */
  protected record Log(String tenant, String service, UUID template, int severity, long nanos) {}

  /** Always the same within a test; what it says is that of {@link #dictionary}. */
  protected abstract TemplateReader templates();

  protected abstract Dictionary dictionary();

  /** Stores logs in one go. */
  protected abstract void store(List<Log> logs);

  @Test
  void links_ofATenant_areThoseToTemplatesThatAreThere() throws Exception {
    write("acme", "a b", "a <*>");
    write("acme", "a <*>", "<*> <*>");
    write("acme", "<*> <*>", null);
    write("acme", "c", "nowhere");
    write("other", "d", "a <*>");
    write(Kind.TEXT, "f", TextId.of("a <*>"));

    assertThat(templates().links("acme", 10))
        .containsExactlyInAnyOrder(link("a b", "a <*>"), link("a <*>", "<*> <*>"));
    assertThat(templates().links("acme", 1)).hasSize(1);
    assertThat(templates().links("other", 10)).isEmpty();
    assertThat(templates().links("nobody", 10)).isEmpty();
  }

  /** Whichever was written first. */
  @Test
  void links_templateWithTwo_isTheOneThatCounts() throws Exception {
    write("acme", "a <*>", null);
    write("acme", "<*> b", null);
    write("acme", "a b", "a <*>");
    write("acme", "a b", "<*> b");
    write("acme", "a b", null);

    var links = templates().links("acme", 10);

    assertThat(links).hasSize(1);
    var entry = dictionary().find("acme", Kind.TEMPLATE, ids("a b")).getFirst();
    assertThat(links.getFirst().mergedInto()).isEqualTo(entry.mergedInto());
  }

  private static Link link(String text, String into) {
    return new Link(TextId.of(text), TextId.of(into));
  }

  private static List<UUID> many() {
    return IntStream.range(0, TemplateReader.MOST_IDS)
        .mapToObj(i -> TextId.of("text " + i))
        .toList();
  }

  // ---- counts

  @Test
  void counts_someLogs_areThoseOfTheMinutesAndOfAsManyBefore() throws Exception {
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
    store(times.stream().map(time -> new Log("acme", "web", A, 9, time)).toList());
    store(List.of(new Log("other", "web", A, 9, nanos(from))));

    assertThat(templates().counts(question(from, from + 2)))
        .containsExactly(new Count(A, "web", 9, 3, 2));
    assertThat(templates().counts(question(from + 2, from + 3)))
        .containsExactly(new Count(A, "web", 9, 1, 2));
    assertThat(templates().counts(question(from + 4, from + 5))).isEmpty();
    assertThat(templates().counts(question(from - 10, from + 10)))
        .containsExactly(new Count(A, "web", 9, 7, 0));
  }

  @Test
  void counts_servicesAndLevels_areCountedEach() throws Exception {
    store(
        List.of(
            new Log("acme", "web", A, 9, nanos(100)),
            new Log("acme", "web", A, 9, nanos(101)),
            new Log("acme", "web", A, 17, nanos(100)),
            new Log("acme", "web", B, 9, nanos(100)),
            new Log("acme", "it's \\", A, 9, nanos(99)),
            new Log("acme", "", A, 0, nanos(100))));
    store(List.of(new Log("acme", "web", A, 9, nanos(100) + 7))); // what parts of a table add up

    var all =
        List.of(
            new Count(A, "web", 9, 3, 0),
            new Count(A, "web", 17, 1, 0),
            new Count(B, "web", 9, 1, 0),
            new Count(A, "it's \\", 9, 0, 1),
            new Count(A, "", 0, 1, 0));
    assertThat(templates().counts(question(100, 102))).containsExactlyInAnyOrderElementsOf(all);
    assertThat(counts("web", Set.of(), 0, Set.of()))
        .containsExactlyInAnyOrderElementsOf(all.subList(0, 3));
    assertThat(counts("it's \\", Set.of(), 0, Set.of())).containsExactly(all.get(3));
    assertThat(counts(null, Set.of(17, 18), 0, Set.of())).containsExactly(all.get(1));
    assertThat(counts(null, Set.of(), 10, Set.of())).containsExactly(all.get(1));
    assertThat(counts(null, Set.of(), 0, Set.of(B, C))).containsExactly(all.get(2));
    assertThat(counts("web' OR 1=1 --", Set.of(), 0, Set.of())).isEmpty();
  }

  private List<Count> counts(
      @Nullable String service, Set<Integer> severities, int minSeverity, Set<UUID> ids)
      throws InterruptedException {
    return templates()
        .counts(new Question("acme", service, severities, minSeverity, new Minutes(100, 102), ids));
  }

  @Test
  void counts_anyTimeThatCanBeStored_isCounted() throws Exception {
    long last = Minutes.of(Long.MAX_VALUE);
    store(List.of(new Log("acme", "web", A, 9, 0), new Log("acme", "web", B, 9, Long.MAX_VALUE)));

    assertThat(templates().counts(question(0, 1))).containsExactly(new Count(A, "web", 9, 1, 0));
    assertThat(templates().counts(question(last, last + 1)))
        .containsExactly(new Count(B, "web", 9, 1, 0));
    assertThat(templates().counts(question(0, last + 1))).hasSize(2);
    assertThat(templates().seen("acme", null, List.of(A, B)))
        .containsExactlyInAnyOrder(
            new Seen(A, "web", new Minutes(0, 1)), new Seen(B, "web", new Minutes(last, last + 1)));
  }

  @Test
  void counts_moreThanMayBe_isTooCostly() throws Exception {
    var most =
        IntStream.range(0, TemplateReader.MOST_COUNTS)
            .mapToObj(i -> new Log("acme", "web", new UUID(1, i), 9, nanos(100)))
            .toList();
    store(most);
    assertThat(templates().counts(question(100, 101))).hasSize(most.size());

    store(List.of(new Log("acme", "web", A, 9, nanos(99))));

    assertThatThrownBy(() -> templates().counts(question(100, 101)))
        .isInstanceOf(TooCostly.class)
        .hasMessageStartingWith("more than 100000 counts");
    assertThat(templates().counts(question(101, 102))).hasSize(most.size());
  }

  @Test
  void seen_someIds_isTheirFirstAndLastMinuteInTheServiceOrInAll() throws Exception {
    store(
        List.of(
            new Log("acme", "web", A, 9, nanos(100)),
            new Log("acme", "web", A, 17, nanos(300)),
            new Log("acme", "db", A, 9, nanos(50)),
            new Log("acme", "web", B, 9, nanos(70)),
            new Log("other", "web", A, 9, nanos(1))));

    assertThat(templates().seen("acme", null, List.of(A, C)))
        .containsExactlyInAnyOrder(
            new Seen(A, "web", new Minutes(100, 301)), new Seen(A, "db", new Minutes(50, 51)));
    assertThat(templates().seen("acme", "web", List.of(A, B)))
        .containsExactlyInAnyOrder(
            new Seen(A, "web", new Minutes(100, 301)), new Seen(B, "web", new Minutes(70, 71)));
    assertThat(templates().seen("acme", "nowhere", List.of(A))).isEmpty();
    assertThat(templates().seen("acme", null, List.of())).isEmpty();
    assertThat(templates().seen("acme", null, many())).isEmpty();
  }

  // ---- over time, and the newest

  @Test
  void stretches_someLogs_areToldByServiceLevelAndSpan() throws Exception {
    store(
        List.of(
            new Log("acme", "web", A, 9, nanos(99)),
            new Log("acme", "web", A, 9, nanos(100)),
            new Log("acme", "web", A, 9, nanos(101)),
            new Log("acme", "db", A, 17, nanos(109)),
            new Log("acme", "web", A, 9, nanos(110)),
            new Log("acme", "web", B, 9, nanos(129)),
            new Log("acme", "web", B, 9, nanos(130)),
            new Log("acme", "web", C, 9, nanos(100)),
            new Log("other", "web", A, 9, nanos(100))));

    var asked = question(100, 130).of(Set.of(A, B));
    var frame = frame(asked, 3);

    assertThat(frame)
        .isEqualTo(new Frame(100, 10, 3, Map.of("web", Set.of(A, B), "db", Set.of(A))));
    assertThat(templates().stretches(asked, frame))
        .containsExactlyInAnyOrder(
            new Stretch(A, "web", 9, Stretch.BEFORE, 1, 99, 99),
            new Stretch(A, "web", 9, 0, 2, 100, 101),
            new Stretch(A, "db", 17, 0, 1, 109, 109),
            new Stretch(A, "web", 9, 1, 1, 110, 110),
            new Stretch(B, "web", 9, 2, 1, 129, 129));
  }

  @Test
  void stretches_lastMinuteAskedFor_isByItself() throws Exception {
    store(
        List.of(
            new Log("acme", "web", A, 9, nanos(100)),
            new Log("acme", "web", A, 9, nanos(108)),
            new Log("acme", "web", A, 9, nanos(109)),
            new Log("acme", "web", A, 9, nanos(109)),
            new Log("acme", "web", A, 9, nanos(110))));

    var asked = question(100, 110).of(Set.of(A));

    assertThat(templates().stretches(asked, frame(asked, 1)))
        .containsExactlyInAnyOrder(
            new Stretch(A, "web", 9, 0, 2, 100, 108), new Stretch(A, "web", 9, 0, 2, 109, 109));
  }

  /** What came while somebody asked, in minutes that the frame does not know. */
  @Test
  void stretches_minutesOutsideTheFrame_areInItsFirstAndLastSpan() throws Exception {
    store(
        List.of(
            new Log("acme", "web", A, 9, nanos(90)),
            new Log("acme", "web", A, 9, nanos(97)),
            new Log("acme", "web", A, 9, nanos(110)),
            new Log("acme", "web", A, 9, nanos(140))));
    var frame = new Frame(100, 5, 2, Map.of("web", Set.of(A)));

    for (var asked : List.of(question(0, Minutes.ALL.to()), question(80, 200))) {
      var stretches = templates().stretches(asked.of(Set.of(A)), frame);
      var spans =
          stretches.stream()
              .collect(
                  Collectors.groupingBy(Stretch::span, Collectors.summingLong(Stretch::count)));
      assertThat(spans).isEqualTo(Map.of(0L, 2L, 1L, 2L));
    }
  }

  /** As far as they came in the time asked for. */
  private Frame frame(Question question, int spans) throws Exception {
    var seen = templates().seen(question.tenant(), question.service(), question.ids());
    return Frame.of(question.minutes(), seen, spans);
  }

  @Test
  void stretches_muchTime_isThatBetweenTheFirstAndTheLastLog() throws Exception {
    store(
        List.of(
            new Log("acme", "web", A, 9, nanos(1_000)),
            new Log("acme", "web", B, 17, nanos(1_006)),
            new Log("acme", "db", B, 9, nanos(2_000))));

    var all = question(0, Minutes.ALL.to()).of(Set.of(A, B));
    assertThat(frame(all, 2))
        .isEqualTo(new Frame(1_000, 501, 2, Map.of("web", Set.of(A, B), "db", Set.of(B))));
    assertThat(templates().stretches(all, frame(all, 2)))
        .extracting(Stretch::span)
        .containsExactlyInAnyOrder(0L, 0L, 1L);

    var one = new Question("acme", "web", Set.of(17), 10, Minutes.ALL, Set.of(A, B));
    assertThat(frame(one, 30)).isEqualTo(new Frame(1_000, 1, 30, Map.of("web", Set.of(A, B))));
    assertThat(templates().stretches(one, frame(one, 30)))
        .containsExactly(new Stretch(B, "web", 17, 6, 1, 1_006, 1_006));
  }

  @Test
  void stretches_nothingThere_isNothing() throws Exception {
    store(List.of(new Log("acme", "web", A, 9, nanos(100))));

    for (var question : List.of(question(50, 60), question(300, 350))) {
      var asked = question.of(Set.of(A));
      var frame = frame(asked, 3);
      assertThat(templates().stretches(asked, frame)).isEmpty();
      assertThat(frame.begins()).isBetween(question.minutes().from(), question.minutes().to() - 1);
    }
    var none = new Frame(100, 1, 1, Map.of());
    assertThat(templates().stretches(question(100, 101).of(Set.of(B)), none)).isEmpty();
    assertThat(templates().stretches(question(100, 101).of(Set.copyOf(many())), none)).isEmpty();
    assertThatThrownBy(() -> templates().stretches(question(100, 130), none))
        .isInstanceOf(IllegalArgumentException.class);
  }

  /** As many pairs of them as no single condition could name. */
  @Test
  void stretches_manyTemplatesInManyServices_areCounted() throws Exception {
    var ids = Set.copyOf(many().subList(0, 100));
    var came =
        IntStream.range(0, 100).boxed().collect(Collectors.toMap(i -> "service " + i, _ -> ids));
    var id = ids.iterator().next();
    store(List.of(new Log("acme", "service 7", id, 9, nanos(100))));

    assertThat(templates().stretches(question(100, 101).of(ids), new Frame(100, 1, 1, came)))
        .containsExactly(new Stretch(id, "service 7", 9, 0, 1, 100, 100));
  }

  @Test
  void latest_someIds_isTheNewestLogOfEachInTheServiceOrInAll() throws Exception {
    store(
        List.of(
            new Log("acme", "web", A, 17, nanos(100) + 7),
            new Log("acme", "web", A, 9, nanos(100)),
            new Log("acme", "db", A, 9, nanos(101)),
            new Log("acme", "web", B, 9, nanos(70)),
            new Log("other", "web", A, 9, nanos(300)),
            new Log("acme", "web' OR 1=1 --", C, 0, Long.MAX_VALUE)));
    store(List.of(new Log("acme", "web", B, 9, nanos(60)), new Log("acme", "cart", A, 9, 0)));

    assertThat(latest(null, Set.of(), 0, A, B, C))
        .extracting(Recent::template, Recent::timeNanos, Recent::severityNumber, Recent::service)
        .containsExactlyInAnyOrder(
            tuple(A, nanos(101), 9, "db"),
            tuple(B, nanos(70), 9, "web"),
            tuple(C, Long.MAX_VALUE, 0, "web' OR 1=1 --"));
    assertThat(latest("web", Set.of(), 0, A, C))
        .extracting(Recent::template, Recent::timeNanos, Recent::severityNumber, Recent::service)
        .containsExactly(tuple(A, nanos(100) + 7, 17, "web"));
    assertThat(latest("web", Set.of(9, 10), 0, A))
        .extracting(Recent::timeNanos)
        .containsExactly(nanos(100));
    assertThat(latest(null, Set.of(), 10, A, B))
        .extracting(Recent::timeNanos)
        .containsExactly(nanos(100) + 7);
    assertThat(latest("nowhere", Set.of(), 0, A)).isEmpty();
    assertThatThrownBy(() -> templates().latest(question(0, 1)))
        .isInstanceOf(IllegalArgumentException.class);
    assertThat(templates().latest(question(0, 1).of(Set.copyOf(many())))).isEmpty();
  }

  private List<Recent> latest(
      @Nullable String service, Set<Integer> severities, int minSeverity, UUID... ids)
      throws InterruptedException {
    var minutes = new Minutes(1, 2); // of no account
    return templates()
        .latest(new Question("acme", service, severities, minSeverity, minutes, Set.of(ids)));
  }

  @Test
  void newest_somePlaces_areTheNewestLogsInThem() throws Exception {
    store(
        List.of(
            new Log("acme", "web", A, 9, nanos(100)),
            new Log("acme", "web", A, 17, nanos(100) + 7),
            new Log("acme", "db", A, 9, nanos(101) - 1),
            new Log("acme", "web", A, 9, nanos(101)),
            new Log("acme", "cart", B, 9, nanos(200)),
            new Log("acme", "web", C, 9, nanos(100)),
            new Log("other", "web", A, 9, nanos(100) + 8)));
    var all = LogFilter.of("acme").build();
    var places =
        List.of(
            Place.of(A, null, new Minutes(100, 101)), Place.of(B, "cart", new Minutes(100, 300)));

    assertThat(templates().newest(all, places, 2))
        .extracting(Recent::template, Recent::timeNanos, Recent::severityNumber, Recent::service)
        .containsExactly(
            tuple(B, nanos(200), 9, "cart"),
            tuple(A, nanos(101) - 1, 9, "db"),
            tuple(A, nanos(100) + 7, 17, "web"));
    assertThat(templates().newest(all, List.of(Place.of(A, "web", new Minutes(100, 101))), 1))
        .extracting(Recent::timeNanos)
        .containsExactly(nanos(100) + 7);
    assertThat(templates().newest(all, List.of(), 1)).isEmpty();
    assertThat(templates().newest(all, List.of(Place.of(A, null, Minutes.ALL)), 9)).hasSize(4);
    for (long from = nanos(100); from < nanos(100) + 9; from++) {
      assertThat(templates().newest(all, List.of(new Place(A, "web", from, nanos(100) + 7)), 9))
          .hasSize(from == nanos(100) ? 1 : 0);
      assertThat(templates().newest(all, List.of(new Place(A, "web", from, nanos(100) + 8)), 9))
          .hasSize(from == nanos(100) ? 2 : from <= nanos(100) + 7 ? 1 : 0);
    }
  }

  /** The table's own functions of time start again at some of them. */
  @Test
  void newest_instantsFarAway_areFound() throws Exception {
    long after2106 = 4_294_967_296_000_000_000L;
    var times = List.of(1L, after2106 - 1, after2106, 2 * after2106 + 7, Long.MAX_VALUE);
    store(times.stream().map(time -> new Log("acme", "web", A, 9, time)).toList());
    var all = LogFilter.of("acme").build();

    for (long time : times) {
      long end = time == Long.MAX_VALUE ? time : time + 1;
      assertThat(templates().newest(all, List.of(new Place(A, "web", time, end)), 9))
          .extracting(Recent::timeNanos)
          .containsExactly(time);
    }
    assertThat(
            templates()
                .newest(
                    all,
                    List.of(
                        new Place(A, "web", after2106 - 1, after2106),
                        new Place(A, "web", after2106, after2106 + 1)),
                    9))
        .extracting(Recent::timeNanos)
        .containsExactly(after2106, after2106 - 1);
  }

  @Test
  void newest_aFilter_holdsForThemToo() throws Exception {
    store(
        List.of(
            new Log("acme", "web", A, 9, nanos(100)),
            new Log("acme", "web", A, 17, nanos(100) + 7),
            new Log("acme", "db", A, 9, nanos(100) + 8),
            new Log("acme", "web' OR 1=1 --", B, 9, nanos(100))));
    var places = List.of(Place.of(A, null, Minutes.ALL));

    assertThat(templates().newest(LogFilter.of("acme").severities(List.of(17)).build(), places, 9))
        .extracting(Recent::timeNanos)
        .containsExactly(nanos(100) + 7);
    assertThat(templates().newest(LogFilter.of("acme").minSeverity(10).build(), places, 9))
        .hasSize(1);
    assertThat(templates().newest(LogFilter.of("acme").service("db").build(), places, 9))
        .hasSize(1);
    assertThat(
            templates()
                .newest(
                    LogFilter.of("acme").from(nanos(100) + 1).to(nanos(100) + 8).build(),
                    places,
                    9))
        .hasSize(1);
    assertThat(templates().newest(LogFilter.of("acme").from(9L).to(9L).build(), places, 9))
        .isEmpty();
    assertThat(
            templates()
                .newest(
                    LogFilter.of("acme").build(),
                    List.of(Place.of(B, "web' OR 1=1 --", Minutes.ALL)),
                    9))
        .hasSize(1);
  }

  private static Question question(long from, long to) {
    return new Question("acme", null, Set.of(), 0, new Minutes(from, to), Set.of());
  }

  private static long nanos(long minute) {
    return Minutes.nanos(minute);
  }

  private static List<UUID> ids(String... texts) {
    return Arrays.stream(texts).map(TextId::of).toList();
  }

  private void write(String tenant, String text, @Nullable String into)
      throws InterruptedException {
    write(
        new Entry(
            tenant,
            Kind.TEMPLATE,
            TextId.of(text),
            text,
            AT,
            AT,
            into == null ? null : TextId.of(into)));
  }

  private void write(Kind kind, String text, @Nullable UUID into) throws InterruptedException {
    write(new Entry("acme", kind, TextId.of(text), text, AT, AT, into));
  }

  private void write(Entry entry) throws InterruptedException {
    assertThat(dictionary().write(List.of(entry))).isEqualTo(new Written());
  }
}
