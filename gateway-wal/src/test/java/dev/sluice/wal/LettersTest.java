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

class LettersTest {
  private static final int CAPACITY = 1_000;
  private static final DeadLetter LARGE = letter(1_000_000);

  private final Letters letters = new Letters(CAPACITY);

  @Test
  void haveRoom_moreBytesThanAreKeptAtATime_isSoWhenThereAreNone() {
    assertThat(letters.haveRoom(Collections.nCopies(500, LARGE))).isTrue();

    keep(LARGE);

    assertThat(letters.haveRoom(Collections.nCopies(500, LARGE))).isFalse();
    assertThat(letters.haveRoom(List.of(LARGE))).isTrue();
  }

  @Test
  void haveRoom_moreThanTheCapacity_isNever() {
    assertThat(letters.haveRoom(Collections.nCopies(CAPACITY + 1, letter(1)))).isFalse();
  }

  @Test
  void capacity_largeLetters_isHowManyOfThemThereMayBe() {
    assertThat(letters.capacity()).isEqualTo(CAPACITY);

    keep(LARGE);
    int capacity = letters.capacity();
    while (letters.size() < capacity) {
      assertThat(letters.haveRoom(List.of(LARGE))).isTrue();
      keep(LARGE);
    }

    assertThat(capacity).isLessThan(CAPACITY);
    assertThat(letters.haveRoom(List.of(LARGE))).isFalse();
    assertThat(letters.capacity()).isEqualTo(capacity);
  }

  @Test
  void capacity_smallLetters_isAsConfigured() {
    keep(letter(100));

    assertThat(letters.capacity()).isEqualTo(CAPACITY);
  }

  private void keep(DeadLetter letter) {
    letters.numbered(List.of(letter)).forEach(letters::put);
  }

  private static DeadLetter letter(int bytes) {
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
