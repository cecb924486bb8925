package dev.sluice.core.domain;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LogIdGeneratorTest {
  private static final long NODE = 0xFEDC_BA98_7654L;

  private final AtomicLong clock = new AtomicLong(1_756_000_000_000L);
  private final LogIdGenerator ids =
      new LogIdGenerator(() -> Instant.ofEpochMilli(clock.get()), NODE);

  @Test
  void next_first_isMillisNodeCounter() {
    assertThat(ids.next(3)).isEqualTo(id(clock.get(), 0));
    assertThat(ids.next(1)).isEqualTo(id(clock.get(), 3));
  }

  @Test
  void next_clockAdvances_resetsTheCounter() {
    ids.next(3);

    clock.incrementAndGet();

    assertThat(ids.next(1)).isEqualTo(id(clock.get(), 0));
  }

  @Test
  void next_clockStepsBack_continuesCounting() {
    long before = clock.get();
    ids.next(3);

    clock.addAndGet(-60_000);

    assertThat(ids.next(2)).isEqualTo(id(before, 3));
    assertThat(ids.next(1)).isEqualTo(id(before, 5));
  }

  @Test
  void next_counterExactlyFull_keepsTheMillisecond() {
    ids.next(Integer.MAX_VALUE);
    ids.next(Integer.MAX_VALUE);

    assertThat(ids.next(2)).isEqualTo(id(clock.get(), 0xFFFF_FFFEL));
  }

  @Test
  void next_counterOverflows_usesTheNextMillisecondAndKeepsTheNode() {
    ids.next(Integer.MAX_VALUE);
    ids.next(Integer.MAX_VALUE);

    assertThat(ids.next(3)).isEqualTo(id(clock.get() + 1, 0));
    assertThat(ids.next(1)).isEqualTo(id(clock.get() + 1, 3));
  }

  @Test
  void next_clockReachesTheUsedMillisecond_staysUnique() {
    ids.next(Integer.MAX_VALUE);
    ids.next(Integer.MAX_VALUE);
    ids.next(3);

    clock.incrementAndGet();

    assertThat(ids.next(1)).isEqualTo(id(clock.get(), 3));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, -1, Integer.MIN_VALUE})
  void next_countNotPositive_throws(int count) {
    assertThatIllegalArgumentException().isThrownBy(() -> ids.next(count));
  }

  @Test
  void next_anotherProcess_hasAnotherNode() {
    var one = new LogIdGenerator(() -> Instant.EPOCH).next(1);
    var other = new LogIdGenerator(() -> Instant.EPOCH).next(1);

    assertThat(one).isNotEqualTo(other);
  }

  @Test
  void next_concurrentCall_blocks() throws Exception {
    var other = new Thread[1];
    var states = new ArrayList<Thread.State>();
    var shared = new LogIdGenerator[1];
    InstantSource callingClock =
        () -> {
          if (other[0] == null) {
            other[0] = Thread.ofPlatform().start(() -> shared[0].next(2));
            states.add(blockedOrEnded(other[0]));
          }
          return Instant.EPOCH;
        };
    shared[0] = new LogIdGenerator(callingClock, NODE);

    shared[0].next(2);
    other[0].join();

    assertThat(states).containsExactly(Thread.State.BLOCKED);
    assertThat(shared[0].next(1)).isEqualTo(id(0, 4));
  }

  private static Thread.State blockedOrEnded(Thread thread) {
    var state = thread.getState();
    while (state != Thread.State.BLOCKED && state != Thread.State.TERMINATED) {
      Thread.onSpinWait();
      state = thread.getState();
    }
    return state;
  }

  @Test
  void next_manyThreadsAndAnUnsteadyClock_isUniqueAndIncreasesInEach() throws Exception {
    int threads = 4;
    int each = 10_000;
    List<List<LogId>> runs = new ArrayList<>();
    try (var pool = Executors.newFixedThreadPool(threads)) {
      Callable<List<LogId>> run =
          () -> {
            var threadIds = new ArrayList<LogId>();
            for (int i = 0; i < each; i++) {
              clock.addAndGet(i % 3 - 1);
              threadIds.add(ids.next(2));
            }
            return threadIds;
          };
      for (var future : pool.invokeAll(Collections.nCopies(threads, run))) {
        runs.add(future.get());
      }
    }

    assertThat(runs).allSatisfy(run -> assertThat(run).isSorted());
    var unique = new HashSet<LogId>();
    runs.stream().flatMap(List::stream).forEach(id -> unique.addAll(List.of(id, id.plus(1))));
    assertThat(unique).hasSize(2 * threads * each);
  }

  private static LogId id(long millis, long counter) {
    return new LogId(millis << 16 | NODE >>> 32, NODE << 32 | counter);
  }
}
