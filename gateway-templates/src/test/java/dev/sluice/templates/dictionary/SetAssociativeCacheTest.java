package dev.sluice.templates.dictionary;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class SetAssociativeCacheTest {
  private static final int DAY = 20_000;
  private static final long ANY = 1L << 40;

  @Test
  void find_afterPut_returnsTheId() {
    var cache = new SetAssociativeCache(64);

    cache.put(ANY, 2, 3, 4, DAY);

    int index = cache.find(ANY, 2, DAY);
    assertThat(cache.high(index)).isEqualTo(3);
    assertThat(cache.low(index)).isEqualTo(4);
    assertThat(cache.find(ANY, 5, DAY)).isNegative();
    assertThat(cache.find(ANY + 1, 2, DAY)).isNegative();
  }

  @Test
  void find_entryOfAnEarlierDay_isExpired() {
    var cache = new SetAssociativeCache(64);
    cache.put(ANY, 2, 3, 4, DAY);

    assertThat(cache.find(ANY, 2, DAY + 1)).isNegative();
    assertThat(cache.find(ANY, 2, DAY - 1)).isNotNegative();
  }

  @Test
  void put_sameKeyForAnEarlierDay_keepsTheLaterDay() {
    var cache = new SetAssociativeCache(64);
    assertThat(cache.put(ANY, 2, 3, 4, DAY)).isTrue();

    assertThat(cache.put(ANY, 2, 3, 4, DAY - 1)).isFalse();

    assertThat(cache.find(ANY, 2, DAY)).isNotNegative();
  }

  @Test
  void put_fullSet_evictsAnEntryOfAnEarlierDayFirst() {
    var cache = new SetAssociativeCache(8);
    for (int i = 0; i < 8; i++) {
      cache.put(i, (long) i << 60, 0, i, i == 5 ? DAY - 1 : DAY);
    }

    cache.put(8, 0, 0, 8, DAY);

    for (int i = 0; i <= 8; i++) {
      assertThat(cache.find(i, i == 8 ? 0 : (long) i << 60, DAY - 1) >= 0).isEqualTo(i != 5);
    }
  }

  @Test
  void put_manyMoreThanSlots_staysAtItsCapacity() {
    var cache = new SetAssociativeCache(1_000);
    var random = new SplittableRandom(1);
    int freeSlotsUsed = 0;
    for (int i = 0; i < 20_000; i++) {
      freeSlotsUsed += cache.put(random.nextLong(), random.nextLong(), 0, 0, DAY) ? 1 : 0;
    }

    assertThat(cache.capacity()).isEqualTo(1_000);
    assertThat(freeSlotsUsed).isEqualTo(1_000);
  }
}
