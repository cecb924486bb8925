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
import dev.sluice.core.port.TemplateReader.Link;
import dev.sluice.core.port.TemplateReader.Minutes;
import dev.sluice.core.port.TemplateReader.Question;
import dev.sluice.core.port.TemplateReader.Recent;
import dev.sluice.core.port.TemplateReader.Seen;
import dev.sluice.core.port.TemplateReader.Tick;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
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
  void links_someIds_areTheirsAndOnlyOfThoseThatAreThere() throws Exception {
    write("acme", "a b", "a <*>");
    write("acme", "a <*>", null);
    write("acme", "c", null);
    write("other", "d", "e");
    write(Kind.TEXT, "f", null);

    assertThat(templates().links("acme", ids("a b", "a <*>", "d", "f", "nowhere")))
        .containsExactlyInAnyOrder(
            new Link(TextId.of("a b"), TextId.of("a <*>")), new Link(TextId.of("a <*>"), null));
    assertThat(templates().links("acme", List.of())).isEmpty();
  }

  @Test
  void links_asManyIdsAsMayBe_areFound() throws Exception {
    write("acme", "text 7", "text <*>");

    assertThat(templates().links("acme", many())).hasSize(1);
    assertThat(templates().linkedTo("acme", many(), 10)).isEmpty();
  }

  private static List<UUID> many() {
    return IntStream.range(0, TemplateReader.MOST_IDS)
        .mapToObj(i -> TextId.of("text " + i))
        .toList();
  }

  @Test
  void linkedTo_someIds_areThoseOneStepBeforeThem() throws Exception {
    write("acme", "a b", "a <*>");
    write("acme", "a c", "a <*>");
    write("acme", "a <*>", "<*> <*>");
    write("acme", "d", "e");
    write("other", "a d", "a <*>");

    assertThat(templates().linkedTo("acme", ids("a <*>", "e"), 10))
        .containsExactlyInAnyOrder(
            new Link(TextId.of("a b"), TextId.of("a <*>")),
            new Link(TextId.of("a c"), TextId.of("a <*>")),
            new Link(TextId.of("d"), TextId.of("e")));
    assertThat(templates().linkedTo("acme", ids("<*> <*>"), 10))
        .containsExactly(new Link(TextId.of("a <*>"), TextId.of("<*> <*>")));
    assertThat(templates().linkedTo("acme", ids("a b"), 10)).isEmpty();
    assertThat(templates().linkedTo("acme", List.of(), 10)).isEmpty();
    assertThat(templates().linkedTo("acme", ids("a <*>", "e"), 2)).hasSize(2);
  }

  /** Whichever was written first. */
  @Test
  void linkedTo_templateWithTwoLinks_isToldOfTheOneThatCounts() throws Exception {
    write("acme", "a b", "a <*>");
    write("acme", "a b", "<*> b");
    write("acme", "a b", null);

    var link = templates().links("acme", ids("a b")).getFirst().mergedInto();

    for (var target : ids("a <*>", "<*> b")) {
      assertThat(templates().linkedTo("acme", List.of(target), 10))
          .hasSize(target.equals(link) ? 1 : 0);
    }
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
        .containsExactlyInAnyOrder(new Seen(A, 0, 0), new Seen(B, last, last));
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

    assertThat(templates().seen("acme", null, List.of(A, C))).containsExactly(new Seen(A, 50, 300));
    assertThat(templates().seen("acme", "web", List.of(A, B)))
        .containsExactlyInAnyOrder(new Seen(A, 100, 300), new Seen(B, 70, 70));
    assertThat(templates().seen("acme", "nowhere", List.of(A))).isEmpty();
    assertThat(templates().seen("acme", null, List.of())).isEmpty();
    assertThat(templates().seen("acme", null, many())).isEmpty();
  }

  // ---- over time, and the newest

  @Test
  void timeline_someLogs_areCountedBySpansOfTheirMinutesAlone() throws Exception {
    store(
        List.of(
            new Log("acme", "web", A, 9, nanos(99)),
            new Log("acme", "web", A, 9, nanos(100)),
            new Log("acme", "db", A, 17, nanos(109)),
            new Log("acme", "web", A, 9, nanos(110)),
            new Log("acme", "web", B, 9, nanos(129)),
            new Log("acme", "web", B, 9, nanos(130)),
            new Log("other", "web", A, 9, nanos(100))));

    assertThat(templates().timeline(question(100, 130), 10))
        .containsExactlyInAnyOrder(new Tick(A, 0, 2), new Tick(A, 1, 1), new Tick(B, 2, 1));
    assertThat(templates().timeline(question(100, 130).of(Set.of(B)), 15))
        .containsExactly(new Tick(B, 1, 1));
    assertThatThrownBy(() -> templates().timeline(question(100, 130), 0))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void newest_someIds_areTheirNewestLogsInTheirMinutes() throws Exception {
    store(
        List.of(
            new Log("acme", "web", A, 9, nanos(100)),
            new Log("acme", "web", A, 17, nanos(100) + 7),
            new Log("acme", "db", A, 9, nanos(101) - 1),
            new Log("acme", "web", A, 9, nanos(101)),
            new Log("acme", "web", B, 9, nanos(200)),
            new Log("acme", "web", C, 9, nanos(100)),
            new Log("other", "web", A, 9, nanos(100) + 8)));
    var within = Map.of(A, new Minutes(100, 101), B, new Minutes(100, 300));

    assertThat(templates().newest("acme", null, within, 2))
        .extracting(Recent::template, Recent::timeNanos, Recent::severityNumber, Recent::service)
        .containsExactly(
            tuple(B, nanos(200), 9, "web"),
            tuple(A, nanos(101) - 1, 9, "db"),
            tuple(A, nanos(100) + 7, 17, "web"));
    assertThat(templates().newest("acme", "web", within, 1))
        .extracting(Recent::timeNanos)
        .containsExactly(nanos(200), nanos(100) + 7);
    assertThat(templates().newest("acme", null, Map.of(), 1)).isEmpty();
    assertThat(templates().newest("acme", null, Map.of(A, Minutes.ALL), 9)).hasSize(4);
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
