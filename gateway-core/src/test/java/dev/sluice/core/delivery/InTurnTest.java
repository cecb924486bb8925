package dev.sluice.core.delivery;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.SpoolConsumer;
import java.time.Duration;
import java.util.BitSet;
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
class InTurnTest {
  private static final LogBatch BATCH =
      new LogBatch(UUID.randomUUID(), "t", 1, new LogId(1, 1), 1, 1, new BitSet(), new byte[0]);

  private final InTurn.Turns turns = new InTurn.Turns();
  private final Source first = new Source();
  private final Source second = new Source();

  @Test
  void next_anotherGathers_waitsUntilItHasItsDelivery() throws Exception {
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var one = threads.submit(() -> next(first));
      first.asked.await();
      var other = threads.submit(() -> next(second));
      while (!turns.gathering.hasQueuedThreads()) {
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
    turns.gathering.lock();
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
    while (!turns.gathering.hasQueuedThreads()) {
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
              new InTurn(second, turns)
                  .ack(new SpoolConsumer.Delivery("x", List.of(BATCH), false), List.of()))
          .isTrue();

      first.answer.countDown();
      one.get();
    }
  }

  @Test
  void next_triedBefore_waitsUntilNoOtherIsOut() throws Exception {
    var one = new InTurn(handingOut(false), turns);
    var other = new InTurn(handingOut(true), turns);
    var out = one.poll(Duration.ZERO).orElseThrow();
    var alone = new FutureTask<>(() -> other.poll(Duration.ZERO));
    awaitWaiting(start(alone));

    one.ack(out);

    assertThat(alone.get()).isPresent();
  }

  @Test
  void next_oneTriedBeforeIsOut_waitsUntilItIsGivenUp() throws Exception {
    var one = new InTurn(handingOut(true), turns);
    var other = new InTurn(handingOut(false), turns);
    assertThat(one.poll(Duration.ZERO)).isPresent();
    var waiting = new FutureTask<>(() -> other.poll(Duration.ZERO));
    awaitWaiting(start(waiting));

    one.close();

    assertThat(waiting.get()).isPresent();
  }

  /** Nobody must wait for a delivery that is another's. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void next_takenOverWhileItWaited_isNotHandedOut(boolean again) throws Exception {
    var one = handingOut(again);
    one.kept = false;

    assertThat(new InTurn(one, turns).poll(Duration.ZERO)).isEmpty();
    assertThat(new InTurn(handingOut(true), turns).poll(Duration.ZERO)).isPresent();
  }

  @Test
  void settle_noRoomForDeadLetters_letsTheOtherGoOn() throws Exception {
    var one = handingOut(true);
    one.settles = false;
    var turn = new InTurn(one, turns);

    assertThat(turn.ack(turn.poll(Duration.ZERO).orElseThrow(), List.of())).isFalse();

    assertThat(new InTurn(handingOut(true), turns).poll(Duration.ZERO)).isPresent();
  }

  /** What is new is stored by several at once. */
  @Test
  void next_neitherTriedBefore_areOutTogether() throws Exception {
    assertThat(new InTurn(handingOut(false), turns).poll(Duration.ZERO)).isPresent();
    assertThat(new InTurn(handingOut(false), turns).poll(Duration.ZERO)).isPresent();
  }

  private static Source handingOut(boolean again) {
    var source = new Source();
    source.delivery = new SpoolConsumer.Delivery("x", List.of(BATCH), again);
    source.answer.countDown();
    return source;
  }

  private static Thread start(FutureTask<?> asking) {
    return Thread.ofPlatform().daemon().start(asking);
  }

  private static void awaitWaiting(Thread thread) {
    while (thread.getState() != Thread.State.WAITING) {
      Thread.onSpinWait();
    }
  }

  private Optional<SpoolConsumer.Delivery> next(Source source) throws InterruptedException {
    return new InTurn(source, turns).poll(Duration.ZERO);
  }

  /** Finds nothing, or its delivery, once it is told to. */
  private static final class Source implements SpoolConsumer {
    @Nullable Delivery delivery;
    boolean kept = true;
    boolean settles = true;
    final CountDownLatch asked = new CountDownLatch(1);
    final CountDownLatch answer = new CountDownLatch(1);

    @Override
    public Optional<Delivery> poll(Duration patience, Duration gather) throws InterruptedException {
      asked.countDown();
      answer.await();
      var next = Optional.ofNullable(delivery);
      delivery = null;
      return next;
    }

    @Override
    public boolean ack(Delivery delivery, List<DeadLetter> deadLetters) {
      return settles;
    }

    @Override
    public boolean renewLease(Delivery delivery) {
      return kept;
    }

    @Override
    public void flush() {}

    @Override
    public void skip(UUID appendId, String reason) {}

    @Override
    public int skippedEntries() {
      return 0;
    }

    @Override
    public void close() {}
  }
}
