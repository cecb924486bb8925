package dev.sluice.query.read;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import dev.sluice.core.domain.Severity;
import dev.sluice.query.port.TemplateStats.MinuteRange;
import dev.sluice.query.port.TemplateStats.TemplateQuery;
import dev.sluice.query.read.TemplateReport.Template;
import dev.sluice.query.read.TemplateReport.View;
import dev.sluice.templates.dictionary.ContentId;
import dev.sluice.templates.dictionary.Dictionary.DictionaryEntry;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import dev.sluice.testkit.InMemoryDictionary;
import dev.sluice.testkit.InMemoryLogStore;
import dev.sluice.testkit.InMemoryTemplateStats;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests a report of the minutes 100 to 109, which compares them with the minutes 90 to 99. */
@Timeout(60)
class TemplateReportTest {
  private static final int INFO = 9;
  private static final int ERROR = 17;

  private final InMemoryDictionary dictionary = new InMemoryDictionary();
  private final InMemoryTemplateStats templates = new InMemoryTemplateStats(dictionary);
  private final TemplateReport report =
      report(new ConcurrencyLimitedReader(new InMemoryLogStore(), Integer.MAX_VALUE));

  private TemplateReport report(ConcurrencyLimitedReader queue) {
    var links = new TemplateLinkCache(templates, Duration.ZERO, () -> 0);
    return new TemplateReport(templates, dictionary, links, queue);
  }

  private void template(String text) {
    template(text, null);
  }

  private void template(String text, @Nullable String into) {
    dictionary.write(
        List.of(
            new DictionaryEntry(
                "default",
                EntryKind.TEMPLATE,
                ContentId.of(text),
                text,
                1,
                1,
                into == null ? null : ContentId.of(into))));
  }

  private void logs(String text, long minute, int logs) {
    logs(text, minute, logs, "web", INFO);
  }

  private void logs(String text, long minute, int logs, String service, int severity) {
    for (int i = 0; i < logs; i++) {
      templates.count(
          "default", service, ContentId.of(text), severity, MinuteRange.startNanos(minute));
    }
  }

  private static TemplateQuery question(@Nullable String service) {
    return new TemplateQuery("default", service, Set.of(), 0, new MinuteRange(100, 110), Set.of());
  }

  private List<Template> list(View view) throws InterruptedException {
    return report.list(question(null), view, 1000).templates();
  }

  private List<@Nullable String> texts(View view) throws InterruptedException {
    return list(view).stream().<@Nullable String>map(Template::text).toList();
  }

  @Test
  void top_someTemplates_areOrderedByCount() throws Exception {
    for (var text : List.of("rare", "often", "before", "after", "never")) {
      template(text);
    }
    logs("rare", 100, 1);
    logs("often", 109, 3);
    logs("before", 99, 9);
    logs("after", 110, 9);

    assertThat(texts(View.TOP)).containsExactly("often", "rare");
  }

  @Test
  void top_template_hasServicesSeveritiesAndTimes() throws Exception {
    template("user <*>");
    logs("user <*>", 40, 1, "old", INFO);
    logs("user <*>", 95, 2, "db", ERROR);
    logs("user <*>", 100, 2, "web", INFO);
    logs("user <*>", 101, 1, "web", ERROR + 3);
    logs("user <*>", 102, 1, "job", 0);
    logs("user <*>", 200, 1, "late", INFO);

    assertThat(list(View.TOP))
        .containsExactly(
            new Template(
                ContentId.of("user <*>"),
                "user <*>",
                4,
                2,
                40L,
                200L,
                Map.of("db", 0L, "job", 1L, "web", 3L),
                Map.of(Severity.INFO, 2L, Severity.ERROR, 1L)));
    assertThat(list(View.TOP).getFirst().rateChange()).hasValue(1.0);
  }

  @Test
  void top_mergedTemplates_areCountedForTheirCanonicalTemplate() throws Exception {
    template("user ann", "user <*>");
    template("user <*>", "<*> <*>");
    template("<*> <*>");
    logs("user ann", 50, 1);
    logs("user ann", 98, 2);
    logs("user <*>", 101, 3);
    logs("<*> <*>", 105, 4);

    var templates = list(View.TOP);

    assertThat(templates).extracting(Template::text).containsExactly("<*> <*>");
    assertThat(templates)
        .extracting(
            Template::count, Template::countBefore, Template::firstMinute, Template::lastMinute)
        .containsExactly(tuple(7L, 2L, 50L, 105L));
  }

  @Test
  void new_templates_areOnlyThoseNeverSeenBefore() throws Exception {
    for (var text : List.of("fresh", "loud", "known", "returned")) {
      template(text);
    }
    logs("fresh", 100, 1);
    logs("loud", 109, 2);
    logs("known", 99, 1);
    logs("known", 100, 9);
    logs("returned", 3, 1);
    logs("returned", 100, 9);

    assertThat(texts(View.NEW)).containsExactly("loud", "fresh");
    assertThat(list(View.NEW).getFirst().rateChange()).isEmpty();
  }

  @Test
  void new_knownInAnotherService_isNewInThisOneOnly() throws Exception {
    template("fresh here");
    template("fresh");
    logs("fresh here", 5, 1, "db", INFO);
    logs("fresh here", 101, 1, "web", INFO);
    logs("fresh", 101, 2, "web", INFO);

    assertThat(texts(View.NEW)).containsExactly("fresh");
    var inWeb = report.list(question("web"), View.NEW, 10);
    assertThat(inWeb.templates()).extracting(Template::text).containsExactly("fresh", "fresh here");
    assertThat(inWeb.templates()).extracting(Template::firstMinute).containsExactly(101L, 101L);
  }

  /** When known messages are generalized to one template, that template is not new. */
  @Test
  void newAndVanished_generalizedTemplate_isNeither() throws Exception {
    template("user ann", "user <*>");
    template("user bob", "user <*>");
    template("user <*>");
    logs("user ann", 20, 1);
    logs("user bob", 95, 5);
    logs("user <*>", 105, 5);

    assertThat(texts(View.NEW)).isEmpty();
    assertThat(texts(View.VANISHED)).isEmpty();
    assertThat(texts(View.CHANGED)).isEmpty();
    assertThat(texts(View.TOP)).containsExactly("user <*>");
  }

  /** The queried severity selects the logs to count; it does not decide which templates are new. */
  @Test
  void new_knownAtAnotherSeverity_isKnown() throws Exception {
    template("retry");
    logs("retry", 5, 1, "web", INFO);
    logs("retry", 101, 1, "web", ERROR);

    var errors =
        new TemplateQuery("default", null, Set.of(), ERROR, new MinuteRange(100, 110), Set.of());

    assertThat(report.list(errors, View.NEW, 10).templates()).isEmpty();
    assertThat(report.list(errors, View.TOP, 10).templates())
        .extracting(Template::count)
        .containsExactly(1L);
  }

  @Test
  void vanished_templates_areOnlyThoseOfThePreviousRange() throws Exception {
    for (var text : List.of("gone", "gone loud", "still", "long ago", "back later")) {
      template(text);
    }
    logs("gone", 99, 1, "db", ERROR);
    logs("gone loud", 90, 3);
    logs("still", 99, 1);
    logs("still", 100, 1);
    logs("long ago", 89, 9);
    logs("back later", 95, 2);
    logs("back later", 110, 1);

    var vanished = list(View.VANISHED);

    assertThat(vanished)
        .extracting(Template::text)
        .containsExactly("gone loud", "back later", "gone");
    assertThat(vanished.getLast().rateChange()).hasValue(-1.0);
    assertThat(vanished.getLast().services()).containsExactly(Map.entry("db", 0L));
    assertThat(vanished.getLast().severities()).containsExactly(Map.entry(Severity.ERROR, 0L));
  }

  @Test
  void changed_templates_areOrderedByRatio() throws Exception {
    for (var text : List.of("doubled", "a fifth", "new", "vanished", "same", "twice 500")) {
      template(text);
    }
    logs("doubled", 95, 3); // 7 / 4
    logs("doubled", 105, 6);
    logs("a fifth", 95, 24); // 25 / 5
    logs("a fifth", 105, 4);
    logs("new", 105, 9); // 10 / 1
    logs("vanished", 95, 5); // 6 / 1
    logs("same", 95, 7);
    logs("same", 105, 7);
    logs("twice 500", 95, 500); // 1001 / 501
    logs("twice 500", 105, 1000);

    assertThat(texts(View.CHANGED))
        .containsExactly("new", "vanished", "a fifth", "twice 500", "doubled");
  }

  @Test
  void list_limit_hasTheTotal() throws Exception {
    for (int i = 0; i < 20; i++) {
      template("t" + i);
      logs("t" + i, 100, 1);
    }

    var listing = report.list(question(null), View.TOP, 3);

    assertThat(listing.total()).isEqualTo(20);
    var first =
        IntStream.range(0, 20).mapToObj(i -> ContentId.of("t" + i)).sorted().limit(3).toList();
    assertThat(listing.templates()).extracting(Template::id).containsExactlyElementsOf(first);
  }

  @Test
  void list_templateMissingInDictionary_hasNoText() throws Exception {
    logs("lost", 100, 1);

    assertThat(list(View.TOP)).extracting(Template::text).containsExactly((String) null);
    assertThat(report.find(question(null), ContentId.of("lost"))).isEmpty();
    assertThat(report.activeRange("default", ContentId.of("lost"))).isEmpty();
  }

  /** There are more templates than one query accepts. */
  @Test
  void new_moreTemplatesThanMaxIds_areAllExamined() throws Exception {
    for (int i = 0; i < 10_050; i++) {
      logs("t" + i, 100, 1);
    }
    logs("t7", 1, 1);

    assertThat(report.list(question(null), View.NEW, 1).total()).isEqualTo(10_049);
  }

  @Test
  void find_anyOfAGroup_isItsCanonicalTemplateAndMembers() throws Exception {
    template("user ann", "user <*>");
    template("user bob", "user <*>");
    template("user <*>");
    template("other");
    logs("user ann", 40, 1);
    logs("user bob", 95, 2);
    logs("user <*>", 105, 3);
    logs("other", 105, 9);

    for (var text : List.of("user ann", "user bob", "user <*>")) {
      var templateDetail = report.find(question(null), ContentId.of(text)).orElseThrow();

      assertThat(templateDetail.template())
          .isEqualTo(
              new Template(
                  ContentId.of("user <*>"),
                  "user <*>",
                  3,
                  2,
                  40L,
                  105L,
                  Map.of("web", 3L),
                  Map.of(Severity.INFO, 3L)));
      assertThat(templateDetail.mergedIds()).isEqualTo(ids("user ann", "user bob"));
    }
    assertThat(report.find(question("nowhere"), ContentId.of("other")).orElseThrow().template())
        .isEqualTo(
            new Template(ContentId.of("other"), "other", 0, 0, null, null, Map.of(), Map.of()));
    assertThat(report.find(question(null), ContentId.of("never"))).isEmpty();
    assertThat(report.activeRange("default", ContentId.of("user ann")))
        .contains(new MinuteRange(40, 106));
    assertThat(report.activeRange("acme", ContentId.of("user ann"))).isEmpty();
  }

  private static Set<UUID> ids(String... texts) {
    return Set.copyOf(Arrays.stream(texts).map(ContentId::of).toList());
  }

  @Test
  void list_queueFull_throwsTooManyQueries() {
    var busy = report(new ConcurrencyLimitedReader(new InMemoryLogStore(), 0));

    assertThatThrownBy(() -> busy.list(question(null), View.TOP, 1))
        .isInstanceOf(ConcurrencyLimitedReader.TooManyQueriesException.class);
    assertThatThrownBy(() -> busy.find(question(null), ContentId.of("a")))
        .isInstanceOf(ConcurrencyLimitedReader.TooManyQueriesException.class);
    assertThatThrownBy(() -> busy.activeRange("default", ContentId.of("a")))
        .isInstanceOf(ConcurrencyLimitedReader.TooManyQueriesException.class);
  }

  @Test
  void minuteRange_instantsWithinIt_areAllCovered() {
    assertThat(MinuteRange.covering(MinuteRange.startNanos(100) + 1, MinuteRange.startNanos(110)))
        .isEqualTo(new MinuteRange(100, 110));
    assertThat(MinuteRange.covering(MinuteRange.startNanos(100), MinuteRange.startNanos(110) + 1))
        .isEqualTo(new MinuteRange(100, 111));
    assertThat(new MinuteRange(100, 110).precedingFrom()).isEqualTo(90);
    assertThat(new MinuteRange(5, 110).precedingFrom()).isZero();
    assertThatThrownBy(() -> new MinuteRange(7, 7))
        .hasMessage("minutes from 7 to 7 are not a range");
  }
}
