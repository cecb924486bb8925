package dev.sluice.testkit;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.ReplayId;
import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.FallbackSpoolConsumer;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.IdempotencyStore.ClaimResult;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.core.port.Spool.RecordCounts;
import dev.sluice.core.port.SpoolConsumer.Delivery;
import dev.sluice.core.port.SpoolConsumer.DeliveryLimits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The contract of all {@link FallbackSpoolConsumer} implementations, in addition to {@link
 * SpoolContract}. Each test begins with an empty spool whose deliveries hold at least a hundred
 * records.
 */
@Timeout(60)
public abstract class FallbackSpoolConsumerContract {
  protected abstract Spool spool();

  protected abstract IdempotencyStore idempotencyStore();

  protected abstract Backlog backlog();

  /** Returns the consumer, the same within one process of the spool. */
  protected abstract FallbackSpoolConsumer consumer();

  /** Simulates a kill of the process; a spool that does not survive its process does nothing. */
  protected void kill() throws Exception {}

  @Test
  void ackDrained_delivery_isRemovedAndNoLongerCountedAsAccepted() throws Exception {
    append(10);
    var delivery = poll().orElseThrow();
    var behind = append(5);

    consumer().ackDrained(delivery);

    assertAcceptedAndPending(5);
    kill();
    assertAcceptedAndPending(5);
    var rest = poll().orElseThrow();
    SpoolContract.assertSameBatches(rest.batches(), List.of(behind));
    consumer().ackDrained(rest);
    assertThat(poll()).isEmpty();
    assertAcceptedAndPending(0);
  }

  /**
   * Asserts the number of accepted and pending records. A drained record is not counted here,
   * because the primary delivers it.
   */
  private void assertAcceptedAndPending(long records) throws Exception {
    assertThat(spool().recordCounts()).isEqualTo(new RecordCounts(records, records, 0));
    assertThat(backlog().depth().entries()).isEqualTo(records == 0 ? 0 : 1);
    assertThat(spool().spoolStatus().toCompletableFuture().get(30, SECONDS).deliveredRecords())
        .isZero();
  }

  @Test
  void ackDrained_unknownDelivery_throws() throws Exception {
    append(10);
    var delivery = poll().orElseThrow();
    consumer().ackDrained(delivery);

    assertThatThrownBy(() -> consumer().ackDrained(delivery))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void idempotencyKeyOf_appendUnderAClaim_isItsKey() throws Exception {
    var key = new IdempotencyStore.IdempotencyKey("default", "order-1", new UUID(1, 2));
    var claim =
        ((ClaimResult.Granted) idempotencyStore().claim(key).toCompletableFuture().get(30, SECONDS))
            .claim();
    var keyed = LogBatches.of(3);
    assertAccepted(
        idempotencyStore()
            .append(keyed, claim, AppendMode.SYNC)
            .toCompletableFuture()
            .get(30, SECONDS));
    var plain = append(2);

    kill();
    var delivery = poll().orElseThrow();

    assertThat(delivery.records()).isEqualTo(5);
    assertThat(consumer().idempotencyKeyOf(keyed.appendId())).contains(key);
    assertThat(consumer().idempotencyKeyOf(plain.appendId())).isEmpty();
    assertThat(consumer().idempotencyKeyOf(UUID.randomUUID())).isEmpty();
  }

  @Test
  void pollConfirmed_possibleDuplicateAmongOthers_isHeldUntilPoll() throws Exception {
    var before = append(10);
    var doubtful = append(20, AppendMode.POSSIBLE_DUPLICATE);
    var behind = append(30);

    var confirmed = pollConfirmed().orElseThrow();
    SpoolContract.assertSameBatches(confirmed.batches(), List.of(before, behind));
    assertThat(confirmed.redelivered()).isFalse();
    consumer().ack(confirmed);

    assertThat(pollConfirmed()).isEmpty();
    assertPending(1, 20);
    var newer = append(40);
    var held = poll().orElseThrow();
    SpoolContract.assertSameBatches(held.batches(), List.of(doubtful));
    assertThat(held.redelivered()).isTrue();
    consumer().ackDrained(held);
    SpoolContract.assertSameBatches(poll().orElseThrow().batches(), List.of(newer));
  }

  @Test
  void pollConfirmed_onlyPossibleDuplicates_isEmptyAndBlocksNothing() throws Exception {
    var first = append(10, AppendMode.POSSIBLE_DUPLICATE);
    var second = append(20, AppendMode.POSSIBLE_DUPLICATE);

    assertThat(pollConfirmed()).isEmpty();
    var behind = append(30);
    kill();
    var confirmed = pollConfirmed().orElseThrow();
    SpoolContract.assertSameBatches(confirmed.batches(), List.of(behind));
    consumer().ack(confirmed);
    kill();

    assertPending(2, 30);
    SpoolContract.assertSameBatches(ackAllDrained(), List.of(first, second));
    assertPending(0, 0);
  }

  @Test
  void pollConfirmed_deliveryOfPoll_isHeldAndRedelivered() throws Exception {
    var first = append(10);
    var second = append(20);
    assertThat(poll().orElseThrow().batches()).hasSize(2);
    var behind = append(30);

    var confirmed = pollConfirmed().orElseThrow();
    SpoolContract.assertSameBatches(confirmed.batches(), List.of(behind));
    consumer().ack(confirmed);
    kill();

    assertPending(2, 30);
    SpoolContract.assertSameBatches(ackAllDrained(), List.of(first, second));
    assertThat(spool().recordCounts()).isEqualTo(new RecordCounts(30, 0, 0));
  }

  @Test
  void pollConfirmed_deliveryOfPollHeldBefore_isHeldAgain() throws Exception {
    var doubtful = append(10, AppendMode.POSSIBLE_DUPLICATE);
    assertThat(pollConfirmed()).isEmpty();
    SpoolContract.assertSameBatches(poll().orElseThrow().batches(), List.of(doubtful));
    kill();

    assertThat(pollConfirmed()).isEmpty();

    assertPending(1, 10);
    SpoolContract.assertSameBatches(ackAllDrained(), List.of(doubtful));
  }

  @Test
  void poll_unackedDeliveryOfPollConfirmed_isRedeliveredFirst() throws Exception {
    append(20, AppendMode.POSSIBLE_DUPLICATE);
    var batch = append(10);
    var confirmed = pollConfirmed().orElseThrow();

    kill();
    var confirmedRedelivered = pollConfirmed().orElseThrow();
    var redelivered = poll().orElseThrow();

    assertThat(confirmedRedelivered.token()).isEqualTo(confirmed.token());
    assertThat(confirmedRedelivered.redelivered()).isTrue();
    assertThat(redelivered.token()).isEqualTo(confirmed.token());
    SpoolContract.assertSameBatches(redelivered.batches(), List.of(batch));
    assertThat(redelivered.redelivered()).isTrue();
  }

  /** The caller of poll may have drained a part of the delivery, so pollConfirmed must hold it. */
  @Test
  void pollConfirmed_ownDeliveryThatPollReturned_isHeld() throws Exception {
    var batch = append(10);
    consumer().ack(pollConfirmed().orElseThrow());
    var inFlight = append(20);
    assertThat(pollConfirmed()).isPresent();

    kill();
    SpoolContract.assertSameBatches(poll().orElseThrow().batches(), List.of(inFlight));
    kill();

    assertThat(pollConfirmed()).isEmpty();
    assertPending(1, 20);
    SpoolContract.assertSameBatches(ackAllDrained(), List.of(inFlight));
    assertThat(spool().recordCounts()).isEqualTo(new RecordCounts(batch.records(), 0, 0));
  }

  @Test
  void ackDrained_replay_leavesTheCountOfAcceptedRecords() throws Exception {
    var log = LogBatches.of(1);
    var replay =
        new LogBatch(
            ReplayId.of(log.firstId(), 1),
            log.tenant(),
            log.receivedNanos(),
            log.firstId(),
            1,
            log.expandedBytes(),
            log.payload());
    var appended =
        spool().append(replay, AppendMode.POSSIBLE_DUPLICATE).toCompletableFuture().join();
    assertThat(appended).isInstanceOf(AppendResult.Accepted.class);

    SpoolContract.assertSameBatches(ackAllDrained(), List.of(replay));

    assertThat(spool().recordCounts()).isEqualTo(new RecordCounts(0, 0, 0));
  }

  @Test
  void hasInFlight_deliveryOfPollConfirmed_isTrueUntilAckOrPoll() throws Exception {
    assertThat(consumer().hasInFlight()).isFalse();
    append(10);
    assertThat(pollConfirmed()).isPresent();
    assertThat(consumer().hasInFlight()).isTrue();
    kill();
    assertThat(consumer().hasInFlight()).isTrue();
    consumer().ack(pollConfirmed().orElseThrow());
    assertThat(consumer().hasInFlight()).isFalse();

    append(10);
    assertThat(pollConfirmed()).isPresent();
    assertThat(poll()).isPresent();
    assertThat(consumer().hasInFlight()).isFalse();
  }

  @Test
  void pollForDrain_moreThanTheLimits_returnsSeveralDeliveries() throws Exception {
    var batches = new ArrayList<LogBatch>();
    for (int i = 0; i < 5; i++) {
      batches.add(append(10));
    }

    var given = new ArrayList<LogBatch>();
    var sizes = new ArrayList<Integer>();
    var deliveryLimits = new DeliveryLimits(20, Long.MAX_VALUE, Duration.ZERO);
    for (var next = consumer().pollForDrain(deliveryLimits);
        next.isPresent();
        next = consumer().pollForDrain(deliveryLimits)) {
      given.addAll(next.get().batches());
      sizes.add(next.get().batches().size());
      consumer().ackDrained(next.get());
    }

    assertThat(sizes).containsExactly(2, 2, 1);
    SpoolContract.assertSameBatches(given, batches);
  }

  private void assertPending(long entries, long records) {
    assertThat(backlog().depth().entries()).isEqualTo(entries);
    assertThat(spool().recordCounts().inFlight()).isEqualTo(records);
    assertThat(consumer().skippedEntries()).isZero();
  }

  /** Drains all records, in as many deliveries as the spool returns. */
  private List<LogBatch> ackAllDrained() throws InterruptedException {
    var drained = new ArrayList<LogBatch>();
    for (var next = poll(); next.isPresent(); next = poll()) {
      assertThat(next.get().redelivered()).isTrue();
      drained.addAll(next.get().batches());
      consumer().ackDrained(next.get());
    }
    return drained;
  }

  private Optional<Delivery> poll() throws InterruptedException {
    return consumer().poll(Duration.ZERO);
  }

  private Optional<Delivery> pollConfirmed() throws InterruptedException {
    return consumer().pollConfirmed(Duration.ZERO, Duration.ZERO);
  }

  private LogBatch append(int records) throws Exception {
    return append(records, AppendMode.SYNC);
  }

  private LogBatch append(int records, AppendMode appendMode) throws Exception {
    var batch = LogBatches.of(records);
    assertAccepted(spool().append(batch, appendMode).toCompletableFuture().get(30, SECONDS));
    return batch;
  }

  private static void assertAccepted(AppendResult appendResult) {
    assertThat(appendResult).isInstanceOf(AppendResult.Accepted.class);
  }
}
