package dev.sluice.api.protocol.legacy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.proto.logs.HealthCheckResponse;
import dev.sluice.testkit.InMemorySpool;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The number of checks of the engines, with a clock that the test moves. */
@Timeout(60)
class LegacyHealthCheckTest {
  private static final Instant NOON = Instant.parse("2026-01-02T12:00:00Z");

  private final AtomicInteger checks = new AtomicInteger();
  private final CountDownLatch released = new CountDownLatch(1);
  private volatile Instant now = NOON;
  private final LegacyHealthCheck health =
      new LegacyHealthCheck(new InMemorySpool(), this::storeUnavailable, "1.2", () -> now);

  private Optional<String> storeUnavailable() {
    int check = checks.incrementAndGet();
    try {
      released.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    return Optional.of("check " + check);
  }

  private String error() throws Exception {
    return health.check().getError();
  }

  @Test
  void check_withinCacheTtl_returnsCachedResponse() throws Exception {
    released.countDown();
    var first = health.check();

    now = NOON.plusMillis(999);

    assertThat(health.check()).isSameAs(first);
    assertThat(first.getTimestamp()).isEqualTo("2026-01-02T12:00:00Z");
  }

  @Test
  void check_afterCacheTtl_runsNewCheck() throws Exception {
    released.countDown();
    assertThat(error()).isEqualTo("logs cannot be read: check 1");

    now = NOON.plusSeconds(1);

    assertThat(error()).isEqualTo("logs cannot be read: check 2");
  }

  @Test
  void check_clockSetBack_runsNewCheck() throws Exception {
    released.countDown();
    assertThat(error()).isEqualTo("logs cannot be read: check 1");

    now = NOON.minus(Duration.ofHours(1));

    assertThat(error()).isEqualTo("logs cannot be read: check 2");
  }

  @Test
  void check_manyWhileOneIsRunning_shareItsResponse() throws Exception {
    var pending = new ArrayList<>(startChecks(10));
    await().until(() -> checks.get() == 1);
    now = NOON.plusSeconds(30);
    pending.addAll(startChecks(10));
    await().until(() -> pending.stream().allMatch(LegacyHealthCheckTest::isWaiting));

    released.countDown();

    for (var check : pending) {
      assertThat(check.response.get().getError()).isEqualTo("logs cannot be read: check 1");
    }
    assertThat(checks).hasValue(1);
  }

  @Test
  void check_initiatorCancelled_stillServesTheOthers() throws Exception {
    var cancelled = startChecks(1).getFirst();
    await().until(() -> isWaiting(cancelled));
    var other = startChecks(1).getFirst();
    await().until(() -> isWaiting(other));

    cancelled.thread.interrupt();
    await().until(cancelled.response::isDone);
    released.countDown();

    assertThat(other.response.get().getError()).isEqualTo("logs cannot be read: check 1");
    assertThat(checks).hasValue(1);
  }

  private record PendingCheck(Thread thread, FutureTask<HealthCheckResponse> response) {}

  private List<PendingCheck> startChecks(int times) {
    return IntStream.range(0, times)
        .mapToObj(
            _ -> {
              var response = new FutureTask<>(health::check);
              return new PendingCheck(Thread.ofVirtual().start(response), response);
            })
        .toList();
  }

  private static boolean isWaiting(PendingCheck check) {
    return check.thread.getState() == Thread.State.WAITING;
  }
}
