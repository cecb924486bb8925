package dev.sluice.core.read;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class RecentlyTest {
  private static final long SECOND = 1_000_000_000L;

  private final AtomicLong nanos = new AtomicLong(-5 * SECOND);
  private final AtomicInteger found = new AtomicInteger();
  private long takes;

  private final List<Runnable> background = new ArrayList<>();

  private final Recently<String, Integer> recently =
      new Recently<>(
          Duration.ofSeconds(1),
          nanos::get,
          background::add,
          _ -> {
            nanos.addAndGet(takes);
            return found.incrementAndGet();
          });

  @Test
  void get_withinItsAge_isNotFoundOutAgain() throws Exception {
    assertThat(recently.get("a")).isEqualTo(1);
    nanos.addAndGet(SECOND - 1);
    assertThat(recently.get("a")).isEqualTo(1);
    assertThat(recently.get("b")).isEqualTo(2);
    assertThat(background).isEmpty();
  }

  @Test
  void get_afterItsAge_isFoundOutAgainByAnotherThreadOnce() throws Exception {
    recently.get("a");
    nanos.addAndGet(SECOND);

    assertThat(recently.get("a")).isEqualTo(1);
    assertThat(recently.get("a")).isEqualTo(1);
    assertThat(background).hasSize(1);

    background.removeFirst().run();
    assertThat(recently.get("a")).isEqualTo(2);
    assertThat(background).isEmpty();

    nanos.addAndGet(SECOND);
    recently.get("a");
    assertThat(background).as("and again").hasSize(1);
  }

  @Test
  void get_afterTwiceItsAge_isWaitedFor() throws Exception {
    recently.get("a");
    nanos.addAndGet(2 * SECOND);

    assertThat(recently.get("a")).isEqualTo(2);
    assertThat(background).isEmpty();
  }

  @Test
  void get_whatIsSlowToFindOut_isKeptTwentyTimesAsLong() throws Exception {
    takes = SECOND;
    assertThat(recently.get("a")).isEqualTo(1);
    nanos.addAndGet(20 * SECOND - 1);
    assertThat(recently.get("a")).isEqualTo(1);
    assertThat(background).isEmpty();
    nanos.addAndGet(20 * SECOND + 1);
    assertThat(recently.get("a")).isEqualTo(2);
  }

  @Test
  void get_cannotBeFoundOutBehindTheBack_isThrownOnceSomebodyWaits() throws Exception {
    var failing =
        new Recently<String, Integer>(
            Duration.ofSeconds(1),
            nanos::get,
            background::add,
            _ -> {
              if (found.incrementAndGet() > 1) {
                throw new IllegalStateException("no more");
              }
              return found.get();
            });
    failing.get("a");
    nanos.addAndGet(SECOND);
    failing.get("a");
    background.removeFirst().run();

    assertThat(failing.get("a")).isEqualTo(1);
    assertThat(background).as("tried again").hasSize(1);
    nanos.addAndGet(SECOND);
    assertThatThrownBy(() -> failing.get("a")).hasMessage("no more");
  }

  @Test
  void get_cannotBeFoundOut_isNotKept() throws Exception {
    var failing =
        new Recently<String, Integer>(
            Duration.ofSeconds(1),
            nanos::get,
            _ -> {
              if (found.incrementAndGet() == 1) {
                throw new IllegalStateException("not now");
              }
              return found.get();
            });

    assertThatThrownBy(() -> failing.get("a")).hasMessage("not now");
    assertThat(failing.get("a")).isEqualTo(2);
  }
}
