package dev.sluice.core.templates;

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

class MinerTest {
  private static final String TENANT = "acme";
  private static final String SERVICE = "shop";

  private final Miner miner = new Miner(MinerSettings.standard());

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
  void mine_firstMessage_isItsOwnTemplateAndToBeWritten() {
    var mined = mine("it is up");

    assertThat(mined).isEqualTo(new Mined(TemplateRow.idOf("it is up"), "it is up", false));
    assertThat(miner.unwritten(TENANT)).containsExactly(row("it is up", null));
  }

  @Test
  void mine_again_hasNothingToWrite() {
    mine("it is up");
    miner.written(TENANT, miner.unwritten(TENANT));

    mine("it is up");

    assertThat(miner.unwritten(TENANT)).isEmpty();
  }

  @Test
  void mine_generalises_linksTheOldToTheNew() {
    mine("for user bob now");
    mine("for user eve now");
    miner.written(TENANT, miner.unwritten(TENANT));

    var mined = mine("for user ann now");

    assertThat(mined.text()).isEqualTo("for user <*> now");
    assertThat(miner.unwritten(TENANT))
        .containsExactlyInAnyOrder(
            row("for user bob now", "for user <*> now"),
            row("for user eve now", "for user <*> now"),
            row("for user ann now", "for user <*> now"),
            row("for user <*> now", null));
    assertThat(mine("for user bob now")).isEqualTo(mined);
    assertThat(miner.templates(TENANT)).isEqualTo(1);
  }

  @Test
  void written_olderStateOfARow_keepsTheNewer() {
    mine("for user bob now");
    var older = miner.unwritten(TENANT);
    mine("for user eve now");
    mine("for user ann now");

    miner.written(TENANT, older);

    assertThat(miner.unwritten(TENANT)).contains(row("for user bob now", "for user <*> now"));
  }

  @Test
  void mine_otherTenant_knowsNothing() {
    mine("it is up");

    assertThat(miner.unwritten("other")).isEmpty();
    assertThat(miner.templates("other")).isZero();
  }

  @Test
  void learn_templateOfAnother_coversWhatItCovers() {
    var other = new Miner(MinerSettings.standard());
    for (String name : List.of("a", "b", "c")) {
      other.mine(TENANT, SERVICE, "for user " + name + " now");
    }

    boolean news = miner.learn(TENANT, other.unwritten(TENANT));

    assertThat(news).isFalse();
    assertThat(miner.unwritten(TENANT)).isEmpty();
    assertThat(mine("for user bob now").text()).isEqualTo("for user <*> now");
  }

  @Test
  void learn_whatIsEnoughTogether_linksTheRowsOfBoth() {
    mine("for user a now");
    mine("for user b now");
    miner.written(TENANT, miner.unwritten(TENANT));

    boolean news = miner.learn(TENANT, List.of(row("for user c now", null)));

    assertThat(news).isTrue();
    assertThat(miner.unwritten(TENANT))
        .containsExactlyInAnyOrder(
            row("for user a now", "for user <*> now"),
            row("for user b now", "for user <*> now"),
            row("for user c now", "for user <*> now"),
            row("for user <*> now", null));
  }

  @Test
  void learn_linkThatWasLost_writesItAgain() {
    mine("for user a now");
    mine("for user b now");
    mine("for user c now");
    miner.written(TENANT, miner.unwritten(TENANT));

    boolean news = miner.learn(TENANT, List.of(row("for user a now", null)));

    assertThat(news).isTrue();
    assertThat(miner.unwritten(TENANT)).contains(row("for user a now", "for user <*> now"));
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
  void learn_afterARestart_isTheSameStateAndHasNothingToWrite(@ForAll("texts") List<String> texts) {
    var table = new Table();
    var first = new Run(texts).on(table);

    var second = new Miner(MinerSettings.standard());
    boolean news = second.learn(TENANT, table.read());

    assertThat(news).isFalse();
    assertThat(second.unwritten(TENANT)).isEmpty();
    assertThat(second.templates(TENANT)).isEqualTo(first.templates(TENANT));
    assertThat(second.bytes()).isEqualTo(first.bytes());
    for (String text : texts) {
      assertThat(second.mine(TENANT, SERVICE, text)).isEqualTo(first.mine(TENANT, SERVICE, text));
    }
  }

  @Property(tries = 500)
  void learn_twoInstancesThatTakeTurns_givesTheSamePartition(
      @ForAll("texts") List<String> texts, @ForAll Random random) {
    var table = new Table();
    var instances =
        List.of(new Miner(MinerSettings.standard()), new Miner(MinerSettings.standard()));
    var handedOut = new HashMap<String, Set<UUID>>();

    for (String text : texts) {
      var instance = instances.get(random.nextInt(2));
      var mined = instance.mine(TENANT, SERVICE, text);
      handedOut.computeIfAbsent(text, _ -> new HashSet<>()).add(mined.id());
      if (random.nextInt(3) == 0) {
        table.write(instance);
      }
      if (random.nextInt(5) == 0) {
        instance.learn(TENANT, table.read());
      }
    }
    settle(instances, table);

    assertThat(resolved(handedOut, table)).isEqualTo(partition(texts, List.of(new Run(texts))));
    assertThat(instances.get(0).templates(TENANT)).isEqualTo(instances.get(1).templates(TENANT));
  }

  /** Until neither has anything to tell the other. */
  private static void settle(List<Miner> instances, Table table) {
    for (int round = 0; round < 10; round++) {
      for (var instance : instances) {
        table.write(instance);
        instance.learn(TENANT, table.read());
        table.write(instance);
      }
    }
    assertThat(instances).noneMatch(it -> it.learn(TENANT, table.read()));
  }

  @Property(tries = 300)
  void unwritten_links_leadToWhatMineSaysNow(@ForAll("texts") List<String> texts) {
    var table = new Table();
    var instance = new Miner(MinerSettings.standard());
    var handedOut = new HashMap<String, Set<UUID>>();
    for (String text : texts) {
      var mined = instance.mine(TENANT, SERVICE, text);
      handedOut.computeIfAbsent(text, _ -> new HashSet<>()).add(mined.id());
      table.write(instance);
    }

    handedOut.forEach(
        (text, ids) -> {
          var now = instance.mine(TENANT, SERVICE, text).id();
          assertThat(ids).allSatisfy(id -> assertThat(table.resolve(id)).isEqualTo(now));
        });
  }

  @Test
  void mine_floodOfUniqueMessages_isCaught() {
    var bounded = new Miner(new MinerSettings(100, 1 << 20));
    bounded.mine(TENANT, SERVICE, "it is up");

    int caught = 0;
    for (int i = 0; i < 10_000; i++) {
      caught += bounded.mine(TENANT, SERVICE, letters(i) + " at first").caught() ? 1 : 0;
      bounded.written(TENANT, bounded.unwritten(TENANT));
    }

    assertThat(bounded.templates(TENANT)).isLessThanOrEqualTo(101);
    assertThat(bounded.bytes()).isLessThan(1 << 20);
    assertThat(caught).isEqualTo(10_000 - 99);
    assertThat(bounded.mine(TENANT, SERVICE, "new one"))
        .isEqualTo(new Mined(TemplateRow.idOf("<*>"), "<*>", true));
    assertThat(bounded.mine(TENANT, SERVICE, "it is up").caught()).isFalse();
    assertThat(bounded.mine(TENANT, "quiet", "new one").caught()).isFalse();
  }

  @Test
  void mine_pastTheBytesOfAll_isCaught() {
    var bounded = new Miner(new MinerSettings(100_000, 64 << 10));

    boolean caught = false;
    for (int i = 0; i < 10_000; i++) {
      caught |=
          bounded.mine("tenant" + i % 7, SERVICE + i % 10, letters(i) + " x".repeat(100)).caught();
    }

    assertThat(bounded.bytes()).isBetween(60L << 10, 68L << 10);
    assertThat(caught).isTrue();
  }

  @Test
  void mine_longMessagesOfOneService_leaveRoomForTheOthers() {
    var bounded = new Miner(new MinerSettings(2_000, 1 << 20));

    for (int i = 0; i < 1_000; i++) {
      bounded.mine(TENANT, SERVICE, letters(i) + " x".repeat(500));
    }

    assertThat(bounded.bytes()).isLessThan(1 << 18);
    assertThat(bounded.mine(TENANT, SERVICE, "new one" + " x".repeat(500)).caught()).isTrue();
    assertThat(bounded.mine(TENANT, "quiet", "new one").caught()).isFalse();
  }

  /** Another instance has room for the general template, this one has not. */
  @Test
  void learn_generalisedElsewhereWhileFull_leavesTheTemplateAsItIs() {
    var full = new Miner(new MinerSettings(100_000, 64 << 10));
    var known = full.mine(TENANT, SERVICE, "for user a now");
    full.learn(
        TENANT,
        IntStream.range(0, 1_000).mapToObj(i -> row(letters(i) + " at first", null)).toList());
    assertThat(full.bytes()).isGreaterThanOrEqualTo(64 << 10);
    full.written(TENANT, full.unwritten(TENANT));
    for (var user : List.of("a", "b", "c", "d")) {
      miner.mine(TENANT, SERVICE, "for user " + user + " now");
    }

    boolean news = full.learn(TENANT, miner.unwritten(TENANT));

    assertThat(news).isFalse();
    assertThat(full.unwritten(TENANT)).isEmpty();
    assertThat(full.mine(TENANT, SERVICE, "for user a now")).isEqualTo(known);
  }

  @Test
  void mine_dictionaryIsAway_holdsSoManyRowsAtMost() {
    var bounded = new Miner(new MinerSettings(100, 1 << 20));

    for (int i = 0; i < 10_000; i++) {
      bounded.mine(TENANT, SERVICE + i % 1000, letters(i) + " at first");
    }

    assertThat(bounded.unwritten(TENANT)).hasSizeLessThan(210);
  }

  @Test
  void mine_caught_writesTheCatchAll() {
    var bounded = new Miner(new MinerSettings(1, 1 << 20));
    bounded.mine(TENANT, SERVICE, "one of these");

    bounded.mine(TENANT, SERVICE, "another that is not");

    assertThat(bounded.unwritten(TENANT)).contains(Miner.CATCH_ALL);
  }

  @Test
  void masks_ofAService_applyToItAlone() {
    miner.masks(List.of(new ExtraMask("plan", SERVICE, Pattern.compile("gold|silver"))));

    assertThat(mine("plan gold chosen").text()).isEqualTo("plan <*> chosen");
    assertThat(miner.mine(TENANT, "other", "plan gold chosen").text())
        .isEqualTo("plan gold chosen");
  }

  @Test
  void masks_ofAll_applyInTheirOrder() {
    miner.masks(
        List.of(
            new ExtraMask("one", null, Pattern.compile("gold")),
            new ExtraMask("two", null, Pattern.compile("plan <\\*>"))));

    assertThat(mine("the plan gold chosen").text()).isEqualTo("the <*> chosen");
  }

  @Test
  void masks_replaced_applyFromThenOn() {
    miner.masks(List.of(new ExtraMask("one", null, Pattern.compile("gold"))));
    mine("plan gold");

    miner.masks(List.of());

    assertThat(mine("plan silver").text()).isEqualTo("plan silver");
  }

  @ParameterizedTest
  @CsvSource({"(a+)+b", "(a|aa)+b", "(?:a|b)*c"})
  void masks_patternRunsWild_isGivenUpAndCounted(String pattern) {
    miner.masks(List.of(new ExtraMask("wild", null, Pattern.compile(pattern))));
    String text = "a".repeat(Mask.MAX_OUTPUT);

    assertThat(mine(text).text()).isEqualTo(text);
    assertThat(miner.givenUp()).isEqualTo(1);
  }

  @ParameterizedTest
  @CsvSource({"0, 65536", "100001, 65536", "1, 65535"})
  void new_settingsOutOfBounds_throws(int templates, long bytes) {
    assertThatIllegalArgumentException().isThrownBy(() -> new MinerSettings(templates, bytes));
  }

  private Mined mine(String masked) {
    return miner.mine(TENANT, SERVICE, masked);
  }

  private static TemplateRow row(String text, @Nullable String into) {
    return TemplateRow.of(text, into == null ? null : TemplateRow.idOf(into));
  }

  /** A word without digits for each number. */
  private static String letters(int i) {
    return i == 0 ? "q" : "q" + letters(i / 20) + (char) ('a' + i % 20);
  }

  /**
   * Which of the texts are of one template, after these runs, each of which begins with a restart.
   */
  private static Map<String, UUID> partition(List<String> texts, List<Run> runs) {
    var table = new Table();
    var handedOut = new HashMap<String, Set<UUID>>();
    for (var run : runs) {
      run.handOut(table, handedOut);
    }
    assertThat(handedOut.keySet()).isEqualTo(Set.copyOf(texts));
    return resolved(handedOut, table);
  }

  private static Map<String, UUID> resolved(Map<String, Set<UUID>> handedOut, Table table) {
    var resolved = new HashMap<String, UUID>();
    handedOut.forEach(
        (text, ids) -> {
          var ends = ids.stream().map(table::resolve).collect(toSet());
          assertThat(ends).hasSize(1);
          resolved.put(text, ends.iterator().next());
        });
    return resolved;
  }

  private record Run(List<String> texts) {
    Miner on(Table table) {
      var ids = new HashMap<String, Set<UUID>>();
      return handOut(table, ids);
    }

    Miner handOut(Table table, Map<String, Set<UUID>> ids) {
      var miner = new Miner(MinerSettings.standard());
      miner.learn(TENANT, table.read());
      for (String text : texts) {
        var mined = miner.mine(TENANT, SERVICE, text);
        ids.computeIfAbsent(text, _ -> new HashSet<>()).add(mined.id());
        table.write(miner);
      }
      return miner;
    }
  }

  /** The dictionary: the last row of an id wins. */
  private static final class Table {
    private final Map<UUID, TemplateRow> rows = new HashMap<>();

    void write(Miner miner) {
      var unwritten = miner.unwritten(TENANT);
      unwritten.forEach(row -> rows.put(row.id(), row));
      miner.written(TENANT, unwritten);
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
    return ClosureTest.texts();
  }
}
