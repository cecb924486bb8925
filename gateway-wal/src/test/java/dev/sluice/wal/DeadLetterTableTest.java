package dev.sluice.wal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import java.time.Instant;
import java.util.BitSet;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class DeadLetterTableTest {
  private static final int CAPACITY = 1_000;
  private static final DeadLetter LARGE = deadLetter(1_000_000);

  private final DeadLetterTable deadLetterTable = new DeadLetterTable(CAPACITY);

  @Test
  void hasCapacityFor_moreThanMaxBytes_isTrueOnlyWhenEmpty() {
    assertThat(deadLetterTable.hasCapacityFor(Collections.nCopies(500, LARGE))).isTrue();

    put(LARGE);

    assertThat(deadLetterTable.hasCapacityFor(Collections.nCopies(500, LARGE))).isFalse();
    assertThat(deadLetterTable.hasCapacityFor(List.of(LARGE))).isTrue();
  }

  @Test
  void hasCapacityFor_moreThanTheCapacity_isFalse() {
    assertThat(deadLetterTable.hasCapacityFor(Collections.nCopies(CAPACITY + 1, deadLetter(1))))
        .isFalse();
  }

  @Test
  void capacity_largeDeadLetters_isLimitedByBytes() {
    assertThat(deadLetterTable.capacity()).isEqualTo(CAPACITY);

    put(LARGE);
    int capacity = deadLetterTable.capacity();
    while (deadLetterTable.size() < capacity) {
      assertThat(deadLetterTable.hasCapacityFor(List.of(LARGE))).isTrue();
      put(LARGE);
    }

    assertThat(capacity).isLessThan(CAPACITY);
    assertThat(deadLetterTable.hasCapacityFor(List.of(LARGE))).isFalse();
    assertThat(deadLetterTable.capacity()).isEqualTo(capacity);
  }

  @Test
  void capacity_smallDeadLetters_isAsConfigured() {
    put(deadLetter(100));

    assertThat(deadLetterTable.capacity()).isEqualTo(CAPACITY);
  }

  private void put(DeadLetter deadLetter) {
    deadLetterTable.toEntries(List.of(deadLetter)).forEach(deadLetterTable::put);
  }

  private static DeadLetter deadLetter(int bytes) {
    var log =
        new LogBatch(
            new UUID(1, 2),
            "default",
            0,
            new LogId(3, 4),
            1,
            bytes,
            new BitSet(0),
            new byte[bytes]);
    return new DeadLetter(log, "too long", Instant.EPOCH);
  }
}
