package dev.sluice.core.delivery;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.core.domain.RecordIds;
import dev.sluice.core.port.DeliveryMetrics;
import dev.sluice.core.port.LogStore;
import dev.sluice.core.port.SpoolConsumer;
import dev.sluice.core.port.UnusedDeadLetterStore;
import dev.sluice.core.port.WriteResult;
import dev.sluice.testkit.LogBatches;
import dev.sluice.testkit.ManualClock;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
final class LeaseRenewingConsumerTest {
  private static final Duration IDLE_TIMEOUT = Duration.ofMinutes(2);
  private static final Duration INTERVAL = IDLE_TIMEOUT.dividedBy(3);

  private final ManualClock clock = new ManualClock("2026-11-25T10:00:00Z");
  private final LeasedEntry entry = new LeasedEntry();

  @Test
  void renewal_insertOfTenMinutes_isNotTakenOver() throws Exception {
    var store = new BlockingStore();
    var sibling = renewing(entry.consumer("sibling"));
    try (var _ = startWorker(renewing(entry.consumer("worker")), store)) {
      store.started.await();

      for (int i = 0; i < 10; i++) {
        clock.advance(INTERVAL);
        assertThat(sibling.poll(Duration.ZERO, Duration.ZERO)).isEmpty();
        clock.advance(INTERVAL);
        assertThat(sibling.poll(Duration.ZERO, Duration.ZERO)).isEmpty();
      }

      store.released.countDown();
      entry.acked.await();
    }
    assertThat(entry.history()).containsExactly("polled by worker", "acked by worker");
  }

  /** The process of the worker has ended: its timer no longer runs. */
  @Test
  void renewal_deadConsumer_isTakenOver() throws Exception {
    var dead =
        new LeaseRenewingConsumer(entry.consumer("dead"), (_, _) -> {}, Runnable::run, INTERVAL);
    dead.poll(Duration.ZERO, Duration.ZERO);

    clock.advance(IDLE_TIMEOUT);

    assertThat(entry.consumer("other").poll(Duration.ZERO, Duration.ZERO)).isPresent();
  }

  @Test
  void renewal_acked_endsAndLeavesNoTask() throws Exception {
    var consumer = renewing(entry.consumer("worker"));
    var delivery = consumer.poll(Duration.ZERO, Duration.ZERO).orElseThrow();
    consumer.ack(delivery);

    clock.advance(INTERVAL);

    assertThat(clock.pendingTasks()).isZero();
    assertThat(entry.renewals).isZero();
  }

  @Test
  void renewal_manyDeliveries_scheduleOneTask() throws Exception {
    var consumer = renewing(entry.consumer("worker"));

    for (int i = 0; i < 100; i++) {
      consumer.poll(Duration.ZERO, Duration.ZERO);
    }

    assertThat(clock.pendingTasks()).isEqualTo(1);
  }

  @Test
  void renewal_spoolUnreachable_isRetried() throws Exception {
    var consumer = renewing(entry.consumer("worker"));
    consumer.poll(Duration.ZERO, Duration.ZERO);
    entry.unreachable = true;
    clock.advance(INTERVAL);
    entry.unreachable = false;

    clock.advance(INTERVAL);

    assertThat(entry.renewals).isEqualTo(1);
  }

  @Test
  void renewal_takenOver_ends() throws Exception {
    var consumer = renewing(entry.consumer("worker"));
    consumer.poll(Duration.ZERO, Duration.ZERO);
    entry.owner = "other";

    clock.advance(INTERVAL);

    assertThat(clock.pendingTasks()).isZero();
  }

  @Test
  void constructor_zeroInterval_throws() {
    assertThatThrownBy(
            () ->
                new LeaseRenewingConsumer(
                    entry.consumer("worker"), clock, Runnable::run, Duration.ZERO))
        .hasMessageContaining("must be positive");
  }

  private SpoolConsumer renewing(SpoolConsumer consumer) {
    return new LeaseRenewingConsumer(consumer, clock, Runnable::run, INTERVAL);
  }

  private DeliveryWorker startWorker(SpoolConsumer consumer, LogStore store) {
    return DeliveryWorker.start(
        "test",
        consumer,
        store,
        new UnusedDeadLetterStore() {},
        (_, _) -> new WriteResult.Written(),
        new SilentMetrics(),
        new DeliveryWorker.WorkerSettings(
            new Backoff(Duration.ofMillis(1), Duration.ofMillis(1), _ -> {}, () -> 0L),
            _ -> {},
            clock,
            3,
            1));
  }

  /** One delivery, which a consumer owns until its lease expires. */
  private final class LeasedEntry {
    private final SpoolConsumer.Delivery delivery =
        new SpoolConsumer.Delivery("token", LogBatches.list(1, 1), false);
    private final List<String> history = Collections.synchronizedList(new ArrayList<>());
    private final CountDownLatch acked = new CountDownLatch(1);
    private volatile @Nullable String owner;
    private volatile Instant leasedAt = Instant.MIN;
    private volatile boolean unreachable;
    private volatile int renewals;

    List<String> history() {
      return List.copyOf(history);
    }

    SpoolConsumer consumer(String name) {
      return new SpoolConsumer() {
        @Override
        public Optional<Delivery> poll(Duration timeout, Duration minLinger) {
          if (acked.getCount() == 0) {
            return Optional.empty();
          }
          boolean expired = !clock.instant().isBefore(leasedAt.plus(IDLE_TIMEOUT));
          if (owner != null && !owner.equals(name) && !expired) {
            return Optional.empty();
          }
          owner = name;
          leasedAt = clock.instant();
          history.add("polled by " + name);
          return Optional.of(delivery);
        }

        @Override
        public boolean renewLease(Delivery delivery) {
          if (unreachable) {
            throw new IllegalStateException("spool unreachable");
          }
          if (!name.equals(owner)) {
            return false;
          }
          renewals++;
          leasedAt = clock.instant();
          return true;
        }

        @Override
        public void ack(Delivery delivery) {
          history.add("acked by " + name);
          acked.countDown();
        }

        @Override
        public void flush() {}

        @Override
        public void skip(UUID appendId, String reason) {}

        @Override
        public void close() {}
      };
    }
  }

  /** A store whose insert lasts until the test ends it. */
  private static final class BlockingStore implements LogStore {
    private final CountDownLatch started = new CountDownLatch(1);
    private final CountDownLatch released = new CountDownLatch(1);

    @Override
    public StoreResult store(DeliverySlice slice, RecordIds ids) throws InterruptedException {
      started.countDown();
      released.await();
      return new StoreResult.Stored();
    }

    @Override
    public SortedMap<LocalDate, Long> storedRecords(LocalDate from) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Duration minInsertInterval() {
      return Duration.ZERO;
    }
  }

  private static final class SilentMetrics implements DeliveryMetrics {
    @Override
    public void recordStored(
        long records, int batches, Duration duration, Duration sinceReceived) {}

    @Override
    public void recordDeadLettered(int records) {}

    @Override
    public void recordRetryScheduled(PauseReason reason) {}
  }
}
