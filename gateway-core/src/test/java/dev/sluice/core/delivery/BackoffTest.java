package dev.sluice.core.delivery;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;

class BackoffTest {
  private static final Duration INITIAL = Duration.ofMillis(100);
  private static final Duration MAX = Duration.ofMillis(1_000);

  private final List<Long> millis = new ArrayList<>();

  @Test
  void pause_repeated_doublesUpToTheLimit() throws Exception {
    pauses(backoff(() -> 0L), 7);

    assertThat(millis).containsExactly(100L, 200L, 400L, 800L, 1_000L, 1_000L, 1_000L);
  }

  @Test
  void reset_afterPauses_restartsAtTheInitialDelay() throws Exception {
    var backoff = backoff(() -> 0L);
    pauses(backoff, 3);

    backoff.reset();
    pauses(backoff, 2);

    assertThat(millis).containsExactly(100L, 200L, 400L, 100L, 200L);
  }

  @Test
  void pause_maxJitter_isNeverLessThanHalf() throws Exception {
    pauses(backoff(() -> -1L), 6); // all bits set: the random double just below 1

    assertThat(millis).containsExactly(50L, 100L, 200L, 400L, 500L, 500L);
  }

  @Test
  void pause_anyJitter_staysWithinItsHalf() throws Exception {
    pauses(backoff(new SplittableRandom(7)), 1_000);

    var longest = millis.subList(4, millis.size());
    assertThat(longest).allMatch(pause -> pause >= 500 && pause <= 1_000);
    assertThat(longest).anyMatch(pause -> pause < 550).anyMatch(pause -> pause > 950);
  }

  @Test
  void new_zeroInitialDelayOrLowerMaxDelay_throws() {
    var random = new SplittableRandom(1);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new Backoff(Duration.ZERO, MAX, _ -> {}, random));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new Backoff(MAX, INITIAL, _ -> {}, random));
  }

  private Backoff backoff(RandomGenerator random) {
    return new Backoff(INITIAL, MAX, pause -> millis.add(pause.toMillis()), random);
  }

  private static void pauses(Backoff backoff, int count) throws InterruptedException {
    for (int i = 0; i < count; i++) {
      backoff.pause();
    }
  }
}
