package dev.sluice.core.delivery;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.Deliveries;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class InTurnTest {
  private static final LogBatch BATCH =
      new LogBatch(UUID.randomUUID(), "t", 1, new LogId(1, 1), 1, 1, new BitSet(), new byte[0]);

  private final ReentrantLock gathering = new ReentrantLock(true);
  private final Source first = new Source();
  private final Source second = new Source();

  @Test
  void next_anotherGathers_waitsUntilItHasItsDelivery() throws Exception {
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var one = threads.submit(() -> next(first));
      first.asked.await();
      var other = threads.submit(() -> next(second));
      while (!gathering.hasQueuedThreads()) {
        Thread.onSpinWait();
      }
      assertThat(second.asked.getCount()).isOne();

      first.answer.countDown();

      one.get();
      second.asked.await();
      second.answer.countDown();
      other.get();
    }
  }

  @Test
  void next_anotherGathers_canBeInterrupted() throws Exception {
    gathering.lock();
    var waiting =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    next(first);
                  } catch (InterruptedException _) {
                    // as it should
                  }
                });
    while (!gathering.hasQueuedThreads()) {
      Thread.onSpinWait();
    }

    waiting.interrupt();

    waiting.join();
    assertThat(first.asked.getCount()).isOne();
  }

  /** It is then that a second worker is worth having. */
  @Test
  void settle_anotherGathers_doesNotWait() throws Exception {
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var one = threads.submit(() -> next(first));
      first.asked.await();

      assertThat(
              new InTurn(second, gathering)
                  .settle(new Deliveries.Delivery("x", List.of(BATCH), false), List.of()))
          .isTrue();

      first.answer.countDown();
      one.get();
    }
  }

  private Optional<Deliveries.Delivery> next(Source source) throws InterruptedException {
    return new InTurn(source, gathering).next(Duration.ZERO);
  }

  /** Finds nothing, once it is told to. */
  private static final class Source implements Deliveries {
    final CountDownLatch asked = new CountDownLatch(1);
    final CountDownLatch answer = new CountDownLatch(1);

    @Override
    public Optional<Delivery> next(Duration patience, Duration gather) throws InterruptedException {
      asked.countDown();
      answer.await();
      return Optional.empty();
    }

    @Override
    public boolean settle(Delivery delivery, List<DeadLetter> deadLetters) {
      return true;
    }

    @Override
    public boolean keep(Delivery delivery) {
      return true;
    }

    @Override
    public void hurry() {}

    @Override
    public void setAside(UUID appendId, String reason) {}

    @Override
    public int unreadable() {
      return 0;
    }

    @Override
    public void close() {}
  }
}
