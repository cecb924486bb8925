package dev.sluice.templates;

import static java.util.stream.Collectors.toSet;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TemplateMinerTest {
  private static final String TENANT = "acme";
  private static final String SERVICE = "shop";

  private final TemplateMiner miner = new TemplateMiner(MinerSettings.defaults());

  @ParameterizedTest
  @CsvSource({ // the test suite of RFC 1321, A.5
    "a, 0cc175b9-c0f1-b6a8-31c3-99e269772661",
    "abc, 90015098-3cd2-4fb0-d696-3f7d28e17f72",
    "message digest, f96b697d-7cb7-938d-525a-2f31aaf161d0",
  })
  void idOf_text_isItsMd5(String text, UUID expected) {
    assertThat(TemplateRow.idOf(text)).isEqualTo(expected);
  }

  @Test
  void mine_firstMessage_isItsOwnTemplateAndPending() {
    var templateMatch = mine("it is up");

    assertThat(templateMatch)
        .isEqualTo(new TemplateMatch(TemplateRow.idOf("it is up"), "it is up", false));
    assertThat(miner.pendingRows(TENANT)).containsExactly(row("it is up", null));
  }

  @Test
  void mine_repeated_hasNoPendingRows() {
    mine("it is up");
    miner.markWritten(TENANT, miner.pendingRows(TENANT));

    mine("it is up");

    assertThat(miner.pendingRows(TENANT)).isEmpty();
  }

  @Test
  void mine_generalizes_linksTheOldTemplateToTheNew() {
    mine("for user bob now");
    mine("for user eve now");
    miner.markWritten(TENANT, miner.pendingRows(TENANT));

    var templateMatch = mine("for user ann now");

    assertThat(templateMatch.text()).isEqualTo("for user <*> now");
    assertThat(miner.pendingRows(TENANT))
        .containsExactlyInAnyOrder(
            row("for user bob now", "for user <*> now"),
            row("for user eve now", "for user <*> now"),
            row("for user ann now", "for user <*> now"),
            row("for user <*> now", null));
    assertThat(mine("for user bob now")).isEqualTo(templateMatch);
    assertThat(miner.templateCount(TENANT)).isEqualTo(1);
  }

  @Test
  void markWritten_olderStateOfARow_keepsTheNewer() {
    mine("for user bob now");
    var older = miner.pendingRows(TENANT);
    mine("for user eve now");
    mine("for user ann now");

    miner.markWritten(TENANT, older);

    assertThat(miner.pendingRows(TENANT)).contains(row("for user bob now", "for user <*> now"));
  }

  @Test
  void mine_otherTenant_isIsolated() {
    mine("it is up");

    assertThat(miner.pendingRows("other")).isEmpty();
    assertThat(miner.templateCount("other")).isZero();
  }

  @Test
  void load_templateOfAnotherInstance_coversTheSameMessages() {
    var other = new TemplateMiner(MinerSettings.defaults());
    for (String name : List.of("a", "b", "c")) {
      other.mine(TENANT, SERVICE, "for user " + name + " now");
    }

    boolean news = miner.load(TENANT, other.pendingRows(TENANT));

    assertThat(news).isFalse();
    assertThat(miner.pendingRows(TENANT)).isEmpty();
    assertThat(mine("for user bob now").text()).isEqualTo("for user <*> now");
  }

  @Test
  void load_enoughEvidenceTogether_linksTheRowsOfBoth() {
    mine("for user a now");
    mine("for user b now");
    miner.markWritten(TENANT, miner.pendingRows(TENANT));

    boolean news = miner.load(TENANT, List.of(row("for user c now", null)));

    assertThat(news).isTrue();
    assertThat(miner.pendingRows(TENANT))
        .containsExactlyInAnyOrder(
            row("for user a now", "for user <*> now"),
            row("for user b now", "for user <*> now"),
            row("for user c now", "for user <*> now"),
            row("for user <*> now", null));
  }

  @Test
  void load_lostLink_isPendingAgain() {
    mine("for user a now");
    mine("for user b now");
    mine("for user c now");
    miner.markWritten(TENANT, miner.pendingRows(TENANT));

    boolean news = miner.load(TENANT, List.of(row("for user a now", null)));

    assertThat(news).isTrue();
    assertThat(miner.pendingRows(TENANT)).contains(row("for user a now", "for user <*> now"));
  }

  @Property(tries = 500)
  void mine_inAnyOrder_givesTheSamePartition(
      @ForAll("texts") List<String> texts, @ForAll Random random) {
    var shuffled = new ArrayList<>(texts);
    Collections.shuffle(shuffled, random);

    assertThat(partition(texts, List.of(new Run(texts))))
        .isEqualTo(partition(texts, List.of(new Run(shuffled))));
  }

  @Property(tries = 500)
  void mine_acrossARestart_givesTheSamePartition(
      @ForAll("texts") List<String> texts, @ForAll @IntRange(max = 40) int at) {
    int cut = Math.min(at, texts.size());
    var before = new Run(texts.subList(0, cut));
    var after = new Run(texts.subList(cut, texts.size()));

    assertThat(partition(texts, List.of(before, after)))
        .isEqualTo(partition(texts, List.of(new Run(texts))));
  }

  @Property(tries = 500)
  void load_afterARestart_isTheSameStateAndHasNoPendingRows(@ForAll("texts") List<String> texts) {
    var table = new FakeDictionaryTable();
    var first = new Run(texts).on(table);

    var second = new TemplateMiner(MinerSettings.defaults());
    boolean news = second.load(TENANT, table.read());

    assertThat(news).isFalse();
    assertThat(second.pendingRows(TENANT)).isEmpty();
    assertThat(second.templateCount(TENANT)).isEqualTo(first.templateCount(TENANT));
    assertThat(second.memoryBytes()).isEqualTo(first.memoryBytes());
    for (String text : texts) {
      assertThat(second.mine(TENANT, SERVICE, text)).isEqualTo(first.mine(TENANT, SERVICE, text));
    }
  }

  @Property(tries = 500)
  void load_twoInterleavedInstances_givesTheSamePartition(
      @ForAll("texts") List<String> texts, @ForAll Random random) {
    var table = new FakeDictionaryTable();
    var instances =
        List.of(
            new TemplateMiner(MinerSettings.defaults()),
            new TemplateMiner(MinerSettings.defaults()));
    var handedOut = new HashMap<String, Set<UUID>>();

    for (String text : texts) {
      var instance = instances.get(random.nextInt(2));
      var templateMatch = instance.mine(TENANT, SERVICE, text);
      handedOut.computeIfAbsent(text, _ -> new HashSet<>()).add(templateMatch.id());
      if (random.nextInt(3) == 0) {
        table.write(instance);
      }
      if (random.nextInt(5) == 0) {
        instance.load(TENANT, table.read());
      }
    }
    converge(instances, table);

    assertThat(canonicalIds(handedOut, table)).isEqualTo(partition(texts, List.of(new Run(texts))));
    assertThat(instances.get(0).templateCount(TENANT))
        .isEqualTo(instances.get(1).templateCount(TENANT));
  }

  /** Exchanges rows between the instances until none has new rows. */
  private static void converge(List<TemplateMiner> instances, FakeDictionaryTable table) {
    for (int round = 0; round < 10; round++) {
      for (var instance : instances) {
        table.write(instance);
        instance.load(TENANT, table.read());
        table.write(instance);
      }
    }
    assertThat(instances).noneMatch(it -> it.load(TENANT, table.read()));
  }

  @Property(tries = 300)
  void pendingRows_links_leadToTheCurrentTemplate(@ForAll("texts") List<String> texts) {
    var table = new FakeDictionaryTable();
    var instance = new TemplateMiner(MinerSettings.defaults());
    var handedOut = new HashMap<String, Set<UUID>>();
    for (String text : texts) {
      var templateMatch = instance.mine(TENANT, SERVICE, text);
      handedOut.computeIfAbsent(text, _ -> new HashSet<>()).add(templateMatch.id());
      table.write(instance);
    }

    handedOut.forEach(
        (text, ids) -> {
          var now = instance.mine(TENANT, SERVICE, text).id();
          assertThat(ids).allSatisfy(id -> assertThat(table.resolve(id)).isEqualTo(now));
        });
  }

  @Test
  void mine_floodOfUniqueMessages_overflows() {
    var bounded = new TemplateMiner(new MinerSettings(100, 1 << 20));
    bounded.mine(TENANT, SERVICE, "it is up");

    int caught = 0;
    for (int i = 0; i < 10_000; i++) {
      caught += bounded.mine(TENANT, SERVICE, letters(i) + " at first").overflowed() ? 1 : 0;
      bounded.markWritten(TENANT, bounded.pendingRows(TENANT));
    }

    assertThat(bounded.templateCount(TENANT)).isLessThanOrEqualTo(101);
    assertThat(bounded.memoryBytes()).isLessThan(1 << 20);
    assertThat(caught).isEqualTo(10_000 - 99);
    assertThat(bounded.mine(TENANT, SERVICE, "new one"))
        .isEqualTo(new TemplateMatch(TemplateRow.idOf("<*>"), "<*>", true));
    assertThat(bounded.mine(TENANT, SERVICE, "it is up").overflowed()).isFalse();
    assertThat(bounded.mine(TENANT, "quiet", "new one").overflowed()).isFalse();
  }

  @Test
  void mine_pastTheTotalBytes_overflows() {
    var bounded = new TemplateMiner(new MinerSettings(100_000, 64 << 10));

    boolean caught = false;
    for (int i = 0; i < 10_000; i++) {
      caught |=
          bounded
              .mine("tenant" + i % 7, SERVICE + i % 10, letters(i) + " x".repeat(100))
              .overflowed();
    }

    assertThat(bounded.memoryBytes()).isBetween(60L << 10, 68L << 10);
    assertThat(caught).isTrue();
  }

  @Test
  void mine_longMessagesOfOneService_leaveCapacityForTheOthers() {
    var bounded = new TemplateMiner(new MinerSettings(2_000, 1 << 20));

    for (int i = 0; i < 1_000; i++) {
      bounded.mine(TENANT, SERVICE, letters(i) + " x".repeat(500));
    }

    assertThat(bounded.memoryBytes()).isLessThan(1 << 18);
    assertThat(bounded.mine(TENANT, SERVICE, "new one" + " x".repeat(500)).overflowed()).isTrue();
    assertThat(bounded.mine(TENANT, "quiet", "new one").overflowed()).isFalse();
  }

  /** Another instance has memory for the general template, this one does not. */
  @Test
  void load_generalizedElsewhereWhileFull_keepsTheTemplate() {
    var full = new TemplateMiner(new MinerSettings(100_000, 64 << 10));
    var known = full.mine(TENANT, SERVICE, "for user a now");
    full.load(
        TENANT,
        IntStream.range(0, 1_000).mapToObj(i -> row(letters(i) + " at first", null)).toList());
    assertThat(full.memoryBytes()).isGreaterThanOrEqualTo(64 << 10);
    full.markWritten(TENANT, full.pendingRows(TENANT));
    for (var user : List.of("a", "b", "c", "d")) {
      miner.mine(TENANT, SERVICE, "for user " + user + " now");
    }

    boolean news = full.load(TENANT, miner.pendingRows(TENANT));

    assertThat(news).isFalse();
    assertThat(full.pendingRows(TENANT)).isEmpty();
    assertThat(full.mine(TENANT, SERVICE, "for user a now")).isEqualTo(known);
  }

  @Test
  void mine_dictionaryUnavailable_boundsThePendingRows() {
    var bounded = new TemplateMiner(new MinerSettings(100, 1 << 20));

    for (int i = 0; i < 10_000; i++) {
      bounded.mine(TENANT, SERVICE + i % 1000, letters(i) + " at first");
    }

    assertThat(bounded.pendingRows(TENANT)).hasSizeLessThan(210);
  }

  @Test
  void mine_overflow_writesTheCatchAll() {
    var bounded = new TemplateMiner(new MinerSettings(1, 1 << 20));
    bounded.mine(TENANT, SERVICE, "one of these");

    bounded.mine(TENANT, SERVICE, "another that is not");

    assertThat(bounded.pendingRows(TENANT)).contains(TemplateMiner.CATCH_ALL);
  }

  @Test
  void masks_ofAService_applyToThatServiceOnly() {
    miner.masks(List.of(new CustomMask("plan", SERVICE, Pattern.compile("gold|silver"))));

    assertThat(mine("plan gold chosen").text()).isEqualTo("plan <*> chosen");
    assertThat(miner.mine(TENANT, "other", "plan gold chosen").text())
        .isEqualTo("plan gold chosen");
  }

  @Test
  void masks_ofAllServices_applyInOrder() {
    miner.masks(
        List.of(
            new CustomMask("one", null, Pattern.compile("gold")),
            new CustomMask("two", null, Pattern.compile("plan <\\*>"))));

    assertThat(mine("the plan gold chosen").text()).isEqualTo("the <*> chosen");
  }

  @Test
  void masks_replaced_applyToLaterMessages() {
    miner.masks(List.of(new CustomMask("one", null, Pattern.compile("gold"))));
    mine("plan gold");

    miner.masks(List.of());

    assertThat(mine("plan silver").text()).isEqualTo("plan silver");
  }

  @ParameterizedTest
  @CsvSource({"(a+)+b", "(a|aa)+b", "(?:a|b)*c"})
  void masks_patternExceedsItsBudget_isAbortedAndCounted(String pattern) {
    miner.masks(List.of(new CustomMask("wild", null, Pattern.compile(pattern))));
    String text = "a".repeat(MessageMasker.MAX_OUTPUT);

    assertThat(mine(text).text()).isEqualTo(text);
    assertThat(miner.budgetExceeded()).isEqualTo(1);
  }

  @ParameterizedTest
  @CsvSource({"0, 65536", "100001, 65536", "1, 65535"})
  void new_settingsOutOfBounds_throws(int templates, long bytes) {
    assertThatIllegalArgumentException().isThrownBy(() -> new MinerSettings(templates, bytes));
  }

  private TemplateMatch mine(String masked) {
    return miner.mine(TENANT, SERVICE, masked);
  }

  private static TemplateRow row(String text, @Nullable String into) {
    return TemplateRow.of(text, into == null ? null : TemplateRow.idOf(into));
  }

  /** Returns a distinct word without digits for each number. */
  private static String letters(int i) {
    return i == 0 ? "q" : "q" + letters(i / 20) + (char) ('a' + i % 20);
  }

  /**
   * Returns the template of each text after the given runs, each of which begins with a restart.
   */
  private static Map<String, UUID> partition(List<String> texts, List<Run> runs) {
    var table = new FakeDictionaryTable();
    var issuedIds = new HashMap<String, Set<UUID>>();
    for (var run : runs) {
      run.mineAll(table, issuedIds);
    }
    assertThat(issuedIds.keySet()).isEqualTo(Set.copyOf(texts));
    return canonicalIds(issuedIds, table);
  }

  private static Map<String, UUID> canonicalIds(
      Map<String, Set<UUID>> issuedIds, FakeDictionaryTable table) {
    var resolved = new HashMap<String, UUID>();
    issuedIds.forEach(
        (text, ids) -> {
          var canonical = ids.stream().map(table::resolve).collect(toSet());
          assertThat(canonical).hasSize(1);
          resolved.put(text, canonical.iterator().next());
        });
    return resolved;
  }

  private record Run(List<String> texts) {
    TemplateMiner on(FakeDictionaryTable table) {
      var ids = new HashMap<String, Set<UUID>>();
      return mineAll(table, ids);
    }

    TemplateMiner mineAll(FakeDictionaryTable table, Map<String, Set<UUID>> ids) {
      var miner = new TemplateMiner(MinerSettings.defaults());
      miner.load(TENANT, table.read());
      for (String text : texts) {
        var templateMatch = miner.mine(TENANT, SERVICE, text);
        ids.computeIfAbsent(text, _ -> new HashSet<>()).add(templateMatch.id());
        table.write(miner);
      }
      return miner;
    }
  }

  /** A fake dictionary table: the last row of an id wins. */
  private static final class FakeDictionaryTable {
    private final Map<UUID, TemplateRow> rows = new HashMap<>();

    void write(TemplateMiner miner) {
      var unwritten = miner.pendingRows(TENANT);
      unwritten.forEach(row -> rows.put(row.id(), row));
      miner.markWritten(TENANT, unwritten);
    }

    List<TemplateRow> read() {
      return List.copyOf(rows.values());
    }

    UUID resolve(UUID id) {
      var row = rows.get(id);
      for (int steps = 0; row != null && row.mergedInto() != null; steps++) {
        assertThat(steps).isLessThan(100);
        row = rows.get(row.mergedInto());
      }
      return row == null ? id : row.id();
    }
  }

  @Provide
  Arbitrary<List<String>> texts() {
    return TemplateGeneralizerTest.texts();
  }
}
