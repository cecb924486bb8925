package dev.sluice.templates.dictionary;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.templates.dictionary.Dictionary.DictionaryEntry;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import dev.sluice.templates.dictionary.SharedDictionaryCache.CacheSettings;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.openjdk.jol.info.GraphLayout;

/** The memory of a text in each tier of the dictionary cache, measured on the live objects. */
class DictionaryCacheFootprintTest {
  private static final int DAY = 20_000;

  /** JOL needs this setting to find the fields of records, such as ids. */
  static {
    System.setProperty("jol.magicFieldOffset", "true");
  }

  private static double bytes(Object root) {
    return GraphLayout.parseInstance(root).totalSize();
  }

  @Test
  void workerCache_full_takes32BytesPerEntry() {
    int capacity = CacheSettings.DEFAULT.workerEntries();
    var workerCache = new SetAssociativeCache(capacity);
    int entries = 0;
    for (long i = 0; i < capacity; i++) {
      entries += workerCache.put(spread(i, capacity), i, i, i, DAY) ? 1 : 0;
    }

    assertThat(entries).isEqualTo(capacity);
    assertThat(bytes(workerCache) / entries).isBetween(32.0, 32.01);
    assertThat(bytes(workerCache) - workerCache.bytes()).isBetween(0.0, 100.0);
  }

  @Test
  void sharedCache_full_takesAtMost40BytesPerEntry() {
    int capacity = CacheSettings.DEFAULT.sharedEntries();
    var sharedCache = new ConcurrentSetAssociativeCache(capacity);
    for (long i = 0; i < capacity; i++) {
      sharedCache.put(spread(i, capacity), i, i, i, DAY);
    }

    assertThat(sharedCache.entries()).isEqualTo(capacity);
    assertThat(bytes(sharedCache) / capacity).isBetween(32.0, 32.1);
  }

  @Test
  void sharedCache_asManyTextsAsSlots_takesAtMost40BytesPerPresentEntry() {
    int capacity = CacheSettings.DEFAULT.sharedEntries();
    var sharedCache = new ConcurrentSetAssociativeCache(capacity);
    var random = new SplittableRandom(1);
    for (int i = 0; i < capacity; i++) {
      sharedCache.put(random.nextLong(), random.nextLong(), 1, 2, DAY);
    }

    assertThat(sharedCache.entries()).isLessThan(capacity);
    assertThat(bytes(sharedCache) / sharedCache.entries()).isLessThanOrEqualTo(40);
  }

  /** The maximum is right after the array has grown. */
  @Test
  void pendingKeys_anyNumber_takeAtMost160BytesEach() {
    var pending = new PendingEntries();
    var random = new SplittableRandom(1);
    double max = 0;
    for (int i = 1; i <= 70_000; i++) {
      pending.putKey(random.nextLong(), random.nextLong(), 1, 2, DAY, true);
      if (i > 1_000 && Integer.bitCount(i - 1) == 1 || i == 65_537) {
        max = Math.max(max, bytes(pending) / i);
      }
    }

    assertThat(max).isBetween(80.0, 161.0);
  }

  @Test
  void pendingEntries_manyTexts_takeNoMoreThanReported() {
    var pending = new PendingEntries();
    var random = new SplittableRandom(1);
    for (int i = 0; i < 1_000; i++) {
      var text = "user <*> has paid order <*> of " + i;
      var id = ContentId.of(text);
      long high = id.getMostSignificantBits();
      long low = id.getLeastSignificantBits();
      pending.putKey(random.nextLong(), random.nextLong(), high, low, DAY, true);
      pending.putEntry(new DictionaryEntry("acme", EntryKind.TEMPLATE, id, text, 1, 1, null));
    }

    assertThat(bytes(pending)).isBetween(0.6 * pending.bytes(), 1.0 * pending.bytes());
  }

  /** Returns keys that fill one set after the other, for a capacity that is a power of two. */
  private static long spread(long i, int capacity) {
    return i * (Long.divideUnsigned(-1, capacity) + 1);
  }
}
