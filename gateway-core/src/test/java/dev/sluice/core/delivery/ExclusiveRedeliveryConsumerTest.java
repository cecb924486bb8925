package dev.sluice.core.delivery;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.SpoolConsumer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.FutureTask;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(30)
class ExclusiveRedeliveryConsumerTest {
  private static final LogBatch BATCH =
      new LogBatch(UUID.randomUUID(), "t", 1, new LogId(1, 1), 1, 1, new byte[0]);

  private final ExclusiveRedeliveryConsumer.ShardLocks locks =
      new ExclusiveRedeliveryConsumer.ShardLocks();
  private final ScriptedConsumer first = new ScriptedConsumer();
  private final ScriptedConsumer second = new ScriptedConsumer();

  @Test
  void poll_concurrentPoll_waitsUntilItHasItsDelivery() throws Exception {
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var one = threads.submit(() -> pollFrom(first));
      first.polled.await();
      var other = threads.submit(() -> pollFrom(second));
      while (!locks.pollLock.hasQueuedThreads()) {
        Thread.onSpinWait();
      }
      assertThat(second.polled.getCount()).isOne();

      first.released.countDown();

      one.get();
      second.polled.await();
      second.released.countDown();
      other.get();
    }
  }

  @Test
  void poll_waitingForConcurrentPoll_isInterruptible() throws Exception {
    locks.pollLock.lock();
    var waiting =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    pollFrom(first);
                  } catch (InterruptedException _) {
                    // expected
                  }
                });
    while (!locks.pollLock.hasQueuedThreads()) {
      Thread.onSpinWait();
    }

    waiting.interrupt();

    waiting.join();
    assertThat(first.polled.getCount()).isOne();
  }

  /** A second worker is useful only when its ack does not wait for the poll of the first. */
  @Test
  void ack_concurrentPoll_doesNotWait() throws Exception {
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var one = threads.submit(() -> pollFrom(first));
      first.polled.await();

      new ExclusiveRedeliveryConsumer(second, locks)
          .ack(new SpoolConsumer.Delivery("x", List.of(BATCH), false));
      assertThat(second.acked).isTrue();

      first.released.countDown();
      one.get();
    }
  }

  @Test
  void poll_redelivered_waitsUntilNoOtherIsInFlight() throws Exception {
    var one = new ExclusiveRedeliveryConsumer(delivering(false), locks);
    var other = new ExclusiveRedeliveryConsumer(delivering(true), locks);
    var delivery = one.poll(Duration.ZERO, Duration.ZERO).orElseThrow();
    var exclusivePoll = new FutureTask<>(() -> other.poll(Duration.ZERO, Duration.ZERO));
    awaitWaiting(start(exclusivePoll));

    one.ack(delivery);

    assertThat(exclusivePoll.get()).isPresent();
  }

  @Test
  void poll_redeliveredInFlight_waitsUntilItIsReleased() throws Exception {
    var one = new ExclusiveRedeliveryConsumer(delivering(true), locks);
    var other = new ExclusiveRedeliveryConsumer(delivering(false), locks);
    assertThat(one.poll(Duration.ZERO, Duration.ZERO)).isPresent();
    var waiting = new FutureTask<>(() -> other.poll(Duration.ZERO, Duration.ZERO));
    awaitWaiting(start(waiting));

    one.close();

    assertThat(waiting.get()).isPresent();
  }

  /** A worker must not hold the lock for a delivery that another worker owns. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void poll_leaseLostWhileWaiting_isNotReturned(boolean redelivered) throws Exception {
    var one = delivering(redelivered);
    one.leaseHeld = false;

    assertThat(new ExclusiveRedeliveryConsumer(one, locks).poll(Duration.ZERO, Duration.ZERO))
        .isEmpty();
    assertThat(
            new ExclusiveRedeliveryConsumer(delivering(true), locks)
                .poll(Duration.ZERO, Duration.ZERO))
        .isPresent();
  }

  @Test
  void ack_spoolUnreachable_releasesTheLock() throws Exception {
    var one = delivering(true);
    one.acks = false;
    var consumer = new ExclusiveRedeliveryConsumer(one, locks);
    var delivery = consumer.poll(Duration.ZERO, Duration.ZERO).orElseThrow();

    assertThatThrownBy(() -> consumer.ack(delivery)).isInstanceOf(IllegalStateException.class);

    assertThat(
            new ExclusiveRedeliveryConsumer(delivering(true), locks)
                .poll(Duration.ZERO, Duration.ZERO))
        .isPresent();
  }

  /** Several workers store new deliveries concurrently. */
  @Test
  void poll_noneRedelivered_areInFlightConcurrently() throws Exception {
    assertThat(
            new ExclusiveRedeliveryConsumer(delivering(false), locks)
                .poll(Duration.ZERO, Duration.ZERO))
        .isPresent();
    assertThat(
            new ExclusiveRedeliveryConsumer(delivering(false), locks)
                .poll(Duration.ZERO, Duration.ZERO))
        .isPresent();
  }

  private static ScriptedConsumer delivering(boolean redelivered) {
    var scriptedConsumer = new ScriptedConsumer();
    scriptedConsumer.delivery = new SpoolConsumer.Delivery("x", List.of(BATCH), redelivered);
    scriptedConsumer.released.countDown();
    return scriptedConsumer;
  }

  private static Thread start(FutureTask<?> poll) {
    return Thread.ofPlatform().daemon().start(poll);
  }

  private static void awaitWaiting(Thread thread) {
    while (thread.getState() != Thread.State.WAITING) {
      Thread.onSpinWait();
    }
  }

  private Optional<SpoolConsumer.Delivery> pollFrom(ScriptedConsumer scriptedConsumer)
      throws InterruptedException {
    return new ExclusiveRedeliveryConsumer(scriptedConsumer, locks)
        .poll(Duration.ZERO, Duration.ZERO);
  }

  /** A consumer whose poll waits for {@link #released} and then returns its delivery, if any. */
  private static final class ScriptedConsumer implements SpoolConsumer {
    @Nullable Delivery delivery;
    boolean leaseHeld = true;
    boolean acks = true;
    volatile boolean acked;
    final CountDownLatch polled = new CountDownLatch(1);
    final CountDownLatch released = new CountDownLatch(1);

    @Override
    public Optional<Delivery> poll(Duration timeout, Duration linger) throws InterruptedException {
      polled.countDown();
      released.await();
      var next = Optional.ofNullable(delivery);
      delivery = null;
      return next;
    }

    @Override
    public void ack(Delivery delivery) {
      if (!acks) {
        throw new IllegalStateException("spool unreachable");
      }
      acked = true;
    }

    @Override
    public boolean renewLease(Delivery delivery) {
      return leaseHeld;
    }

    @Override
    public void flush() {}

    @Override
    public void skip(UUID appendId, String reason) {}

    @Override
    public void close() {}
  }
}
