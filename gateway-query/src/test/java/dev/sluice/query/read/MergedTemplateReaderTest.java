package dev.sluice.query.read;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.LogStore.StoreResult.Stored;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader;
import dev.sluice.query.port.LogReader.Query;
import dev.sluice.query.port.LogReader.QueryTooExpensiveException;
import dev.sluice.query.port.LogReader.StoredLog;
import dev.sluice.query.port.TemplateStats;
import dev.sluice.templates.dictionary.ContentId;
import dev.sluice.templates.dictionary.Dictionary.DictionaryEntry;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import dev.sluice.testkit.InMemoryDictionary;
import dev.sluice.testkit.InMemoryLogStore;
import dev.sluice.testkit.InMemoryTemplateStats;
import dev.sluice.testkit.LogBatches;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class MergedTemplateReaderTest {
  private final InMemoryLogStore store = new InMemoryLogStore();
  private final InMemoryDictionary dictionary = new InMemoryDictionary();
  private final InMemoryTemplateStats templates = new InMemoryTemplateStats(dictionary);
  private final LogReader reader =
      new MergedTemplateReader(store, new TemplateLinkCache(templates, Duration.ZERO, () -> 0));

  /** Adds a template to the dictionary. */
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

  /** Stores one log for each template, in this order; null stores a log without a template. */
  private void store(@Nullable String... texts) throws InterruptedException {
    var batch = LogBatches.of(texts.length);
    var logs = withDistinctTimes(batch, texts.length);
    for (int i = 0; i < texts.length; i++) {
      if (texts[i] != null) {
        store.assignTemplate(logs.get(i).id(), ContentId.of(texts[i]));
      }
    }
  }

  private List<StoredLog> withDistinctTimes(LogBatch batch, int logs) throws InterruptedException {
    assertThat(store.store("token", List.of(batch))).isEqualTo(new Stored());
    assertThat(store.logs()).hasSize(logs);
    return store.logs();
  }

  /** Returns the template id that is shown for each log. */
  private List<@Nullable UUID> templateIds(String... templates) throws InterruptedException {
    return reader.read(new Query(filter(templates), 100, null)).logs().stream()
        .sorted((one, other) -> one.id().compareTo(other.id()))
        .<@Nullable UUID>map(StoredLog::templateId)
        .toList();
  }

  private static LogFilter filter(String... templates) {
    var filter = LogFilter.of("default");
    Stream.of(templates).map(ContentId::of).forEach(filter::template);
    return filter.build();
  }

  @Test
  void read_mergedTemplates_areShownAsTheirCanonicalTemplate() throws Exception {
    template("a b", "a <*>");
    template("a <*>", "<*> <*>");
    template("<*> <*>", null);
    template("c", null);
    store("a b", "a <*>", "<*> <*>", "c", null, "not in the dictionary");

    assertThat(templateIds())
        .containsExactly(
            ContentId.of("<*> <*>"),
            ContentId.of("<*> <*>"),
            ContentId.of("<*> <*>"),
            ContentId.of("c"),
            null,
            ContentId.of("not in the dictionary"));
  }

  @Test
  void read_byTemplate_findsAllMergedIntoIt() throws Exception {
    template("a b", "a <*>");
    template("a c", "a <*>");
    template("a <*>", "<*> <*>");
    template("<*> <*>", null);
    template("d", null);
    store("a b", "a c", "a <*>", "<*> <*>", "d", null);

    for (var anyOfThem : List.of("a b", "a <*>", "<*> <*>")) {
      assertThat(templateIds(anyOfThem)).hasSize(4).containsOnly(ContentId.of("<*> <*>"));
      assertThat(reader.timeExtent(filter(anyOfThem)).count()).isEqualTo(4);
      assertThat(reader.histogram(filter(anyOfThem), 0, Long.MAX_VALUE).getFirst().count())
          .isEqualTo(4);
    }
    assertThat(templateIds("d")).containsExactly(ContentId.of("d"));
    assertThat(templateIds("d", "a b")).hasSize(5);
    assertThat(templateIds("not in the dictionary")).isEmpty();
  }

  @Test
  void read_linkToAMissingTemplate_isIgnored() throws Exception {
    template("a b", "lost");
    store("a b");

    assertThat(templateIds()).containsExactly(ContentId.of("a b"));
    assertThat(templateIds("a b")).hasSize(1);
  }

  @Test
  void read_linkCycle_hasOneCanonicalTemplate() throws Exception {
    template("before", "a");
    template("a", "b");
    template("b", "c");
    template("c", "a");
    template("other", "c");
    store("before", "a", "b", "c", "other");

    assertThat(templateIds()).hasSize(5).containsOnly(templateIds().getFirst());
    assertThat(templateIds().getFirst())
        .isIn(ContentId.of("a"), ContentId.of("b"), ContentId.of("c"));
    for (var anyOfThem : List.of("before", "a", "b", "c", "other")) {
      assertThat(templateIds(anyOfThem)).hasSize(5);
    }
  }

  @Test
  void read_linkChain_isFollowedToItsEnd() throws Exception {
    for (int i = 0; i < 10; i++) {
      template("t" + i, "t" + (i + 1));
    }
    template("t10", null);
    store("t0", "t9", "t10");

    assertThat(templateIds()).hasSize(3).containsOnly(ContentId.of("t10"));
    assertThat(templateIds("t5")).hasSize(3);
  }

  @Test
  void read_longestLinkChain_isFollowedToItsEnd() throws Exception {
    for (int i = 0; i < 1_000; i++) {
      template("t" + i, "t" + (i + 1));
    }
    store("t0");

    assertThat(templateIds()).containsExactly(ContentId.of("t999"));
  }

  @Test
  void read_otherTenant_hasItsOwnLinks() throws Exception {
    dictionary.write(
        List.of(
            new DictionaryEntry(
                "acme",
                EntryKind.TEMPLATE,
                ContentId.of("a"),
                "a",
                1,
                1,
                ContentId.of("not in the dictionary"))));
    store("a");

    assertThat(templateIds()).containsExactly(ContentId.of("a"));
    assertThat(templateIds("a")).hasSize(1);
  }

  @Test
  void read_byTemplateWithTooManyMembers_throwsQueryTooExpensive() {
    for (int i = 0; i < LogFilter.MAX_EXPANDED_TEMPLATES; i++) {
      template("t" + i, "<*>");
    }
    template("<*>", null);

    assertThatThrownBy(() -> templateIds("t7"))
        .isInstanceOf(QueryTooExpensiveException.class)
        .hasMessage("the templates and the templates merged into them are more than 10000");
  }

  @Test
  void read_page_queriesLinksOnceWhateverItsSize() throws Exception {
    template("a b", "a <*>");
    template("a c", "a <*>");
    template("a <*>", null);
    template("d", null);
    store("a b", "a c", "d", "a b", "a b", null);
    var questions = new AtomicInteger();
    var counted = countingReader(questions);

    assertThat(counted.read(new Query(filter(), 100, null)).logs()).hasSize(6);

    assertThat(questions).hasValue(1);
  }

  @Test
  void read_linkCycle_isTraversedOnce() throws Exception {
    template("a", "b");
    template("b", "c");
    template("c", "a");
    store("a");
    var questions = new AtomicInteger();

    var page = countingReader(questions).read(new Query(filter(), 100, null));

    assertThat(page.logs()).hasSize(1);
    assertThat(questions).hasValue(1);
  }

  @Test
  void read_logsWithoutTemplates_queriesNoLinks() throws Exception {
    store(null, null);
    var questions = new AtomicInteger();

    var page = countingReader(questions).read(new Query(filter(), 100, null));

    assertThat(page.logs()).hasSize(2);
    assertThat(questions).hasValue(0);
  }

  @Test
  void read_repeated_queriesLinksAgainUnlessCached() throws Exception {
    store("a");
    var questions = new AtomicInteger();
    var links =
        new TemplateLinkCache(
            new CountingTemplateStats(templates, questions), Duration.ofSeconds(1), () -> 0);
    var now = new MergedTemplateReader(store, links);
    var recently = MergedTemplateReader.withCachedLinks(store, links);

    for (int i = 1; i <= 2; i++) {
      now.read(new Query(filter(), 100, null));
      assertThat(questions).hasValue(i);
    }
    for (int i = 1; i <= 2; i++) {
      recently.read(new Query(filter(), 100, null));
      recently.read(new Query(filter("a"), 100, null));
      assertThat(questions).hasValue(3);
    }
  }

  private MergedTemplateReader countingReader(AtomicInteger questions) {
    var counting = new CountingTemplateStats(templates, questions);
    return new MergedTemplateReader(store, new TemplateLinkCache(counting, Duration.ZERO, () -> 0));
  }

  private record CountingTemplateStats(TemplateStats templates, AtomicInteger questions)
      implements TemplateStats {

    @Override
    public List<TemplateLink> links(String tenant, int limit) throws InterruptedException {
      questions.incrementAndGet();
      return templates.links(tenant, limit);
    }

    @Override
    public List<TemplateCount> counts(TemplateQuery templateQuery) {
      throw new AssertionError("unexpected query for counts");
    }

    @Override
    public Map<UUID, MinuteRange> activeRanges(
        String tenant, @Nullable String service, Collection<UUID> ids) {
      throw new AssertionError("unexpected query for counts");
    }

    @Override
    public List<ServiceActivity> serviceActivity(
        String tenant, @Nullable String service, Collection<UUID> ids) {
      throw new AssertionError("unexpected query for counts");
    }

    @Override
    public List<CountBucket> countBuckets(TemplateQuery templateQuery, BucketLayout bucketLayout) {
      throw new AssertionError("unexpected query for counts");
    }

    @Override
    public List<SampleLog> latestSamples(TemplateQuery templateQuery) {
      throw new AssertionError("unexpected query for logs");
    }

    @Override
    public List<SampleLog> newestLogs(LogFilter filter, List<TimeSlice> places, int each) {
      throw new AssertionError("unexpected query for logs");
    }
  }
}
