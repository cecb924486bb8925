package dev.sluice.core.dictionary;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import dev.sluice.core.dictionary.TextCache.Settings;
import dev.sluice.core.port.Dictionary.DictionaryEntry;
import dev.sluice.core.port.Dictionary.EntryKind;
import dev.sluice.core.port.Dictionary.WriteResult.Retryable;
import dev.sluice.core.port.Dictionary.WriteResult.Written;
import java.lang.management.ManagementFactory;
import java.util.HashSet;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class TextLookupTest {
  private static final long DAY = 86_400_000_000_000L;
  private static final long NOON = 20_000 * DAY + DAY / 2;
  private static final Settings SETTINGS = new Settings(64, 1_024);

  private final HandDictionary dictionary = new HandDictionary();
  private final TextCache cache = new TextCache(SETTINGS, dictionary);
  private final TextLookup lookup = lookup(cache);

  @Test
  void identify_newText_isItsMd5AndWritten() throws Exception {
    identify(lookup, "select 1");

    assertThat(id(lookup)).isEqualTo(TextId.of("select 1"));
    assertThat(dictionary.writes()).isEmpty();
    assertThat(lookup.write()).isEqualTo(new Written());
    assertThat(dictionary.writes())
        .containsExactly(
            new DictionaryEntry(
                "acme", EntryKind.TEXT, TextId.of("select 1"), "select 1", NOON, NOON, null));
  }

  @Test
  void identify_sameTextInOneDelivery_isDigestedAndWrittenOnce() throws Exception {
    for (int i = 0; i < 100; i++) {
      identify(lookup, "select 1");
      assertThat(id(lookup)).isEqualTo(TextId.of("select 1"));
    }
    lookup.write();

    assertThat(dictionary.writes()).hasSize(1);
    assertThat(cache.tally().digests()).isEqualTo(1);
    assertThat(cache.tally().fresh()).isEqualTo(99);
  }

  @Test
  void find_beforeTheWrite_isKnownToNobodyElse() throws Exception {
    var other = lookup(cache);
    identify(lookup, "select 1");

    assertThat(find(other, "select 1")).isFalse();
    lookup.write();
    assertThat(find(other, "select 1")).isTrue();
    assertThat(id(other)).isEqualTo(TextId.of("select 1"));
  }

  @Test
  void write_failed_leavesTheTextUnknownAndIsTriedWithTheNext() throws Exception {
    dictionary.failing(true);
    identify(lookup, "select 1");

    assertThat(lookup.write()).isInstanceOf(Retryable.class);
    assertThat(find(lookup, "select 1")).isFalse();
    assertThat(find(lookup(cache), "select 1")).isFalse();

    dictionary.failing(false);
    identify(lookup, "select 1");
    assertThat(lookup.write()).isEqualTo(new Written());
    assertThat(dictionary.has("acme", TextId.of("select 1"))).isTrue();
    assertThat(cache.tally().failed()).isEqualTo(1);
    assertThat(cache.tally().written()).isEqualTo(1);
  }

  @Test
  void learnForNow_afterTheWrite_isUnknownAgain() throws Exception {
    assertThat(find(lookup, "select 1")).isFalse();
    lookup.learnForNow(TextId.of("a statement"), "a statement");

    assertThat(find(lookup, "select 1")).isTrue();
    assertThat(lookup.write()).isEqualTo(new Written());

    assertThat(dictionary.has("acme", TextId.of("a statement"))).isTrue();
    assertThat(find(lookup, "select 1")).isFalse();
  }

  @Test
  void identify_nextDay_isWrittenOnceMoreAndTheDayAfterToo() throws Exception {
    for (int day = 0; day < 3; day++) {
      for (int i = 0; i < 5; i++) {
        lookup.at(NOON + day * DAY + i);
        identify(lookup, "select 1");
        lookup.write();
      }
    }

    assertThat(dictionary.writes()).hasSize(3);
    assertThat(dictionary.entries())
        .containsExactly(
            new DictionaryEntry(
                "acme",
                EntryKind.TEXT,
                TextId.of("select 1"),
                "select 1",
                NOON,
                NOON + 2 * DAY,
                null));
  }

  @Test
  void identify_midnightWithinADelivery_isWrittenForTheLaterDay() throws Exception {
    identify(lookup, "select 1");
    lookup.at(NOON + DAY);
    identify(lookup, "select 1");
    lookup.write();

    identify(lookup, "select 1");
    lookup.write();

    assertThat(dictionary.writes()).hasSize(1);
    assertThat(dictionary.writes().getFirst().firstSeenNanos()).isEqualTo(NOON);
    assertThat(dictionary.writes().getFirst().lastSeenNanos()).isEqualTo(NOON + DAY);
  }

  @Test
  void identify_logsOfYesterdayAmongThoseOfToday_areNotWrittenAgain() throws Exception {
    lookup.at(NOON + DAY);
    identify(lookup, "select 1");
    lookup.write();

    lookup.at(NOON);
    identify(lookup, "select 1");
    lookup.write();

    assertThat(dictionary.writes()).hasSize(1);
  }

  @Test
  void identify_forgedKey_isTwoTextsInTwoEntries() throws Exception {
    var secret = Secret.random();
    var forged = lookup(new TextCache(SETTINGS, dictionary, secret, (_, _, _) -> 42));
    var texts = IntStream.range(0, 6).mapToObj(i -> "x".repeat(i * 100) + i).toList();

    for (int round = 0; round < 3; round++) {
      for (var text : texts) {
        identify(forged, text);
        assertThat(id(forged)).isEqualTo(TextId.of(text));
      }
      forged.write();
    }

    assertThat(dictionary.writes())
        .extracting(DictionaryEntry::text)
        .containsExactlyElementsOf(texts);
  }

  @Test
  void find_sameBytesInAnotherScope_isUnknown() throws Exception {
    var bytes = "user <*> is gone".getBytes(UTF_8);
    var here = scope(lookup, EntryKind.TEMPLATE, "acme", "shop");
    lookup.find(here, bytes, 0, bytes.length);
    lookup.learn(TextId.of("user <*>"), "user <*>");
    lookup.write();

    for (var there :
        List.of(
            scope(lookup, EntryKind.TEXT, "acme", "shop"),
            scope(lookup, EntryKind.TEMPLATE, "other", "shop"),
            scope(lookup, EntryKind.TEMPLATE, "acme", "shops"),
            scope(lookup, EntryKind.TEMPLATE, "acmes", "hop"))) {
      assertThat(lookup.find(there, bytes, 0, bytes.length)).isFalse();
    }
    assertThat(
            lookup.find(scope(lookup, EntryKind.TEMPLATE, "acme", "shop"), bytes, 0, bytes.length))
        .isTrue();
    assertThat(id(lookup)).isEqualTo(TextId.of("user <*>"));
  }

  @Test
  void learn_manyShapesOfOneTemplate_isOneEntry() throws Exception {
    var template = TextId.of("user <*>");
    for (int i = 0; i < 10; i++) {
      assertThat(find(lookup, "shape " + i)).isFalse();
      lookup.learn(template, "user <*>");
      assertThat(id(lookup)).isEqualTo(template);
    }
    lookup.write();

    assertThat(dictionary.writes()).hasSize(1);
    assertThat(find(lookup, "shape 7")).isTrue();
    assertThat(id(lookup)).isEqualTo(template);
  }

  @Test
  void learn_nothingMissed_isRefused() throws Exception {
    assertThatThrownBy(() -> lookup.learn(TextId.of("a"), "a"))
        .isInstanceOf(IllegalStateException.class);

    identify(lookup, "a");
    lookup.write();
    assertThat(find(lookup, "b")).isFalse();
    assertThat(find(lookup, "a")).isTrue();
    assertThatThrownBy(() -> lookup.learn(TextId.of("b"), "b"))
        .isInstanceOf(IllegalStateException.class);
  }

  @Test
  void add_linkOfATemplate_isWrittenWithTheOthers() throws Exception {
    var link =
        new DictionaryEntry(
            "acme", EntryKind.TEMPLATE, TextId.of("a b"), "a b", 1, 1, TextId.of("a <*>"));

    lookup.add(link);
    lookup.write();

    assertThat(dictionary.writes()).containsExactly(link);
  }

  @Test
  void full_muchThatIsNew_isTrueUntilItIsWritten() throws Exception {
    for (int i = 0; i < 32; i++) {
      assertThat(lookup.full()).isFalse();
      identify(lookup, i + "x".repeat(1 << 20));
    }

    assertThat(lookup.full()).isTrue();
    lookup.write();
    assertThat(lookup.full()).isFalse();
  }

  @Test
  void identifyRepeated_secondTime_isWritten() throws Exception {
    assertThat(repeated("a", 0, 1)).isFalse();
    assertThat(repeated("b", 10, 1)).isFalse();
    assertThat(repeated("a", 20, 1)).isTrue();
    assertThat(id(lookup)).isEqualTo(TextId.of("a"));
    lookup.write();

    assertThat(dictionary.writes()).extracting(DictionaryEntry::text).containsExactly("a");
    assertThat(repeated("a", 0, 2)).isTrue();
    assertThat(repeated("b", 10, 2)).isTrue();
  }

  /** A log that is tried again is no other log. */
  @Test
  void identifyRepeated_sameOffsetOfTheSameBatch_isNoRepetition() throws Exception {
    for (int i = 0; i < 3; i++) {
      assertThat(repeated("a", 7, 1)).isFalse();
      lookup.write();
    }

    assertThat(repeated("a", 7, 2)).isTrue();
  }

  @Test
  void identifyRepeated_nextDay_isWrittenOnceMore() throws Exception {
    repeated("a", 0, 1);
    repeated("a", 1, 1);
    lookup.write();
    lookup.at(NOON + DAY);

    assertThat(repeated("a", 0, 2)).isTrue();
    lookup.write();

    assertThat(dictionary.writes())
        .extracting(DictionaryEntry::lastSeenNanos)
        .containsExactly(NOON, NOON + DAY);
  }

  @Test
  void identifyRepeated_tooMuchWaits_isNotIdentifiedUntilItIsWritten() throws Exception {
    repeated("a", 0, 1);
    identify(lookup, "x".repeat(32 << 20));

    assertThat(repeated("a", 1, 1)).isFalse();
    lookup.write();
    assertThat(repeated("a", 1, 1)).isTrue();
  }

  private boolean repeated(String text, int offset, long batch) {
    var bytes = (" ".repeat(offset) + text).getBytes(UTF_8);
    return lookup.identifyRepeated(
        scope(lookup, EntryKind.TEXT, "acme", ""), bytes, offset, bytes.length - offset, batch);
  }

  @Test
  void tally_eachBarrier_isCounted() throws Exception {
    identify(lookup, "a"); // unknown
    identify(lookup, "a"); // fresh
    lookup.write();
    identify(lookup, "a"); // near
    var other = lookup(cache);
    identify(other, "a"); // shared
    identify(other, "a"); // near
    lookup.write();
    other.write();

    assertThat(cache.tally())
        .isEqualTo(
            new TextCache.Tally(
                2, 1, 1, 1, 1, 1, 0, 1, SETTINGS.shared(), 32L * SETTINGS.shared()));
  }

  @Test
  void find_known_allocatesNothing() throws Exception {
    var small = text(70);
    var large = text(5_000);
    var scope = scope(lookup, EntryKind.TEXT, "acme", "shop");
    lookup.identify(scope, small, 0, small.length);
    lookup.identify(scope, large, 0, large.length);
    lookup.write();
    var heap = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    findAll(small, large, 20_000);

    long before = heap.getCurrentThreadAllocatedBytes();
    findAll(small, large, 20_000);

    // what the measuring and a compilation may take, far from a byte for each look-up
    assertThat(heap.getCurrentThreadAllocatedBytes() - before).isLessThan(10_000);
  }

  private void findAll(byte[] small, byte[] large, int times) {
    var service = "shop".getBytes(UTF_8);
    for (int i = 0; i < times; i++) {
      var scope = lookup.scope(EntryKind.TEXT, "acme", service, 0, service.length);
      if (!lookup.find(scope, small, 0, small.length)
          || !lookup.find(scope, large, 0, large.length)) {
        throw new AssertionError("not known");
      }
    }
  }

  /** However small the tables are, whatever fails and whenever it is midnight. */
  @Property(tries = 200)
  void identify_anyCapacity_isTheMd5AndEveryTextThatWasToldIsWritten(
      @ForAll @IntRange(min = 8, max = 40) int near,
      @ForAll @IntRange(min = 8, max = 200) int shared,
      @ForAll @IntRange(min = 1, max = 300) int texts,
      @ForAll long seed)
      throws Exception {
    var dictionary = new HandDictionary();
    var cache = new TextCache(new Settings(near, shared), dictionary);
    var lookups = List.of(lookup(cache), lookup(cache));
    var random = new SplittableRandom(seed);
    long now = NOON;
    var safe = new HashSet<String>();
    for (int delivery = 0; delivery < 40; delivery++) {
      var lookup = lookups.get(random.nextInt(2));
      var told = new HashSet<String>();
      for (int i = random.nextInt(30); i > 0; i--) {
        lookup.at(now += random.nextLong(DAY / 200));
        var text = "text " + random.nextInt(texts);
        identify(lookup, text);
        assertThat(id(lookup)).isEqualTo(TextId.of(text));
        told.add(text);
      }
      dictionary.failing(random.nextInt(4) == 0);
      if (lookup.write() instanceof Written) {
        safe.addAll(told);
      }
    }

    assertThat(dictionary.entries()).extracting(DictionaryEntry::text).containsAll(safe);
    for (var entry : dictionary.entries()) {
      assertThat(entry.id()).isEqualTo(TextId.of(entry.text()));
    }
  }

  @Test
  @Timeout(60)
  void identify_manyWorkersAtOnce_tellTheMd5OfWhatIsWritten() throws Exception {
    int workers = 4;
    var crowded = new TextCache(new Settings(8, 64), dictionary);
    var start = new CountDownLatch(workers);
    Callable<Void> work =
        () -> {
          var mine = lookup(crowded);
          var random = new SplittableRandom();
          start.countDown();
          start.await();
          for (int i = 0; i < 5_000; i++) {
            var text = "text " + random.nextInt(200);
            if (find(mine, text)) {
              assertThat(id(mine)).isEqualTo(TextId.of(text));
              assertThat(dictionary.has("acme", TextId.of(text))).isTrue();
            } else {
              identify(mine, text);
              mine.write();
            }
          }
          return null;
        };

    try (var threads = Executors.newFixedThreadPool(workers)) {
      for (var done : threads.invokeAll(IntStream.range(0, workers).mapToObj(_ -> work).toList())) {
        await(done);
      }
    }

    assertThat(dictionary.entries()).hasSize(200);
  }

  private static void await(Future<Void> done) throws Exception {
    try {
      done.get();
    } catch (ExecutionException e) {
      throw new AssertionError(e.getCause());
    }
  }

  private static TextLookup lookup(TextCache cache) {
    var lookup = cache.lookup();
    lookup.at(NOON);
    return lookup;
  }

  private static Scope scope(TextLookup lookup, EntryKind kind, String tenant, String service) {
    var bytes = service.getBytes(UTF_8);
    return lookup.scope(kind, tenant, bytes, 0, bytes.length);
  }

  private static void identify(TextLookup lookup, String text) {
    var bytes = text.getBytes(UTF_8);
    lookup.identify(scope(lookup, EntryKind.TEXT, "acme", ""), bytes, 0, bytes.length);
  }

  private static boolean find(TextLookup lookup, String text) {
    var bytes = text.getBytes(UTF_8);
    return lookup.find(scope(lookup, EntryKind.TEXT, "acme", ""), bytes, 0, bytes.length);
  }

  private static UUID id(TextLookup lookup) {
    return new UUID(lookup.idHigh(), lookup.idLow());
  }

  private static byte[] text(int length) {
    var bytes = new byte[length];
    for (int i = 0; i < length; i++) {
      bytes[i] = (byte) ('a' + i % 26);
    }
    return bytes;
  }
}
