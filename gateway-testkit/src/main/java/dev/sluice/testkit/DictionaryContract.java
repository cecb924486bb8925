package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.port.WriteResult.Written;
import dev.sluice.templates.dictionary.ContentId;
import dev.sluice.templates.dictionary.Dictionary;
import dev.sluice.templates.dictionary.Dictionary.DictionaryEntry;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.UUID;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The contract of every {@link Dictionary}. Each test begins with an empty dictionary. */
@Timeout(60)
public abstract class DictionaryContract {
  private static final long SEEN_NANOS = 1_800_000_000_123_456_789L;
  private static final long DAY = 86_400_000_000_000L;

  /** Returns the dictionary, the same within a test. */
  protected abstract Dictionary dictionary();

  @Test
  void find_writtenEntry_isReturnedUnchanged() throws Exception {
    var text = "select 'grüße', '\\', '\t', '\uD83D\uDE00'\n\tfrom \"dual\" -- '";
    var link = ContentId.of("select <*>");
    var entry =
        new DictionaryEntry(
            "acme", EntryKind.TEMPLATE, ContentId.of(text), text, SEEN_NANOS, SEEN_NANOS + 5, link);

    write(entry);

    assertThat(find("acme", EntryKind.TEMPLATE, text)).containsExactly(entry);
  }

  @Test
  void find_longText_isComplete() throws Exception {
    var text = "at com.example.Shop.sell(Shop.java:42)\n".repeat(20_000);

    write(entry(EntryKind.TEXT, text, SEEN_NANOS));

    assertThat(find("acme", EntryKind.TEXT, text))
        .containsExactly(entry(EntryKind.TEXT, text, SEEN_NANOS));
  }

  @Test
  void find_emptyText_isFound() throws Exception {
    write(entry(EntryKind.TEXT, "", SEEN_NANOS));

    assertThat(find("acme", EntryKind.TEXT, ""))
        .containsExactly(entry(EntryKind.TEXT, "", SEEN_NANOS));
  }

  @Test
  void find_unknownIds_areOmitted() throws Exception {
    write(
        entry(EntryKind.TEXT, "a", SEEN_NANOS),
        entry(EntryKind.TEXT, "b", SEEN_NANOS),
        entry(EntryKind.TEXT, "c", SEEN_NANOS));

    assertThat(find("acme", EntryKind.TEXT, "a", "x", "c"))
        .containsExactlyInAnyOrder(
            entry(EntryKind.TEXT, "a", SEEN_NANOS), entry(EntryKind.TEXT, "c", SEEN_NANOS));
    assertThat(find("acme", EntryKind.TEXT)).isEmpty();
  }

  @Test
  void find_otherTenantOrKind_isASeparateEntry() throws Exception {
    write(entry(EntryKind.TEXT, "a", SEEN_NANOS));

    assertThat(find("other", EntryKind.TEXT, "a")).isEmpty();
    assertThat(find("acme", EntryKind.RESOURCE, "a")).isEmpty();

    write(entry(EntryKind.RESOURCE, "a", SEEN_NANOS + 7));

    assertThat(find("acme", EntryKind.TEXT, "a"))
        .containsExactly(entry(EntryKind.TEXT, "a", SEEN_NANOS));
    assertThat(find("acme", EntryKind.RESOURCE, "a"))
        .containsExactly(entry(EntryKind.RESOURCE, "a", SEEN_NANOS + 7));
  }

  @Test
  void find_maxIds_findsThemAll() throws Exception {
    var texts = IntStream.range(0, Dictionary.MAX_IDS).mapToObj(i -> "text " + i).toList();
    write(
        texts.stream()
            .map(text -> entry(EntryKind.TEXT, text, SEEN_NANOS))
            .toArray(DictionaryEntry[]::new));

    assertThat(find("acme", EntryKind.TEXT, texts.toArray(String[]::new))).hasSize(texts.size());
  }

  @Test
  void write_sameEntryTwice_isOneEntryFromFirstToLastSeen() throws Exception {
    write(
        entry(EntryKind.TEXT, "a", SEEN_NANOS + DAY),
        entry(EntryKind.TEXT, "a", SEEN_NANOS + 2 * DAY));
    write(entry(EntryKind.TEXT, "a", SEEN_NANOS));
    write(entry(EntryKind.TEXT, "a", SEEN_NANOS + DAY));

    assertThat(find("acme", EntryKind.TEXT, "a"))
        .containsExactly(
            new DictionaryEntry(
                "acme",
                EntryKind.TEXT,
                ContentId.of("a"),
                "a",
                SEEN_NANOS,
                SEEN_NANOS + 2 * DAY,
                null));
    assertThat(allEntries(EntryKind.TEXT, 10)).hasSize(1);
  }

  @Test
  void write_afterALink_preservesIt() throws Exception {
    write(entry(EntryKind.TEMPLATE, "a b", SEEN_NANOS));
    write(linkedEntry("a b", SEEN_NANOS, "a <*>"));
    write(entry(EntryKind.TEMPLATE, "a b", SEEN_NANOS + DAY));

    assertThat(find("acme", EntryKind.TEMPLATE, "a b"))
        .containsExactly(
            new DictionaryEntry(
                "acme",
                EntryKind.TEMPLATE,
                ContentId.of("a b"),
                "a b",
                SEEN_NANOS,
                SEEN_NANOS + DAY,
                ContentId.of("a <*>")));
  }

  @Test
  void write_twoLinks_convergesInEitherOrder() throws Exception {
    var targets = List.of("a <*>", "<*> b", "<*> <*>", "<*>");
    for (var one : targets) {
      for (var other : targets) {
        var forth = "%s, then %s".formatted(one, other);
        var back = "%s, before that %s".formatted(one, other);
        write(linkedEntry(forth, SEEN_NANOS, one));
        write(linkedEntry(forth, SEEN_NANOS, other));
        write(linkedEntry(back, SEEN_NANOS, other));
        write(linkedEntry(back, SEEN_NANOS, one));

        assertThat(linkTargetOf(forth)).isEqualTo(linkTargetOf(back));
        assertThat(linkTargetOf(forth)).isIn(ContentId.of(one), ContentId.of(other));
      }
    }
  }

  @Test
  void changesSince_allPages_haveEveryEntryOfTheTenantAndKind() throws Exception {
    for (int i = 0; i < 25; i++) {
      write(
          entry(EntryKind.TEMPLATE, "template " + i, SEEN_NANOS),
          entry(EntryKind.TEXT, "text " + i, SEEN_NANOS),
          new DictionaryEntry(
              "other",
              EntryKind.TEMPLATE,
              ContentId.of("theirs " + i),
              "theirs " + i,
              SEEN_NANOS,
              SEEN_NANOS,
              null));
    }

    assertThat(allEntries(EntryKind.TEMPLATE, 10))
        .extracting(DictionaryEntry::text)
        .containsExactlyInAnyOrderElementsOf(
            IntStream.range(0, 25).mapToObj(i -> "template " + i).toList());
  }

  @Test
  void changesSince_manyWrittenTogether_arePagedToo() throws Exception {
    write(
        IntStream.range(0, 25)
            .mapToObj(i -> entry(EntryKind.TEMPLATE, "template " + i, SEEN_NANOS))
            .toArray(DictionaryEntry[]::new));

    assertThat(allEntries(EntryKind.TEMPLATE, 10)).hasSize(25);
  }

  @Test
  void changesSince_cursorOfAnEarlierPage_hasLaterChanges() throws Exception {
    write(entry(EntryKind.TEMPLATE, "a b", SEEN_NANOS));
    var place = lastCursor(null);

    // written later, although it was seen earlier
    write(entry(EntryKind.TEMPLATE, "c", SEEN_NANOS - DAY));
    write(linkedEntry("a b", SEEN_NANOS, "a <*>"));

    assertThat(changesAfter(place))
        .contains(
            entry(EntryKind.TEMPLATE, "c", SEEN_NANOS - DAY),
            linkedEntry("a b", SEEN_NANOS, "a <*>"));
  }

  @Test
  void changesSince_emptyDictionary_isAnEmptyLastPage() throws Exception {
    var page = dictionary().changesSince("acme", EntryKind.TEMPLATE, null, 10);

    assertThat(page.entries()).isEmpty();
    assertThat(page.last()).isTrue();

    write(entry(EntryKind.TEMPLATE, "a", SEEN_NANOS));
    assertThat(changesAfter(page.next())).contains(entry(EntryKind.TEMPLATE, "a", SEEN_NANOS));
  }

  private void write(DictionaryEntry... entries) throws InterruptedException {
    assertThat(dictionary().write(List.of(entries))).isEqualTo(new Written());
  }

  private List<DictionaryEntry> find(String tenant, EntryKind kind, String... texts)
      throws InterruptedException {
    return dictionary().find(tenant, kind, Arrays.stream(texts).map(ContentId::of).toList());
  }

  private @Nullable UUID linkTargetOf(String text) throws InterruptedException {
    return find("acme", EntryKind.TEMPLATE, text).getFirst().mergedInto();
  }

  /** Reads all pages and returns each entry once, with its latest state. */
  private List<DictionaryEntry> allEntries(EntryKind kind, int limit) throws InterruptedException {
    var all = new LinkedHashMap<UUID, DictionaryEntry>();
    String place = null;
    boolean last = false;
    while (!last) {
      var page = dictionary().changesSince("acme", kind, place, limit);
      assertThat(page.entries()).hasSizeLessThanOrEqualTo(limit);
      page.entries().forEach(entry -> all.put(entry.id(), entry));
      place = page.next();
      last = page.last();
    }
    return List.copyOf(all.values());
  }

  private List<DictionaryEntry> changesAfter(@Nullable String place) throws InterruptedException {
    var entries = new ArrayList<DictionaryEntry>();
    boolean last = false;
    while (!last) {
      var page = dictionary().changesSince("acme", EntryKind.TEMPLATE, place, 10);
      entries.addAll(page.entries());
      place = page.next();
      last = page.last();
    }
    return entries;
  }

  private @Nullable String lastCursor(@Nullable String place) throws InterruptedException {
    var page = dictionary().changesSince("acme", EntryKind.TEMPLATE, place, 10);
    return page.last() ? page.next() : lastCursor(page.next());
  }

  private static DictionaryEntry entry(EntryKind kind, String text, long seen) {
    return new DictionaryEntry("acme", kind, ContentId.of(text), text, seen, seen, null);
  }

  private static DictionaryEntry linkedEntry(String text, long seen, String into) {
    return new DictionaryEntry(
        "acme", EntryKind.TEMPLATE, ContentId.of(text), text, seen, seen, ContentId.of(into));
  }
}
