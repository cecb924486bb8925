package dev.sluice.core.ingest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.Threads;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.extension.ExtendWith;
import org.pastalab.fray.junit.junit5.FrayTestExtension;
import org.pastalab.fray.junit.junit5.annotations.FrayTest;

/** Concurrent reservations of one budget, in many thread schedules. */
@ExtendWith(FrayTestExtension.class)
class MemoryBudgetInterleavingTest {
  private static final long LIMIT = 100;

  @FrayTest(iterations = 300, resetClassLoaderPerIteration = false)
  void reserve_concurrently_neverExceedsTheLimitAndReleasesAll() throws Exception {
    var budget = new MemoryBudget(LIMIT);
    var held = new AtomicLong();
    Runnable request =
        () -> {
          if (budget.reserve(60)) {
            assertThat(held.addAndGet(60)).isLessThanOrEqualTo(LIMIT);
            held.addAndGet(-60);
            budget.release(60);
          }
        };

    Threads.runAll(request, request, request);

    assertThat(budget.used()).isZero();
  }

  @FrayTest(iterations = 300, resetClassLoaderPerIteration = false)
  void reserve_besideARequestThatDoesNotFit_isGranted() throws Exception {
    var budget = new MemoryBudget(LIMIT);
    assertThat(budget.reserve(20)).isTrue();

    Threads.runAll(
        () -> assertThat(budget.reserve(90)).isFalse(),
        () -> assertThat(budget.reserve(50)).isTrue());

    assertThat(budget.used()).isEqualTo(70);
  }
}
