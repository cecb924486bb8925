package dev.sluice.core.dictionary;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class SetAssociativeCacheTest {
  private static final int DAY = 20_000;
  private static final long ANY = 1L << 40;

  @Test
  void find_afterPut_returnsTheId() {
    var setAssociativeCache = new SetAssociativeCache(64);

    setAssociativeCache.put(ANY, 2, 3, 4, DAY);

    int at = setAssociativeCache.find(ANY, 2, DAY);
    assertThat(setAssociativeCache.high(at)).isEqualTo(3);
    assertThat(setAssociativeCache.low(at)).isEqualTo(4);
    assertThat(setAssociativeCache.find(ANY, 5, DAY)).isNegative();
    assertThat(setAssociativeCache.find(ANY + 1, 2, DAY)).isNegative();
  }

  @Test
  void find_entryOfAnEarlierDay_isExpired() {
    var setAssociativeCache = new SetAssociativeCache(64);
    setAssociativeCache.put(ANY, 2, 3, 4, DAY);

    assertThat(setAssociativeCache.find(ANY, 2, DAY + 1)).isNegative();
    assertThat(setAssociativeCache.find(ANY, 2, DAY - 1)).isNotNegative();
  }

  @Test
  void put_sameKeyForAnEarlierDay_keepsTheLaterDay() {
    var setAssociativeCache = new SetAssociativeCache(64);
    assertThat(setAssociativeCache.put(ANY, 2, 3, 4, DAY)).isTrue();

    assertThat(setAssociativeCache.put(ANY, 2, 3, 4, DAY - 1)).isFalse();

    assertThat(setAssociativeCache.find(ANY, 2, DAY)).isNotNegative();
  }

  @Test
  void put_fullSet_evictsAnEntryOfAnEarlierDayFirst() {
    var setAssociativeCache = new SetAssociativeCache(8);
    for (int i = 0; i < 8; i++) {
      setAssociativeCache.put(i, (long) i << 60, 0, i, i == 5 ? DAY - 1 : DAY);
    }

    setAssociativeCache.put(8, 0, 0, 8, DAY);

    for (int i = 0; i <= 8; i++) {
      assertThat(setAssociativeCache.find(i, i == 8 ? 0 : (long) i << 60, DAY - 1) >= 0)
          .isEqualTo(i != 5);
    }
  }

  @Test
  void put_manyMoreThanSlots_staysAtItsCapacity() {
    var setAssociativeCache = new SetAssociativeCache(1_000);
    var random = new SplittableRandom(1);
    int taken = 0;
    for (int i = 0; i < 20_000; i++) {
      taken += setAssociativeCache.put(random.nextLong(), random.nextLong(), 0, 0, DAY) ? 1 : 0;
    }

    assertThat(setAssociativeCache.capacity()).isEqualTo(1_000);
    assertThat(taken).isEqualTo(1_000);
  }
}
