package dev.sluice.api.grpc;

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

/** How often the engines are asked, with a clock that the test moves. */
@Timeout(60)
class LegacyHealthCheckTest {
  private static final Instant NOON = Instant.parse("2026-01-02T12:00:00Z");

  private final AtomicInteger checks = new AtomicInteger();
  private final CountDownLatch answered = new CountDownLatch(1);
  private volatile Instant now = NOON;
  private final LegacyHealthCheck health =
      new LegacyHealthCheck(new InMemorySpool(), this::storeUnavailable, "1.2", () -> now);

  private Optional<String> storeUnavailable() {
    int check = checks.incrementAndGet();
    try {
      answered.await();
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
    answered.countDown();
    var first = health.check();

    now = NOON.plusMillis(999);

    assertThat(health.check()).isSameAs(first);
    assertThat(first.getTimestamp()).isEqualTo("2026-01-02T12:00:00Z");
  }

  @Test
  void check_afterCacheTtl_runsNewCheck() throws Exception {
    answered.countDown();
    assertThat(error()).isEqualTo("logs cannot be read: check 1");

    now = NOON.plusSeconds(1);

    assertThat(error()).isEqualTo("logs cannot be read: check 2");
  }

  @Test
  void check_clockSetBack_runsNewCheck() throws Exception {
    answered.countDown();
    assertThat(error()).isEqualTo("logs cannot be read: check 1");

    now = NOON.minus(Duration.ofHours(1));

    assertThat(error()).isEqualTo("logs cannot be read: check 2");
  }

  @Test
  void check_manyWhileOneIsRunning_shareItsResponse() throws Exception {
    var asking = new ArrayList<>(startChecks(10));
    await().until(() -> checks.get() == 1);
    now = NOON.plusSeconds(30);
    asking.addAll(startChecks(10));
    await().until(() -> asking.stream().allMatch(LegacyHealthCheckTest::isWaiting));

    answered.countDown();

    for (var one : asking) {
      assertThat(one.response.get().getError()).isEqualTo("logs cannot be read: check 1");
    }
    assertThat(checks).hasValue(1);
  }

  @Test
  void check_initiatorCancelled_stillServesTheOthers() throws Exception {
    var gone = startChecks(1).getFirst();
    await().until(() -> isWaiting(gone));
    var stays = startChecks(1).getFirst();
    await().until(() -> isWaiting(stays));

    gone.thread.interrupt();
    await().until(gone.response::isDone);
    answered.countDown();

    assertThat(stays.response.get().getError()).isEqualTo("logs cannot be read: check 1");
    assertThat(checks).hasValue(1);
  }

  private record PendingCheck(Thread thread, FutureTask<HealthCheckResponse> response) {}

  private List<PendingCheck> startChecks(int times) {
    return IntStream.range(0, times)
        .mapToObj(
            _ -> {
              var answer = new FutureTask<>(health::check);
              return new PendingCheck(Thread.ofVirtual().start(answer), answer);
            })
        .toList();
  }

  private static boolean isWaiting(PendingCheck one) {
    return one.thread.getState() == Thread.State.WAITING;
  }
}
