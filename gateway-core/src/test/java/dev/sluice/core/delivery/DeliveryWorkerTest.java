package dev.sluice.core.delivery;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.Deliveries;
import dev.sluice.core.port.DeliveryMeter;
import dev.sluice.core.port.LogStore;
import dev.sluice.core.port.LogStore.Outcome;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayDeque;
import java.util.BitSet;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(10)
class DeliveryWorkerTest {
  private static final Duration LONG = Duration.ofHours(1);
  private static final Instant NOW = Instant.parse("2026-08-24T10:00:00.000000009Z");

  /** Everything that happens, in its order, whoever does it. */
  private final BlockingQueue<String> events = new LinkedBlockingQueue<>();

  private final WaitingDeliveries deliveries = new WaitingDeliveries();
  private final ScriptedStore store = new ScriptedStore();
  private final Backoff backoff =
      new Backoff(
          Duration.ofMillis(100),
          Duration.ofMillis(400),
          p -> note("pause " + p.toMillis()),
          () -> 0L);
  private final DeliveryWorker worker =
      DeliveryWorker.start("test", deliveries, store, new NotingMeter(), backoff, () -> NOW);

  private void note(String event) {
    events.add(event);
  }

  @AfterEach
  void end() {
    worker.close();
  }

  @Test
  void deliver_storeConfirms_settlesAfterwardsAndCounts() throws Exception {
    deliveries.offer("1-0", 3, 2);

    assertThat(next(3)).containsExactly("store 1-0", "settle 1-0", "stored 5 logs 2 batches PT9S");
  }

  @Test
  void deliver_several_goInTheirOrder() throws Exception {
    deliveries.offer("1-0", 1);
    deliveries.offer("2-0", 1);

    assertThat(next(6))
        .filteredOn(event -> event.startsWith("s") && !event.startsWith("stored"))
        .containsExactly("store 1-0", "settle 1-0", "store 2-0", "settle 2-0");
  }

  @Test
  void deliver_storeAsksToWait_handsOutTheSameAfterAGrowingPause() throws Exception {
    for (int i = 0; i < 4; i++) {
      store.then(() -> new Outcome.TryLater("too many parts"));
    }
    deliveries.offer("1-0", 1);

    assertThat(next(15))
        .containsExactly(
            "store 1-0",
            "postponed too many parts",
            "pause 100",
            "store 1-0",
            "postponed too many parts",
            "pause 200",
            "store 1-0",
            "postponed too many parts",
            "pause 400",
            "store 1-0",
            "postponed too many parts",
            "pause 400",
            "store 1-0",
            "settle 1-0",
            "stored 1 logs 1 batches PT9S");
  }

  @Test
  void deliver_aSuccessBetweenFailures_startsThePausesAnew() throws Exception {
    store.then(() -> new Outcome.TryLater("busy"));
    store.then(() -> new Outcome.TryLater("busy"));
    store.then(Outcome.Stored::new);
    store.then(() -> new Outcome.TryLater("busy"));
    deliveries.offer("1-0", 1);
    deliveries.offer("2-0", 1);

    assertThat(next(15))
        .filteredOn(event -> event.startsWith("pause"))
        .containsExactly("pause 100", "pause 200", "pause 100");
  }

  @Test
  void deliver_storeThrows_isHandedOutAgain() throws Exception {
    store.then(
        () -> {
          throw new IllegalStateException("connection reset");
        });
    deliveries.offer("1-0", 1);

    assertThat(next(5))
        .containsExactly(
            "store 1-0",
            "postponed java.lang.IllegalStateException: connection reset",
            "pause 100",
            "store 1-0",
            "settle 1-0");
  }

  @Test
  void deliver_storeRefuses_staysInTheSpoolAndIsCountedAsRefused() throws Exception {
    store.then(() -> new Outcome.Refused("unknown column"));
    deliveries.offer("1-0", 1);

    assertThat(next(5))
        .containsExactly("store 1-0", "refused", "pause 100", "store 1-0", "settle 1-0");
  }

  @Test
  void deliver_settlingFails_storesAgainUnderTheSameToken() throws Exception {
    deliveries.failToSettle();
    deliveries.offer("1-0", 1);

    assertThat(next(7))
        .containsExactly(
            "store 1-0",
            "settle 1-0",
            "postponed java.lang.IllegalStateException: cannot settle",
            "pause 100",
            "store 1-0",
            "settle 1-0",
            "stored 1 logs 1 batches PT9S");
  }

  @Test
  void next_spoolOutOfReach_asksAgainAfterAPause() throws Exception {
    deliveries.failNext();
    deliveries.offer("1-0", 1);

    assertThat(next(3))
        .containsExactly(
            "postponed java.lang.IllegalStateException: spool away", "pause 100", "store 1-0");
  }

  @Test
  void drain_somethingWaits_deliversItAndEnds() {
    store.hold();
    for (int i = 1; i <= 20; i++) {
      deliveries.offer(i + "-0", 1);
    }

    worker.drain();
    store.release();

    assertThat(worker.end(LONG)).isTrue();
    assertThat(worker.alive()).isFalse();
    assertThat(deliveries.waiting()).isZero();
    assertThat(events).filteredOn(event -> event.startsWith("settle")).hasSize(20);
  }

  @Test
  void end_nothingWaits_endsInTime() {
    assertThat(worker.alive()).isTrue();

    assertThat(worker.end(LONG)).isTrue();

    assertThat(worker.alive()).isFalse();
  }

  @Test
  void end_storeHangs_interruptsAndLeavesItUnsettled() throws Exception {
    store.then(
        () -> {
          new CountDownLatch(1).await(); // hangs
          return new Outcome.Stored();
        });
    deliveries.offer("1-0", 1);
    assertThat(next(1)).containsExactly("store 1-0");

    assertThat(worker.end(Duration.ZERO)).isFalse();

    assertThat(worker.alive()).isFalse();
    assertThat(deliveries.waiting()).isEqualTo(1);
    assertThat(events).isEmpty();
  }

  /** What clients of databases do: the interrupt becomes one more failed request. */
  @Test
  void end_storeSwallowsTheInterrupt_endsNevertheless() throws Exception {
    for (int i = 0; i < 3; i++) {
      store.then(
          () -> {
            try {
              new CountDownLatch(1).await(); // hangs
            } catch (InterruptedException e) {
              throw new IllegalStateException("request failed", e);
            }
            return new Outcome.Stored();
          });
    }
    deliveries.offer("1-0", 1);
    assertThat(next(1)).containsExactly("store 1-0");

    assertThat(worker.end(Duration.ZERO)).isFalse();

    assertThat(worker.alive()).isFalse();
    assertThat(deliveries.waiting()).isEqualTo(1);
  }

  @Test
  void end_again_doesNotForgetThatSomethingWasLeft() throws Exception {
    store.then(
        () -> {
          new CountDownLatch(1).await(); // hangs
          return new Outcome.Stored();
        });
    deliveries.offer("1-0", 1);
    assertThat(next(1)).containsExactly("store 1-0");
    worker.end(Duration.ZERO);

    assertThat(worker.end(LONG)).isFalse();
  }

  @Test
  void end_callerIsInterrupted_interruptsTheWorkerAndRestoresTheFlag() throws Exception {
    store.hold();
    deliveries.offer("1-0", 1);
    assertThat(next(1)).containsExactly("store 1-0");
    Thread.currentThread().interrupt();

    boolean drained = worker.end(LONG);

    assertThat(Thread.interrupted()).isTrue();
    assertThat(drained).isFalse();
  }

  @Test
  void deliver_anError_isHandedOutAgainToo() throws Exception {
    store.then(
        () -> {
          throw new OutOfMemoryError("thrown by the test");
        });
    deliveries.offer("1-0", 1);

    assertThat(next(5))
        .containsExactly(
            "store 1-0",
            "postponed java.lang.OutOfMemoryError: thrown by the test",
            "pause 100",
            "store 1-0",
            "settle 1-0");
    assertThat(worker.alive()).isTrue();
  }

  @Test
  void close_always_closesTheDeliveriesAfterTheWorkerEnded() throws Exception {
    worker.close();

    assertThat(events).containsExactly("closed");
    assertThat(worker.alive()).isFalse();
  }

  private List<String> next(int count) throws InterruptedException {
    var seen = new java.util.ArrayList<String>();
    while (seen.size() < count) {
      var event = events.poll(5, TimeUnit.SECONDS);
      if (event == null) {
        throw new AssertionError("only " + seen);
      }
      seen.add(event);
    }
    return seen;
  }

  /** Hands out the oldest until it is settled, as a real spool does. */
  private final class WaitingDeliveries implements Deliveries {
    private final Deque<Delivery> waiting = new ArrayDeque<>();
    private boolean nextFails;
    private boolean settleFails;

    synchronized void offer(String token, int... records) {
      var batches = new java.util.ArrayList<LogBatch>();
      for (int count : records) {
        batches.add(batch(count, batches.size()));
      }
      waiting.add(new Delivery(token, batches, false));
      notifyAll();
    }

    synchronized void failNext() {
      nextFails = true;
    }

    synchronized void failToSettle() {
      settleFails = true;
    }

    synchronized int waiting() {
      return waiting.size();
    }

    @Override
    public synchronized Optional<Delivery> next(Duration patience, Duration gather)
        throws InterruptedException {
      if (waiting.isEmpty() && patience.isPositive()) {
        wait(patience.toMillis());
      }
      if (!waiting.isEmpty() && nextFails) {
        nextFails = false;
        throw new IllegalStateException("spool away");
      }
      return Optional.ofNullable(waiting.peek());
    }

    @Override
    public void setAside(UUID appendId, String reason) {
      note("set aside " + reason);
    }

    @Override
    public synchronized boolean settle(Delivery delivery, List<DeadLetter> deadLetters) {
      note("settle " + delivery.token());
      if (settleFails) {
        settleFails = false;
        throw new IllegalStateException("cannot settle");
      }
      waiting.remove(delivery);
      return true;
    }

    @Override
    public void close() {
      note("closed");
    }
  }

  private static LogBatch batch(int records, int younger) {
    long received = (NOW.getEpochSecond() - 9 + younger) * 1_000_000_000L + NOW.getNano();
    return new LogBatch(
        UUID.randomUUID(), "t", received, new LogId(1, 1), records, 1, new BitSet(), new byte[0]);
  }

  /** Answers from a script, then with success for ever. */
  private final class ScriptedStore implements LogStore {
    interface Step {
      Outcome play() throws InterruptedException;
    }

    private final Queue<Step> script = new ConcurrentLinkedQueue<>();
    private final CountDownLatch released = new CountDownLatch(1);
    private volatile boolean held;

    void then(Step step) {
      script.add(step);
    }

    void hold() {
      held = true;
    }

    void release() {
      released.countDown();
    }

    @Override
    public Outcome store(Portion portion) throws InterruptedException {
      note("store " + portion.token());
      if (held) {
        released.await();
      }
      var step = script.poll();
      return step == null ? new Outcome.Stored() : step.play();
    }

    @Override
    public SortedMap<LocalDate, Long> stored(LocalDate from) {
      return new TreeMap<>();
    }

    @Override
    public Duration pace() {
      return Duration.ZERO;
    }
  }

  private final class NotingMeter implements DeliveryMeter {
    @Override
    public void stored(long records, int batches, Duration took, Duration sinceReceived) {
      note("stored %d logs %d batches %s".formatted(records, batches, sinceReceived.plus(took)));
    }

    @Override
    public void postponed(String reason) {
      note("postponed " + reason);
    }

    @Override
    public void refused() {
      note("refused");
    }
  }
}
