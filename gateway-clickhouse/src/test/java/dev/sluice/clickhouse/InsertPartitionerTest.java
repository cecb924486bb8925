package dev.sluice.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class InsertPartitionerTest {
  private static final long DAY = 86_400L * 1_000_000_000L;

  /** Returns the indexes of the records in each insert, with one byte per record. */
  private static List<List<Integer>> inserts(long maxBytes, long... times) {
    return inserts(PartitionKey.EVENT_DAY, 0, maxBytes, times);
  }

  private static List<List<Integer>> inserts(
      PartitionKey key, long received, long maxBytes, long... times) {
    var inserts = new ArrayList<List<Integer>>();
    for (var insertPartitioner = InsertPartitioner.first(key, maxBytes);
        insertPartitioner != null;
        insertPartitioner = insertPartitioner.next()) {
      var selected = new ArrayList<Integer>();
      for (int i = 0; i < times.length; i++) {
        if (insertPartitioner.offer(times[i], received, selected.size())) {
          selected.add(i);
        }
      }
      inserts.add(selected);
    }
    return inserts;
  }

  @Test
  void offer_fewDays_acceptsEverything() {
    assertThat(inserts(100, 0, DAY - 1, DAY, 0, Long.MAX_VALUE, DAY))
        .containsExactly(List.of(0, 1, 2, 3, 4, 5));
  }

  @Test
  void offer_oneDayTooMany_leavesItsRecordsToTheNextInsert() {
    var times = new long[104];
    for (int i = 0; i < times.length; i++) {
      times[i] = i % 52 * DAY + i;
    }

    var inserts = inserts(1000, times);

    assertThat(inserts).hasSize(2);
    assertThat(inserts.get(0)).hasSize(100).doesNotContain(50, 51, 102, 103);
    assertThat(inserts.get(1)).containsExactly(50, 51, 102, 103);
  }

  @Test
  void offer_manyDaysInATableByReceiveDay_isOneInsert() {
    var times = new long[1_000];
    for (int i = 0; i < times.length; i++) {
      times[i] = i * DAY;
    }

    assertThat(inserts(PartitionKey.RECEIVE_DAY, 20_000 * DAY, 1_000, times)).hasSize(1);
  }

  @Test
  void valueOf_receiveDay_dependsOnTheReceiveDayAndOnWhetherTheEventIsFar() {
    long received = 20_000 * DAY + 5;

    assertThat(PartitionKey.RECEIVE_DAY.valueOf(received, received))
        .isEqualTo(PartitionKey.RECEIVE_DAY.valueOf(received - DAY, received))
        .isNotEqualTo(PartitionKey.RECEIVE_DAY.valueOf(received - DAY - 1, received))
        .isNotEqualTo(PartitionKey.RECEIVE_DAY.valueOf(received + DAY, received + DAY));
    assertThat(PartitionKey.RECEIVE_DAY.valueOf(0, received))
        .isEqualTo(PartitionKey.RECEIVE_DAY.valueOf(Long.MAX_VALUE, received));
  }

  @Test
  void offer_moreBytesThanAllowed_resumesInTheNextInsert() {
    assertThat(inserts(2, 1, 2, 3, 4, 5)).containsExactly(List.of(0, 1), List.of(2, 3), List.of(4));
  }
}
