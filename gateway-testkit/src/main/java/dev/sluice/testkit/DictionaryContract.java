package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.dictionary.ContentId;
import dev.sluice.core.port.Dictionary;
import dev.sluice.core.port.Dictionary.DictionaryEntry;
import dev.sluice.core.port.Dictionary.EntryKind;
import dev.sluice.core.port.Dictionary.WriteResult.Written;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.UUID;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What every {@link Dictionary} keeps to. Each test begins with an empty one. */
@Timeout(60)
public abstract class DictionaryContract {
  private static final long AT = 1_800_000_000_123_456_789L;
  private static final long DAY = 86_400_000_000_000L;

  /** Always the same within a test. */
  protected abstract Dictionary dictionary();

  @Test
  void find_written_isAsItWasWritten() throws Exception {
    var text = "select 'grüße', '\\', '\t', '\uD83D\uDE00'\n\tfrom \"dual\" -- '";
    var link = ContentId.of("select <*>");
    var entry =
        new DictionaryEntry("acme", EntryKind.TEMPLATE, ContentId.of(text), text, AT, AT + 5, link);

    write(entry);

    assertThat(find("acme", EntryKind.TEMPLATE, text)).containsExactly(entry);
  }

  @Test
  void find_longText_isWhole() throws Exception {
    var text = "at com.example.Shop.sell(Shop.java:42)\n".repeat(20_000);

    write(entry(EntryKind.TEXT, text, AT));

    assertThat(find("acme", EntryKind.TEXT, text)).containsExactly(entry(EntryKind.TEXT, text, AT));
  }

  @Test
  void find_emptyText_isThereToo() throws Exception {
    write(entry(EntryKind.TEXT, "", AT));

    assertThat(find("acme", EntryKind.TEXT, "")).containsExactly(entry(EntryKind.TEXT, "", AT));
  }

  @Test
  void find_idsThatAreNotThere_areLeftOut() throws Exception {
    write(
        entry(EntryKind.TEXT, "a", AT),
        entry(EntryKind.TEXT, "b", AT),
        entry(EntryKind.TEXT, "c", AT));

    assertThat(find("acme", EntryKind.TEXT, "a", "x", "c"))
        .containsExactlyInAnyOrder(entry(EntryKind.TEXT, "a", AT), entry(EntryKind.TEXT, "c", AT));
    assertThat(find("acme", EntryKind.TEXT)).isEmpty();
  }

  @Test
  void find_anotherTenantOrKind_isAnotherEntry() throws Exception {
    write(entry(EntryKind.TEXT, "a", AT));

    assertThat(find("other", EntryKind.TEXT, "a")).isEmpty();
    assertThat(find("acme", EntryKind.RESOURCE, "a")).isEmpty();

    write(entry(EntryKind.RESOURCE, "a", AT + 7));

    assertThat(find("acme", EntryKind.TEXT, "a")).containsExactly(entry(EntryKind.TEXT, "a", AT));
    assertThat(find("acme", EntryKind.RESOURCE, "a"))
        .containsExactly(entry(EntryKind.RESOURCE, "a", AT + 7));
  }

  @Test
  void find_asManyIdsAsMayBe_findsThem() throws Exception {
    var texts = IntStream.range(0, Dictionary.MAX_IDS).mapToObj(i -> "text " + i).toList();
    write(
        texts.stream()
            .map(text -> entry(EntryKind.TEXT, text, AT))
            .toArray(DictionaryEntry[]::new));

    assertThat(find("acme", EntryKind.TEXT, texts.toArray(String[]::new))).hasSize(texts.size());
  }

  @Test
  void write_sameAgain_isOneEntrySeenFromTheFirstToTheLast() throws Exception {
    write(entry(EntryKind.TEXT, "a", AT + DAY), entry(EntryKind.TEXT, "a", AT + 2 * DAY));
    write(entry(EntryKind.TEXT, "a", AT));
    write(entry(EntryKind.TEXT, "a", AT + DAY));

    assertThat(find("acme", EntryKind.TEXT, "a"))
        .containsExactly(
            new DictionaryEntry(
                "acme", EntryKind.TEXT, ContentId.of("a"), "a", AT, AT + 2 * DAY, null));
    assertThat(all(EntryKind.TEXT, 10)).hasSize(1);
  }

  @Test
  void write_afterALink_doesNotLoseIt() throws Exception {
    write(entry(EntryKind.TEMPLATE, "a b", AT));
    write(linked("a b", AT, "a <*>"));
    write(entry(EntryKind.TEMPLATE, "a b", AT + DAY));

    assertThat(find("acme", EntryKind.TEMPLATE, "a b"))
        .containsExactly(
            new DictionaryEntry(
                "acme",
                EntryKind.TEMPLATE,
                ContentId.of("a b"),
                "a b",
                AT,
                AT + DAY,
                ContentId.of("a <*>")));
  }

  @Test
  void write_twoLinks_keepsTheSameInEitherOrder() throws Exception {
    var targets = List.of("a <*>", "<*> b", "<*> <*>", "<*>");
    for (var one : targets) {
      for (var other : targets) {
        var forth = "%s, then %s".formatted(one, other);
        var back = "%s, before that %s".formatted(one, other);
        write(linked(forth, AT, one));
        write(linked(forth, AT, other));
        write(linked(back, AT, other));
        write(linked(back, AT, one));

        assertThat(linkOf(forth)).isEqualTo(linkOf(back));
        assertThat(linkOf(forth)).isIn(ContentId.of(one), ContentId.of(other));
      }
    }
  }

  @Test
  void since_pageAfterPage_showsAllOfTheTenantAndKind() throws Exception {
    for (int i = 0; i < 25; i++) {
      write(
          entry(EntryKind.TEMPLATE, "template " + i, AT),
          entry(EntryKind.TEXT, "text " + i, AT),
          new DictionaryEntry(
              "other",
              EntryKind.TEMPLATE,
              ContentId.of("theirs " + i),
              "theirs " + i,
              AT,
              AT,
              null));
    }

    assertThat(all(EntryKind.TEMPLATE, 10))
        .extracting(DictionaryEntry::text)
        .containsExactlyInAnyOrderElementsOf(
            IntStream.range(0, 25).mapToObj(i -> "template " + i).toList());
  }

  @Test
  void since_manyWrittenAtOnce_showsThemInPagesToo() throws Exception {
    write(
        IntStream.range(0, 25)
            .mapToObj(i -> entry(EntryKind.TEMPLATE, "template " + i, AT))
            .toArray(DictionaryEntry[]::new));

    assertThat(all(EntryKind.TEMPLATE, 10)).hasSize(25);
  }

  @Test
  void since_placeOfAnEarlierPage_showsWhatCameAfter() throws Exception {
    write(entry(EntryKind.TEMPLATE, "a b", AT));
    var place = lastPlace(null);

    write(entry(EntryKind.TEMPLATE, "c", AT - DAY)); // later, though it was seen before
    write(linked("a b", AT, "a <*>"));

    assertThat(after(place))
        .contains(entry(EntryKind.TEMPLATE, "c", AT - DAY), linked("a b", AT, "a <*>"));
  }

  @Test
  void since_nothingWritten_isTheLastPageAndEmpty() throws Exception {
    var page = dictionary().changesSince("acme", EntryKind.TEMPLATE, null, 10);

    assertThat(page.entries()).isEmpty();
    assertThat(page.last()).isTrue();

    write(entry(EntryKind.TEMPLATE, "a", AT));
    assertThat(after(page.next())).contains(entry(EntryKind.TEMPLATE, "a", AT));
  }

  private void write(DictionaryEntry... entries) throws InterruptedException {
    assertThat(dictionary().write(List.of(entries))).isEqualTo(new Written());
  }

  private List<DictionaryEntry> find(String tenant, EntryKind kind, String... texts)
      throws InterruptedException {
    return dictionary().find(tenant, kind, Arrays.stream(texts).map(ContentId::of).toList());
  }

  private @Nullable UUID linkOf(String text) throws InterruptedException {
    return find("acme", EntryKind.TEMPLATE, text).getFirst().mergedInto();
  }

  /** Each once, as it was shown last. */
  private List<DictionaryEntry> all(EntryKind kind, int limit) throws InterruptedException {
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

  private List<DictionaryEntry> after(@Nullable String place) throws InterruptedException {
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

  private @Nullable String lastPlace(@Nullable String place) throws InterruptedException {
    var page = dictionary().changesSince("acme", EntryKind.TEMPLATE, place, 10);
    return page.last() ? page.next() : lastPlace(page.next());
  }

  private static DictionaryEntry entry(EntryKind kind, String text, long seen) {
    return new DictionaryEntry("acme", kind, ContentId.of(text), text, seen, seen, null);
  }

  private static DictionaryEntry linked(String text, long seen, String into) {
    return new DictionaryEntry(
        "acme", EntryKind.TEMPLATE, ContentId.of(text), text, seen, seen, ContentId.of(into));
  }
}
