package dev.sluice.core.dictionary;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class TableTest {
  private static final int DAY = 20_000;
  private static final long ANY = 1L << 40;

  @Test
  void find_put_isWhatWasPut() {
    var table = new Table(64);

    table.put(ANY, 2, 3, 4, DAY);

    int at = table.find(ANY, 2, DAY);
    assertThat(table.high(at)).isEqualTo(3);
    assertThat(table.low(at)).isEqualTo(4);
    assertThat(table.find(ANY, 5, DAY)).isNegative();
    assertThat(table.find(ANY + 1, 2, DAY)).isNegative();
  }

  @Test
  void find_ofAnEarlierDay_isNotKnownAnyMore() {
    var table = new Table(64);
    table.put(ANY, 2, 3, 4, DAY);

    assertThat(table.find(ANY, 2, DAY + 1)).isNegative();
    assertThat(table.find(ANY, 2, DAY - 1)).isNotNegative();
  }

  @Test
  void put_sameForAnEarlierDay_staysKnownForTheLaterOne() {
    var table = new Table(64);
    assertThat(table.put(ANY, 2, 3, 4, DAY)).isTrue();

    assertThat(table.put(ANY, 2, 3, 4, DAY - 1)).isFalse();

    assertThat(table.find(ANY, 2, DAY)).isNotNegative();
  }

  @Test
  void put_fullSet_takesThePlaceOfAnEarlierDayFirst() {
    var table = new Table(8);
    for (int i = 0; i < 8; i++) {
      table.put(i, (long) i << 60, 0, i, i == 5 ? DAY - 1 : DAY);
    }

    table.put(8, 0, 0, 8, DAY);

    for (int i = 0; i <= 8; i++) {
      assertThat(table.find(i, i == 8 ? 0 : (long) i << 60, DAY - 1) >= 0).isEqualTo(i != 5);
    }
  }

  @Test
  void put_manyMoreThanPlaces_staysAtItsCapacity() {
    var table = new Table(1_000);
    var random = new SplittableRandom(1);
    int taken = 0;
    for (int i = 0; i < 20_000; i++) {
      taken += table.put(random.nextLong(), random.nextLong(), 0, 0, DAY) ? 1 : 0;
    }

    assertThat(table.capacity()).isEqualTo(1_000);
    assertThat(taken).isEqualTo(1_000);
  }
}
