package dev.sluice.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import dev.sluice.core.port.WriteResult;
import dev.sluice.core.port.WriteResult.Retryable;
import dev.sluice.core.port.WriteResult.SchemaMismatch;
import dev.sluice.core.port.WriteResult.Written;
import dev.sluice.templates.dictionary.ContentId;
import dev.sluice.templates.dictionary.Dictionary;
import dev.sluice.templates.dictionary.Dictionary.DictionaryEntry;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import dev.sluice.testkit.DictionaryContract;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

class ClickHouseDictionaryIT extends DictionaryContract {
  private static final long AT = 1_800_000_000_123_456_789L;

  private final ClickHouseDatabase database = new ClickHouseDatabase(TestDatabase.settings());
  private final ClickHouseDictionary dictionary = new ClickHouseDictionary(database);

  @BeforeEach
  void empty() {
    TestDatabase.dropAllTables();
  }

  @AfterEach
  void close() {
    database.close();
  }

  @Override
  protected Dictionary dictionary() {
    return dictionary;
  }

  // ---- content of the tables

  /** Test vectors of RFC 1321: the id in the table is the MD5 of the text in its usual notation. */
  @ParameterizedTest
  @CsvSource({
    "'', d41d8cd9-8f00-b204-e980-0998ecf8427e",
    "message digest, f96b697d-7cb7-938d-525a-2f31aaf161d0",
  })
  void write_text_hasItsMd5AsItsIdInTheTable(String text, String id) throws Exception {
    write(entry(EntryKind.TEMPLATE, text, AT, "abc"), entry(EntryKind.TEXT, text, AT, null));

    assertThat(TestDatabase.query("SELECT TemplateId, MergedInto FROM log_templates"))
        .isEqualTo(id + "\t90015098-3cd2-4fb0-d696-3f7d28e17f72");
    assertThat(TestDatabase.query("SELECT Kind, TextId, MergedInto FROM log_texts"))
        .isEqualTo("TEXT\t" + id + "\t00000000-0000-0000-0000-000000000000");
  }

  static List<String> texts() {
    return List.of(
        "it's `quoted` \"twice\" and \\'escaped\\', ?, {p:String}, %s",
        "\0 in front, in \0 the middle, and at the end \0",
        "one\ntwo\r\n\tthree\u2028four\\n",
        "\uD83D\uDE00 \uD834\uDD1E \uD840\uDC0B grüße \uFEFF\uFFFD",
        "0123456789abcdef".repeat(1 << 16));
  }

  @ParameterizedTest
  @MethodSource("texts")
  void find_anyText_isUnchanged(String text) throws Exception {
    var entries =
        Stream.of(EntryKind.values()).map(kind -> entry(kind, text, AT, "other")).toList();
    write(entries.toArray(DictionaryEntry[]::new));

    for (var entry : entries) {
      assertThat(dictionary.find("t", entry.kind(), List.of(entry.id()))).containsExactly(entry);
      assertThat(dictionary.changesSince("t", entry.kind(), null, 1).entries())
          .containsExactly(entry);
    }
  }

  @ParameterizedTest
  @EnumSource(EntryKind.class)
  void find_beforeAndAfterPartsAreMerged_isTheSame(EntryKind kind) throws Exception {
    var table = DictionaryTable.of(kind).tableName;
    write(entry(kind, "a b", AT + 2, null));
    TestDatabase.execute("SYSTEM STOP MERGES " + table);
    write(entry(kind, "a b", AT + 1, "a <*>"));
    write(entry(kind, "a b", AT + 3, null), entry(kind, "c", AT, null));
    var id = ContentId.of("a b");
    var merged = new DictionaryEntry("t", kind, id, "a b", AT + 1, AT + 3, ContentId.of("a <*>"));

    assertThat(TestDatabase.query("SELECT count() FROM " + table)).isEqualTo("4");
    assertThat(dictionary.find("t", kind, List.of(id))).containsExactly(merged);
    assertThat(dictionary.changesSince("t", kind, null, 10).entries()).contains(merged).hasSize(2);

    TestDatabase.execute("SYSTEM START MERGES " + table);
    TestDatabase.execute("OPTIMIZE TABLE " + table + " FINAL");

    assertThat(TestDatabase.query("SELECT count() FROM " + table)).isEqualTo("2");
    assertThat(dictionary.find("t", kind, List.of(id))).containsExactly(merged);
    assertThat(dictionary.changesSince("t", kind, null, 10).entries()).contains(merged).hasSize(2);
  }

  // ---- concurrent writes

  @Test
  void write_twoConcurrently_leaveOneMergedEntry() throws Exception {
    try (var otherStore = new ClickHouseDatabase(TestDatabase.settings());
        var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var other = new ClickHouseDictionary(otherStore);
      var texts = IntStream.range(0, 50).mapToObj(i -> "text " + i).toList();
      var linked = texts.stream().map(t -> entry(EntryKind.TEMPLATE, t, AT, "<*>")).toList();
      var later = texts.stream().map(t -> entry(EntryKind.TEMPLATE, t, AT + 9, null)).toList();
      var tasks = new ArrayList<Callable<WriteResult>>();
      for (int i = 0; i < 5; i++) {
        tasks.add(() -> dictionary.write(linked));
        tasks.add(() -> other.write(later));
      }

      for (var outcome : threads.invokeAll(tasks)) {
        assertThat(outcome.get()).isEqualTo(new Written());
      }

      var ids = texts.stream().map(ContentId::of).toList();
      assertThat(other.find("t", EntryKind.TEMPLATE, ids))
          .containsExactlyInAnyOrderElementsOf(
              texts.stream()
                  .map(
                      t ->
                          new DictionaryEntry(
                              "t",
                              EntryKind.TEMPLATE,
                              ContentId.of(t),
                              t,
                              AT,
                              AT + 9,
                              ContentId.of("<*>")))
                  .toList());
    }
  }

  /**
   * The write time of a row is the start of its insert; other gateways may have read later rows
   * before its end.
   */
  @Test
  void changesSince_insertThatTookAMinute_isReturnedAfterCatchingUp() throws Exception {
    write(entry(EntryKind.TEMPLATE, "a", AT, null));
    var cursor = dictionary.changesSince("t", EntryKind.TEMPLATE, null, 10).next();
    write(entry(EntryKind.TEMPLATE, "b", AT, null));
    cursor = dictionary.changesSince("t", EntryKind.TEMPLATE, cursor, 10).next();

    TestDatabase.execute(
        """
        INSERT INTO log_templates (Tenant, TemplateId, Text, WrittenAt)
        VALUES ('t', '%s', 'late', now64(9) - INTERVAL 60 SECOND)"""
            .formatted(ContentId.of("late")));

    assertThat(dictionary.changesSince("t", EntryKind.TEMPLATE, cursor, 10).entries())
        .extracting(DictionaryEntry::text)
        .contains("late");
  }

  /** The write times are before those of rows on earlier pages. */
  @Test
  void changesSince_insertThatEndsBetweenPages_isReturnedAfterTheLastPage() throws Exception {
    for (int i = 0; i < 3; i++) {
      write(entry(EntryKind.TEMPLATE, "text " + i, AT, null));
    }
    var page = dictionary.changesSince("t", EntryKind.TEMPLATE, null, 2);
    TestDatabase.execute(
        """
        INSERT INTO log_templates (Tenant, TemplateId, Text, WrittenAt)
        VALUES ('t', '%s', 'late', now64(9) - INTERVAL 60 SECOND)"""
            .formatted(ContentId.of("late")));

    assertThat(page.last()).isFalse();
    var rest = dictionary.changesSince("t", EntryKind.TEMPLATE, page.next(), 2);
    assertThat(rest.last()).isTrue();
    assertThat(dictionary.changesSince("t", EntryKind.TEMPLATE, rest.next(), 10).entries())
        .extracting(DictionaryEntry::text)
        .contains("late");
  }

  @Test
  void changesSince_oldRow_isNotReturnedAgain() throws Exception {
    write(entry(EntryKind.TEMPLATE, "a", AT, null));
    TestDatabase.execute(
        """
        INSERT INTO log_templates (Tenant, TemplateId, Text, WrittenAt)
        VALUES ('t', '%s', 'old', now64(9) - INTERVAL 1 HOUR)"""
            .formatted(ContentId.of("old")));

    var page = dictionary.changesSince("t", EntryKind.TEMPLATE, null, 10);

    assertThat(page.entries()).extracting(DictionaryEntry::text).containsExactly("old", "a");
    assertThat(dictionary.changesSince("t", EntryKind.TEMPLATE, page.next(), 10).entries())
        .extracting(DictionaryEntry::text)
        .containsExactly("a");
  }

  /** The new row has no link; the entry is the merge of all its rows. */
  @Test
  void changesSince_linkedLongAgoAndWrittenAgain_isReturnedWithItsLink() throws Exception {
    write(entry(EntryKind.TEMPLATE, "a", AT, null));
    TestDatabase.execute(
        """
        INSERT INTO log_templates (Tenant, TemplateId, Text, MergedInto, WrittenAt)
        VALUES ('t', '%s', 'a', '%s', now64(9) - INTERVAL 1 HOUR)"""
            .formatted(ContentId.of("a"), ContentId.of("<*>")));
    var cursor = dictionary.changesSince("t", EntryKind.TEMPLATE, null, 10).next();

    assertThat(dictionary.changesSince("t", EntryKind.TEMPLATE, cursor, 10).entries())
        .extracting(DictionaryEntry::mergedInto)
        .containsExactly(ContentId.of("<*>"));
  }

  @Test
  void write_tookLongerThanTheOverlap_isRetryable() throws Exception {
    var times = new ArrayList<>(List.of(Instant.EPOCH, Instant.EPOCH.plusSeconds(121)));
    var fast = new ClickHouseDictionary(database, InstantSource.system());
    var slow = new ClickHouseDictionary(database, times::removeFirst);

    assertThat(fast.write(List.of(entry(EntryKind.TEXT, "a", AT, null)))).isEqualTo(new Written());
    assertThat(slow.write(List.of(entry(EntryKind.TEXT, "a", AT, null))))
        .asInstanceOf(type(Retryable.class))
        .extracting(Retryable::reason)
        .asString()
        .contains("took 121 s");
  }

  // ---- failures of ClickHouse

  @Test
  void write_noClickHouse_isRetryableAndReadsFail() throws Exception {
    var unreachable = TestDatabase.settings("http://127.0.0.1:1");
    try (var otherStore = new ClickHouseDatabase(unreachable)) {
      var other = new ClickHouseDictionary(otherStore);

      assertThat(other.write(List.of(entry(EntryKind.TEXT, "a", AT, null))))
          .asInstanceOf(type(Retryable.class))
          .extracting(Retryable::reason)
          .asString()
          .contains("unreachable");
      assertThatThrownBy(() -> other.find("t", EntryKind.TEXT, List.of(ContentId.of("a"))))
          .hasMessageContaining("unreachable");
      assertThatThrownBy(() -> other.changesSince("t", EntryKind.TEXT, null, 1))
          .hasMessageContaining("unreachable");
    }
  }

  @ParameterizedTest
  @EnumSource(EntryKind.class)
  void write_tableDropped_isSchemaMismatchAndRecreated(EntryKind kind) throws Exception {
    write(entry(kind, "a", AT, null));
    TestDatabase.execute("DROP TABLE " + DictionaryTable.of(kind).tableName + " SYNC");

    assertThat(dictionary.write(List.of(entry(kind, "b", AT, null))))
        .asInstanceOf(type(SchemaMismatch.class))
        .extracting(SchemaMismatch::reason)
        .asString()
        .contains("UNKNOWN_TABLE");

    write(entry(kind, "b", AT, null));
    assertThat(dictionary.changesSince("t", kind, null, 10).entries())
        .containsExactly(entry(kind, "b", AT, null));
  }

  @Test
  void find_moreThanMaxIds_isRejected() {
    var ids = IntStream.rangeClosed(0, Dictionary.MAX_IDS).mapToObj(i -> new UUID(1, i)).toList();

    assertThatThrownBy(() -> dictionary.find("t", EntryKind.TEXT, ids))
        .isInstanceOf(IllegalArgumentException.class);
  }

  private void write(DictionaryEntry... entries) throws InterruptedException {
    assertThat(dictionary.write(List.of(entries))).isEqualTo(new Written());
  }

  private static DictionaryEntry entry(
      EntryKind kind, String text, long seen, @Nullable String into) {
    return new DictionaryEntry(
        "t", kind, ContentId.of(text), text, seen, seen, into == null ? null : ContentId.of(into));
  }
}
