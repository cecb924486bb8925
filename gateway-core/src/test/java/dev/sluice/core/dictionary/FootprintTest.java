package dev.sluice.core.dictionary;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.dictionary.TextCache.Settings;
import dev.sluice.core.port.Dictionary.DictionaryEntry;
import dev.sluice.core.port.Dictionary.EntryKind;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.openjdk.jol.info.GraphLayout;

/** What a text costs in memory at each barrier, measured on the objects that there are. */
class FootprintTest {
  private static final int DAY = 20_000;

  /** Identities are records, whose fields JOL finds only in this way. */
  static {
    System.setProperty("jol.magicFieldOffset", "true");
  }

  private static double bytes(Object root) {
    return GraphLayout.parseInstance(root).totalSize();
  }

  @Test
  void near_full_is32BytesForEachText() {
    int capacity = Settings.DEFAULT.near();
    var near = new Table(capacity);
    int entries = 0;
    for (long i = 0; i < capacity; i++) {
      entries += near.put(spread(i, capacity), i, i, i, DAY) ? 1 : 0;
    }

    assertThat(entries).isEqualTo(capacity);
    assertThat(bytes(near) / entries).isBetween(32.0, 32.01);
    assertThat(bytes(near) - near.bytes()).isBetween(0.0, 100.0);
  }

  @Test
  void shared_full_isAtMost40BytesForEachText() {
    int capacity = Settings.DEFAULT.shared();
    var known = new KnownTexts(capacity);
    for (long i = 0; i < capacity; i++) {
      known.put(spread(i, capacity), i, i, i, DAY);
    }

    assertThat(known.entries()).isEqualTo(capacity);
    assertThat(bytes(known) / capacity).isBetween(32.0, 32.1);
  }

  @Test
  void shared_asManyTextsAsPlaces_isAtMost40BytesForEachThatIsThere() {
    int capacity = Settings.DEFAULT.shared();
    var known = new KnownTexts(capacity);
    var random = new SplittableRandom(1);
    for (int i = 0; i < capacity; i++) {
      known.put(random.nextLong(), random.nextLong(), 1, 2, DAY);
    }

    assertThat(known.entries()).isLessThan(capacity);
    assertThat(bytes(known) / known.entries()).isLessThanOrEqualTo(40);
  }

  /** The worst is a moment after the array has grown. */
  @Test
  void freshKeys_anyNumber_areAtMost160BytesEach() {
    var fresh = new Fresh();
    var random = new SplittableRandom(1);
    double worst = 0;
    for (int i = 1; i <= 70_000; i++) {
      fresh.key(random.nextLong(), random.nextLong(), 1, 2, DAY, true);
      if (i > 1_000 && Integer.bitCount(i - 1) == 1 || i == 65_537) {
        worst = Math.max(worst, bytes(fresh) / i);
      }
    }

    assertThat(worst).isBetween(80.0, 161.0);
  }

  @Test
  void freshEntries_manyTexts_takeNoMoreThanIsCounted() {
    var fresh = new Fresh();
    var random = new SplittableRandom(1);
    for (int i = 0; i < 1_000; i++) {
      var text = "user <*> has paid order <*> of " + i;
      var id = TextId.of(text);
      long high = id.getMostSignificantBits();
      long low = id.getLeastSignificantBits();
      fresh.key(random.nextLong(), random.nextLong(), high, low, DAY, true);
      fresh.entry(new DictionaryEntry("acme", EntryKind.TEMPLATE, id, text, 1, 1, null));
    }

    assertThat(bytes(fresh)).isBetween(0.6 * fresh.bytes(), 1.0 * fresh.bytes());
  }

  /** Keys that fill one set after the other, of a capacity that is a power of two. */
  private static long spread(long i, int capacity) {
    return i * (Long.divideUnsigned(-1, capacity) + 1);
  }
}
